package importer

import (
	"cmp"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
)

// A graphLine is an entity or a relation of the MCP server memory, or a whole graph
// as its tool read_graph returns it. Other versions use other names for its fields.
type graphLine struct {
	Type         string        `json:"type"`
	Name         string        `json:"name"`
	OtherName    string        `json:"entityName"`
	ID           string        `json:"id"`
	EntityType   string        `json:"entityType"`
	Observations []observation `json:"observations"`
	From         string        `json:"from"`
	To           string        `json:"to"`
	FromID       string        `json:"from_id"`
	ToID         string        `json:"to_id"`
	RelationType string        `json:"relationType"`
	OtherType    string        `json:"relation_type"`

	Entities  []graphLine `json:"entities"`
	Relations []graphLine `json:"relations"`
}

// An observation is a text of an entity, or an object with its text as content. It is
// empty if it has another form.
type observation string

// UnmarshalJSON never fails: the other observations are read, too.
func (o *observation) UnmarshalJSON(data []byte) error {
	var of struct{ Content string }
	if json.Unmarshal(data, (*string)(o)) != nil && json.Unmarshal(data, &of) == nil {
		*o = observation(of.Content)
	}
	return nil
}

// A graph collects the facts about entities of a file.
type graph struct {
	types map[string]string   // of entities
	facts map[string][]string // also of names that only relations contain
}

// add adds an entity, a relation or a graph, and reports whether the line is one.
func (g *graph) add(l *graphLine) bool {
	name, from, to := cmp.Or(l.Name, l.OtherName, l.ID), cmp.Or(l.From, l.FromID), cmp.Or(l.To, l.ToID)
	known := true
	switch {
	case name != "":
		g.types[name] = cmp.Or(l.EntityType, g.types[name])
		for _, o := range l.Observations {
			g.facts[name] = append(g.facts[name], string(o))
		}
	case from != "" && to != "":
		g.facts[from] = append(g.facts[from], cmp.Or(l.RelationType, l.OtherType, "relates to")+" [["+to+"]]")
	default:
		known = l.Entities != nil
	}
	for _, part := range slices.Concat(l.Entities, l.Relations) {
		known = g.add(&part) && known
	}
	return known
}

// readServerMemory returns a record for each type of entities, with a section for
// each entity, its observations and its relations.
func readServerMemory(s Source, r io.Reader) Records {
	return func(yield func(*api.ImportRecord, error) bool) {
		g := graph{types: map[string]string{}, facts: map[string][]string{}}
		for v, err := range objects(r) {
			var l graphLine
			if err == nil {
				err = decode(v.at, v.raw, &l)
			}
			if err == nil && !g.add(&l) {
				err = &Problem{v.at, "neither an entity with a name nor a relation with from and to"}
			}
			if err != nil && !yield(nil, err) {
				return
			}
		}
		texts := map[string]string{} // by type
		for name := range sorted(g.facts) {
			text := ""
			for _, fact := range g.facts[name] {
				if strings.TrimSpace(fact) != "" {
					text += memory.ListItem(fact) + "\n"
				}
			}
			texts[cmp.Or(g.types[name], "entity")] += "## " + memory.CleanLine(name) + "\n\n" + text + "\n"
		}
		for kind := range sorted(texts) {
			record := &api.ImportRecord{ID: s.localID("entities " + kind), Title: kind,
				Parts: appendPart(nil, "", texts[kind])}
			if !yield(record, nil) {
				return
			}
		}
	}
}
