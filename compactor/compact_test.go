package compactor

import (
	"slices"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/internal/fakes/golden"
	"github.com/memwatchd/memwatchd/memory"
)

// TestCompactGolden checks the archives in testdata/compact. They contain the
// files of a root, the result of one run (names with →), and the result of
// restoring all moved items (names with ←).
func TestCompactGolden(t *testing.T) {
	golden.Run(t, "compact", func(t *testing.T, a *txtar.Archive) *txtar.Archive {
		terms := termsOf(t, string(a.Comment))
		var files []txtar.File
		for _, f := range a.Files {
			files = append(files, txtar.File{Name: f.Name, Data: golden.Decode(f.Data)})
		}
		r := newTestRoot(t, files)
		r.MaxLoss = terms.MaxLoss
		r.Limits = []api.CompactLimit{terms.Limit}
		r.Limits[0].Pattern = "**/{_index,MEMORY}.md"
		r.compact(Request{})
		shown := func(mark string) {
			for _, f := range slices.Sorted(slices.Values(r.paths())) {
				a.Files = append(a.Files, txtar.File{Name: f + mark, Data: golden.Encode([]byte(r.files[f]))})
			}
		}
		shown(" →")
		for _, doc := range r.archived() {
			for _, e := range doc.Entries {
				if e.Block == memory.Item {
					r.restore(doc.Place.Path, e.ID)
				}
			}
		}
		shown(" ←")
		return a
	})
}
