package importer

import (
	"cmp"
	"io"
	"path"
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
)

// readBasicMemory returns a note.
func readBasicMemory(name string, r io.Reader) Records {
	return func(yield func(*api.ImportRecord, error) bool) {
		text, err := readWhole(r)
		if err != nil {
			yield(nil, err)
			return
		}
		doc := new(memory.Layout).Parse("note.md", text, memory.Meta{})
		if doc.Front.Broken {
			yield(nil, &Problem{Line: 1, Reason: "the frontmatter is broken"})
			return
		}
		field := func(key string) string {
			f, _ := doc.Front.Field(key)
			value, _ := f.Value.(string)
			return value
		}
		part := textPart("", string(text[doc.Front.Span.End:]))
		if part.Text == "" {
			return
		}
		base := strings.TrimSuffix(path.Base(name), path.Ext(name))
		yield(&api.ImportRecord{ID: cmp.Or(field("permalink"), name), Title: cmp.Or(field("title"), base),
			Tags: doc.Front.Tags, Created: parseTime(cmp.Or(field("created"), field("created_at"))),
			Updated: doc.Front.Updated, Parts: []api.ImportPart{part}}, nil)
	}
}
