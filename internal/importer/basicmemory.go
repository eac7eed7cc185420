package importer

import (
	"cmp"
	"io"
	"path"
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
)

// readBasicMemory returns a note. Its permalink is unique in its project only, so
// that the place of the file is its id.
func readBasicMemory(s Source, r io.Reader) Records {
	return func(yield func(*api.ImportRecord, error) bool) {
		text, err := readWhole(r)
		if err != nil {
			yield(nil, err)
			return
		}
		doc := (&memory.Layout{Location: s.Location}).Parse("note.md", text, memory.Meta{})
		if doc.Front.Broken {
			yield(nil, &Problem{At: "line 1", Reason: "the frontmatter is broken"})
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
		base := strings.TrimSuffix(path.Base(s.Name), path.Ext(s.Name))
		yield(&api.ImportRecord{ID: s.Origin, Title: cmp.Or(field("title"), base),
			Tags: doc.Front.Tags, Created: s.time(moment(cmp.Or(field("created"), field("created_at")))),
			Updated: doc.Front.Updated, Parts: []api.ImportPart{part}}, nil)
	}
}
