package importer

import (
	"cmp"
	"io"

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

// readMem0 reads a list of the API.
func readMem0(s Source, r io.Reader) Records {
	return readEach(elements(r), func(v value, m *mem0Memory) ([]*api.ImportRecord, error) {
		return s.mem0(m, v.at)
	})
}

func (s *Source) mem0(m *mem0Memory, at string) ([]*api.ImportRecord, error) {
	part := textPart("", cmp.Or(m.Memory, m.Text))
	if m.ID == "" || part.Text == "" {
		return nil, &Problem{At: at, Reason: "id or memory is missing"}
	}
	return []*api.ImportRecord{{ID: m.ID, Title: titleOf(part.Text), Tags: m.Categories, Created: s.time(m.CreatedAt),
		Updated: s.time(m.UpdatedAt), Parts: []api.ImportPart{part}}}, nil
}
