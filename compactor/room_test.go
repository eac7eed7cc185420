package compactor

import (
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
)

// A testRoot is a compactor on a tree of its own.
type testRoot struct {
	*Compactor
	*tree
	t *testing.T
}

// newTestRoot returns a compactor with the given files and a long enough counting
// period.
func newTestRoot(t *testing.T, files []txtar.File) *testRoot {
	t.Helper()
	r := &testRoot{t: t, tree: newTree(files)}
	r.layout, r.modTime = layout, oldTime
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	uses := usesAt(t, filepath.Join(t.TempDir(), "uses"), &now)
	uses.since = now.AddDate(0, -1, 0)
	r.Compactor = &Compactor{
		Root: Root{Files: r.tree, Disk: r.tree, Writer: r.tree, Parse: parse, Paths: r.paths, Now: uses.Now},
		Uses: uses, Logger: slog.New(slog.DiscardHandler),
		Limits: []api.CompactLimit{{Pattern: "_longterms/*/_index.md", Items: 100, Characters: 3000}}, Soft: SoftLimits(5000),
		Host: "desk", MaxLoss: 0.25,
	}
	return r
}

// compact makes one run.
func (r *testRoot) compact(q Request) *api.CompactAnswer {
	r.t.Helper()
	q.Requested = true
	report, err := r.Compact(r.t.Context(), q)
	if err != nil {
		r.t.Fatal(err)
	}
	return report
}

// archived returns the archive files, by path.
func (r *testRoot) archived() (docs []*memory.Document) {
	r.t.Helper()
	for _, path := range slices.Sorted(slices.Values(r.paths())) {
		if strings.Contains(path, "/_archive/") {
			doc, err := r.Load(path)
			if err != nil {
				r.t.Fatal(err)
			}
			docs = append(docs, doc)
		}
	}
	return docs
}
