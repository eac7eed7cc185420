package importer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
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

// A graph collects the entities of a file.
type graph struct {
	names  []string // of entities, then those that only relations contain
	others []string
	typeOf map[string]string
	facts  map[string][]string
}

// add adds an entity, a relation or a graph, and returns the reason if a part of it
// cannot be imported.
func (g *graph) add(l *graphLine) error {
	name := cmp.Or(l.Name, l.OtherName, l.ID)
	from, to := cmp.Or(l.From, l.FromID), cmp.Or(l.To, l.ToID)
	switch {
	case l.Type == "entity" && name != "":
		g.names = append(g.names, name)
		if g.typeOf[name] == "" {
			g.typeOf[name] = cmp.Or(l.EntityType, "entity")
		}
		unread := 0
		for _, o := range l.Observations {
			if strings.TrimSpace(string(o)) == "" {
				unread++
				continue
			}
			g.facts[name] = append(g.facts[name], string(o))
		}
		if unread > 0 {
			return fmt.Errorf("%s: %d of the observations have no text", name, unread)
		}
	case l.Type == "relation" && from != "" && to != "":
		g.others = append(g.others, from)
		g.facts[from] = append(g.facts[from], cmp.Or(l.RelationType, l.OtherType, "relates to")+" [["+to+"]]")
	case l.Type == "" && l.Entities != nil:
		var failed error
		for i := range l.Entities {
			l.Entities[i].Type = "entity"
			failed = cmp.Or(failed, g.add(&l.Entities[i]))
		}
		for i := range l.Relations {
			l.Relations[i].Type = "relation"
			failed = cmp.Or(failed, g.add(&l.Relations[i]))
		}
		return failed
	default:
		return errNotGraph
	}
	return nil
}

var errNotGraph = fmt.Errorf("neither an entity with a name nor a relation with from and to")

// readServerMemory returns a record for each type of entities, with a section for
// each entity, its observations and its relations. A name that only relations
// contain is an entity too.
func readServerMemory(s Source, r io.Reader) Records {
	return func(yield func(*api.ImportRecord, error) bool) {
		g := graph{typeOf: map[string]string{}, facts: map[string][]string{}}
		size := 0
		for v, err := range objects(r) {
			size += len(v.raw)
			switch {
			case err != nil:
			case size > maxWhole:
				err = &Problem{At: v.at, Reason: fmt.Sprintf("the graph has more than %d bytes", maxWhole)}
			default:
				var l graphLine
				mistyped := decodeStrictly(v.raw, &l)
				if failed := cmp.Or(mistyped, g.add(&l)); failed != nil {
					err = &Problem{At: v.at, Reason: failed.Error()}
				}
			}
			if err != nil && !yield(nil, err) {
				return
			}
		}
		var types []string
		records := map[string]*api.ImportRecord{}
		for _, name := range append(g.names, g.others...) {
			kind := cmp.Or(g.typeOf[name], "entity")
			if records[kind] == nil {
				records[kind] = &api.ImportRecord{ID: s.localID("entities " + kind), Title: kind}
				types = append(types, kind)
			}
			for _, fact := range g.facts[name] {
				if text := memory.ListItem(fact); text != "- " {
					records[kind].Parts = append(records[kind].Parts,
						api.ImportPart{Section: []string{name}, Text: text})
				}
			}
			delete(g.facts, name)
		}
		for _, kind := range types {
			if len(records[kind].Parts) > 0 && !yield(records[kind], nil) {
				return
			}
		}
	}
}
