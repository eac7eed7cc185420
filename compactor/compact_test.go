package compactor

import (
	"slices"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/internal/fakes/golden"
)

// TestCompactGolden checks the archives in testdata/compact. They contain the
// files of a root, and the lines that one run changes (names with →).
func TestCompactGolden(t *testing.T) {
	golden.Run(t, "compact", func(t *testing.T, a *txtar.Archive) *txtar.Archive {
		terms := termsOf(t, string(a.Comment))
		var files []txtar.File
		before := map[string][]byte{}
		for _, f := range a.Files {
			before[f.Name] = f.Data
			files = append(files, txtar.File{Name: f.Name, Data: golden.Decode(f.Data)})
		}
		r := newTestRoot(t, files)
		r.MaxLoss = terms.MaxLoss
		r.Limits = []api.CompactLimit{terms.Limit}
		r.Limits[0].Pattern = "**/{_index,MEMORY}.md"
		r.compact(Request{})
		for _, f := range slices.Sorted(slices.Values(r.paths())) {
			if changed := golden.Diff(before[f], golden.Encode([]byte(r.files[f]))); len(changed) > 0 {
				a.Files = append(a.Files, txtar.File{Name: f + " →", Data: changed})
			}
		}
		return a
	})
}
