package importer

import (
	"cmp"
	"fmt"
	"io"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
)

// A graphLine is an entity or a relation of the MCP server memory. Other versions
// use other names for its fields.
type graphLine struct {
	Type         string   `json:"type"`
	Name         string   `json:"name"`
	OtherName    string   `json:"entityName"`
	ID           string   `json:"id"`
	EntityType   string   `json:"entityType"`
	Observations []string `json:"observations"`
	From         string   `json:"from"`
	To           string   `json:"to"`
	FromID       string   `json:"from_id"`
	ToID         string   `json:"to_id"`
	RelationType string   `json:"relationType"`
	OtherType    string   `json:"relation_type"`
}

// readServerMemory returns a record for each type of entities, with a section for
// each entity, its observations and its relations. A name that only relations
// contain is an entity too.
func readServerMemory(_ string, r io.Reader) Records {
	return func(yield func(*api.ImportRecord, error) bool) {
		var types, names, others []string // others are the names in relations
		typeOf, facts := map[string]string{}, map[string][]string{}
		size := 0
		for v, err := range lines(r) {
			var l graphLine
			if err == nil {
				err = decode(v.line, v.raw, &l)
			}
			name := cmp.Or(l.Name, l.OtherName, l.ID)
			from, to := cmp.Or(l.From, l.FromID), cmp.Or(l.To, l.ToID)
			switch {
			case err != nil:
			case size > maxWhole:
				err = &Problem{Line: v.line, Reason: fmt.Sprintf("the graph has more than %d bytes", maxWhole)}
			case l.Type == "entity" && name != "":
				names = append(names, name)
				if typeOf[name] == "" {
					typeOf[name] = cmp.Or(l.EntityType, "entity")
				}
				facts[name] = append(facts[name], l.Observations...)
			case l.Type == "relation" && from != "" && to != "":
				others = append(others, from)
				facts[from] = append(facts[from], cmp.Or(l.RelationType, l.OtherType, "relates to")+" [["+to+"]]")
			default:
				err = &Problem{Line: v.line, Reason: "neither an entity with a name nor a relation with from and to"}
			}
			size += len(v.raw)
			if err != nil && !yield(nil, err) {
				return
			}
		}
		records := map[string]*api.ImportRecord{}
		for _, name := range append(names, others...) {
			kind := cmp.Or(typeOf[name], "entity")
			if records[kind] == nil {
				records[kind] = &api.ImportRecord{ID: "entities " + kind, Title: kind}
				types = append(types, kind)
			}
			for _, fact := range facts[name] {
				if text := memory.ListItem(fact); text != "- " {
					records[kind].Parts = append(records[kind].Parts, api.ImportPart{Section: []string{name}, Text: text})
				}
			}
			delete(facts, name)
		}
		for _, kind := range types {
			if len(records[kind].Parts) > 0 && !yield(records[kind], nil) {
				return
			}
		}
	}
}
