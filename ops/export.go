package ops

import (
	"context"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/index"
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
	if m.Disabled {
		return answer, nil
	}
	list := m.Index.Files(func(f *index.FileInfo) bool {
		return f.Readable(c.View) && (r.IncludeArchived || f.Kind != memory.Archive) &&
			(r.Path == "" || index.MatchPath(r.Path, f.Path))
	})
	names := make(map[string]string, len(list))
	for _, f := range list {
		names[f.Path] = shownPath(f.Path)
	}
	slices.SortStableFunc(list, func(a, b index.FileInfo) int { return strings.Compare(names[a.Path], names[b.Path]) })
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
		doc, shown, err := m.loadFile(c, f.Path)
		if err != nil {
			continue // removed, or no longer readable
		}
		file := api.ExportFile{Path: doc.Place.Path}
		if r.Entries {
			file.Entries = exportEntries(c, doc)
			for i := range file.Entries {
				size += len(file.Entries[i].Content)
			}
		} else {
			file.Text = shown.Text()
			size += len(file.Text)
		}
		last = name
		answer.Files = append(answer.Files, file)
	}
	return answer, nil
}

// exportEntries returns the readable entries of a file.
func exportEntries(c Call, doc *memory.Document) (list []api.ExportEntry) {
	for i := range doc.Entries {
		e := &doc.Entries[i]
		if !e.Readable(c.View) || e.Block == memory.EmptyHeading {
			continue
		}
		out := api.ExportEntry{
			ID: doc.Place.Path + "#" + e.ID, Path: doc.Place.Path, Section: e.Sections, Kind: doc.Place.Kind.String(),
			Type: e.Type, Content: e.Text, Title: e.Title, Tags: e.Tags, Task: taskState(e.Tasks),
			Importance: e.Importance, Evidence: e.Evidence, Source: e.Source, WrittenBy: e.By,
			Subject: c.View.SubjectOf(e.Partition), Visibility: e.Partition.Visibility.String(),
			Session: sessionOf(c, doc), Day: doc.Place.Day, Updated: e.Time.UTC(),
		}
		if e.HasConfidence {
			out.Confidence = &e.Confidence
		}
		if e.IsSummary() {
			out.Summary = "profile"
			if strings.HasSuffix(doc.Place.Path, "/project.md") {
				out.Summary, out.Project = "project", e.Title
			}
		}
		list = append(list, out)
	}
	return list
}
