package importer

import (
	"cmp"
	"fmt"
	"io"
	"slices"
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

// readMem0 reads a list of the API, or the Markdown file of the plugin.
func readMem0(s Source, r io.Reader) Records {
	b, first := openText(r)
	if first == '-' {
		return readMem0Blocks(s, b)
	}
	return readEach(elements(b), func(v value, m *mem0Memory) ([]*api.ImportRecord, error) {
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

// readMem0Blocks reads memories in Markdown: fields between lines of dashes, each
// followed by its text. The id is the first field. Other lines of dashes are parts of the
// text.
func readMem0Blocks(s Source, r io.Reader) Records {
	return func(yield func(*api.ImportRecord, error) bool) {
		text, err := readWhole(r)
		if err != nil {
			yield(nil, err)
			return
		}
		var m *mem0Memory
		inFields, begin := false, ""
		flush := func() bool {
			if m == nil {
				return true
			}
			list, err := s.mem0(m, begin)
			if err != nil {
				return yield(nil, err)
			}
			return yield(list[0], nil)
		}
		lines := slices.Collect(strings.Lines(string(text)))
		for i, line := range lines {
			key, content, isField := strings.Cut(strings.TrimSpace(line), ":")
			content = strings.Trim(strings.TrimSpace(content), `"'`)
			switch {
			case strings.TrimSpace(line) == "---" && !inFields &&
				(m == nil || i+1 < len(lines) && strings.HasPrefix(lines[i+1], "id:")):
				if !flush() {
					return
				}
				m, inFields, begin = &mem0Memory{}, true, fmt.Sprintf("line %d", i+1)
			case strings.TrimSpace(line) == "---" && inFields:
				inFields = false
			case inFields && isField:
				switch key {
				case "id":
					m.ID = content
				case "created_at":
					m.CreatedAt = moment(content)
				case "categories":
					m.Categories = strings.FieldsFunc(content, func(r rune) bool { return strings.ContainsRune("[], \"'", r) })
				}
			case m != nil && !inFields:
				m.Memory += line
			}
		}
		flush()
	}
}
