package importer

import (
	"cmp"
	"io"
	"strings"

	"github.com/memwatchd/memwatchd/api"
)

// A mem0Memory is an element of the lists of mem0.
type mem0Memory struct {
	ID         string   `json:"id"`
	Memory     string   `json:"memory"`
	Text       string   `json:"text"`
	Categories []string `json:"categories"`
	CreatedAt  moment   `json:"created_at"`
	UpdatedAt  moment   `json:"updated_at"`
}

// readMem0 reads the lists of an export: memories, and relations of its graph.
func readMem0(s Source, r io.Reader) Records {
	return readEach(elements(r), func(v value, m *mem0Memory) ([]*api.ImportRecord, error) {
		text := cmp.Or(m.Memory, m.Text)
		if v.key == "relations" { // which repeat what the memories state
			return nil, nil
		}
		if m.ID == "" || strings.TrimSpace(text) == "" {
			return nil, &Problem{v.at, "id or memory is missing"}
		}
		return []*api.ImportRecord{{ID: m.ID, Title: titleOf(text), Tags: m.Categories, Created: s.time(m.CreatedAt),
			Updated: s.time(m.UpdatedAt), Parts: appendPart(nil, "", text)}}, nil
	})
}
