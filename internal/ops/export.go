package ops

import (
	"context"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/internal/importer"
	"github.com/memwatchd/memwatchd/memory"
)

// exportPage bounds the text of a page, in bytes. A page contains one file at
// least.
const exportPage = 512 << 10

// export returns the readable text of all files, in pages. The pages are those of
// the files as answers show their names, so that a cursor contains no credential.
func (m readOps) export(ctx context.Context, c Call, r *api.ExportRequest) (*api.ExportAnswer, error) {
	if err := index.CheckPath(r.Path); err != nil {
		return nil, api.Errorf(api.Invalid, "path: %v", err)
	}
	answer := &api.ExportAnswer{Files: []api.ExportFile{}, Index: m.indexState(c)}
	list := m.Index.Files(func(f *index.FileInfo) bool {
		return f.Readable(c.View) && (r.IncludeArchived || f.Kind != memory.Archive) &&
			(r.Path == "" || index.MatchPath(r.Path, f.Path))
	})
	names := make(map[string]string, len(list))
	for _, f := range list {
		names[f.Path] = shownPath(f.Path)
	}
	slices.SortStableFunc(list, func(a, b *index.FileInfo) int { return strings.Compare(names[a.Path], names[b.Path]) })
	size, last := 0, ""
	for _, f := range list {
		name := names[f.Path]
		if name <= r.Cursor {
			continue
		}
		if size >= exportPage && name != last {
			answer.Next = last
			break
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		doc, err := m.loadFile(c, f.Path)
		if err != nil {
			continue // removed, or no longer readable
		}
		file := api.ExportFile{Path: doc.Place.Path}
		if r.Entries {
			for i := range doc.Entries {
				e := &doc.Entries[i]
				if !e.Readable(c.View) {
					continue
				}
				entry := importer.WholeEntryOf(doc, e, c.View.SubjectOf(e.Partition), sessionOf(c, doc))
				if len(file.Entries) == 0 && c.View.Readable(doc.Partition) {
					entry.Front = doc.FrontText()
				}
				file.Entries = append(file.Entries, entry)
				size += len(e.Text)
			}
		} else {
			file.Text = doc.Shown(c.View).Text()
			size += len(file.Text)
		}
		last = name
		answer.Files = append(answer.Files, file)
	}
	return answer, nil
}
