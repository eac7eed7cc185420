package ops

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/compactor"
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/internal/share"
	"github.com/memwatchd/memwatchd/memory"
)

// The tests of reads below are those that archives cannot state.

// TestContextNewerFiles checks that a match names a file of the project that was
// written after its day, and that only the owner learns of it.
func TestContextNewerFiles(t *testing.T) {
	m := openArchive(t, "-- memory/2026-02-01.md --\n- The port is set in `web/server.go` and ../secret.txt\n"+
		"- The port of the test is in old.go\n").memory
	dir := filepath.Join(t.TempDir(), "shop")
	for name, day := range map[string]string{"web/server.go": "2026-02-03", "old.go": "2026-01-02", "../secret.txt": "2026-02-03"} {
		path := filepath.Join(dir, name)
		written, err := time.Parse(time.DateOnly, day)
		checkError(t, errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o600), os.Chtimes(path, written, written)))
	}
	for by, want := range map[*api.Caller]int{{AsOwner: true}: 1, {AsOwner: true, Model: true}: 0, {}: 0} {
		a, err := do[api.ContextAnswer](t, m, *by, api.ContextRequest{Query: "port", Format: "relevant", Limit: 8, Dir: dir, Count: new(bool)})
		if err != nil || strings.Count(a.Text, "newer]") != want || strings.Count(a.Text, "[web/server.go is newer]") != want {
			t.Errorf("%+v: %q, %v", by, a.Text, err)
		}
	}
}

// A failingIndexer returns fixed errors, and records until when calls wait.
type failingIndexer struct {
	Indexer
	err, rootsErr error
	until         []time.Time
}

func (f *failingIndexer) record(ctx context.Context) {
	deadline, _ := ctx.Deadline()
	f.until = append(f.until, deadline)
}

func (f *failingIndexer) Sync(ctx context.Context) error {
	f.record(ctx)
	return f.err
}

func (f *failingIndexer) SyncRoots(ctx context.Context, _ []string) error {
	f.record(ctx)
	return f.rootsErr
}

// TestWaitForRoots checks that a call waits for the memory directory and for the
// folders together no longer than SyncTimeout, and for each of them even if the other
// cannot be read.
func TestWaitForRoots(t *testing.T) {
	root := newDisk(t, nil)
	root.memory.Layout.Owner, root.memory.Layout.Roots = "owner", []*memory.Root{{Name: "vault", Owner: "owner"}}
	for _, indexer := range []*failingIndexer{
		{Indexer: root},
		{Indexer: root, err: errors.New("unreadable")},
		{Indexer: root, rootsErr: errors.New("unreadable")},
	} {
		m := readOps{syncer: indexer, Reading: &root.memory.Reading}
		c := Call{Scope: memory.Scope{Subject: "owner", Context: memory.Private}, start: time.Now()}
		checkError(t, m.syncIndex(t.Context(), &c))
		c, err := m.withRoots(t.Context(), c, nil)
		if want := indexer.err == nil && indexer.rootsErr == nil; err != nil || c.synced != want {
			t.Errorf("%v, %v: synced %v, %v", indexer.err, indexer.rootsErr, c.synced, err)
		}
		if len(indexer.until) != 2 || indexer.until[1].After(indexer.until[0]) {
			t.Errorf("%v, %v: waits until %v", indexer.err, indexer.rootsErr, indexer.until)
		}
	}
}

// loadedFiles counts the loads of each file.
type loadedFiles struct {
	compactor.Files
	loads map[string]int
}

func (f *loadedFiles) Load(path string) (*memory.Document, error) {
	f.loads[path]++
	return f.Files.Load(path)
}

// TestMissingTargetsOfMany checks that missing evidence does not make check read
// all archives for each piece: a stranger can write any number of them.
func TestMissingTargetsOfMany(t *testing.T) {
	archive := &txtar.Archive{}
	for i := range 5 {
		archive.Files = append(archive.Files, txtar.File{Name: fmt.Sprintf("_longterms/owner/_archive/2026-02-0%d/cli.md", i+1),
			Data: fmt.Appendf(nil, "- Text. <!-- id=a%d -->\n", i)})
	}
	var notes []byte
	for i := range 20 {
		notes = fmt.Appendf(notes, "- Fact. <!-- evidence=2026-02-01/gone.md#x%d -->\n", i)
	}
	archive.Files = append(archive.Files, txtar.File{Name: "notes/a.md", Data: notes})
	m := readOpsCase(t, archive).start(t).memory
	files := &loadedFiles{m.Files, map[string]int{}}
	m.Files = files
	list, err := m.adminOps().missingTargets(t.Context(), "")
	if err != nil || len(list) != 20 {
		t.Errorf("%d pieces are missing, %v", len(list), err)
	}
	for path, n := range files.loads {
		if n > 2 { // as a file with evidence, and as one that evidence names
			t.Errorf("%s was read %d times", path, n)
		}
	}
}

// TestExportPages checks that the pages of an export contain each readable file
// once, and that hidden files move no limit between them.
func TestExportPages(t *testing.T) {
	if testing.Short() {
		t.Skip("sends one request after another, with which the race detector finds nothing")
	}
	files := map[string]string{}
	want := map[string][]string{}
	for i := range 9 {
		path := fmt.Sprintf("memory/2026-01-%02d", i+1)
		files[path+".md"] = "# Day\n\n- " + strings.Repeat("word ", 50<<10) + "\n"
		files[path+"-notes.md"] = "- hidden\n"
		want["public"], want["private"] = append(want["public"], path+".md"), append(want["private"], path+"-notes.md", path+".md")
	}
	m := newDisk(t, files).memory
	for context, want := range want {
		for _, entries := range []bool{false, true} {
			var got []string
			pages := 0
			for r := (api.ExportRequest{Entries: entries}); pages == 0 || r.Cursor != "" && pages < 20; pages++ {
				page, err := do[api.ExportAnswer](t, m, as("owner", context), r)
				checkError(t, err)
				for _, f := range page.Files {
					got = append(got, f.Path)
					if entries == (f.Text != "") || entries != (len(f.Entries) > 0) {
						t.Errorf("%s has the text %.20q and %d entries", f.Path, f.Text, len(f.Entries))
					}
				}
				r.Cursor = page.Next
			}
			if !slices.Equal(got, want) || pages != 3 {
				t.Errorf("%s: %d pages with %v", context, pages, got)
			}
		}
	}
}

// hits returns hits of which the first ones are the best and newest.
func hits(prefix string, n int) (list []index.Hit) {
	for i := range n {
		doc := &memory.Document{Place: memory.Place{Path: fmt.Sprint(prefix, i)}, Entries: make([]memory.Entry, 1)}
		list = append(list, index.Hit{Doc: doc, Entry: &doc.Entries[0], Score: float64(n - i), Time: time.Unix(int64(100*(n-i)), 0)})
	}
	return list
}

func paths(list []index.Hit) []string {
	return convertEach(list, func(h index.Hit) string { return h.Doc.Place.Path })
}

// TestMergedPages checks that pages of merged hits are parts of one order, without
// gaps and repetitions, in every mode.
func TestMergedPages(t *testing.T) {
	for _, mode := range []index.Mode{index.Relevance, index.Overlap, index.Recent} {
		for _, sizes := range [][2]int{{7, 3}, {3, 7}, {0, 4}, {4, 0}, {0, 0}} {
			local, other := hits("local", sizes[0]), hits("other:", sizes[1])
			page := func(offset, limit int) index.Result {
				first := index.Result{Hits: local[:min(offset+limit, len(local))], Total: len(local)}
				if len(local) > offset+limit {
					first.Next = offset + limit
				}
				return mergeResults(&index.Query{Mode: mode, Offset: offset, Limit: limit}, first,
					index.Result{Hits: slices.Clone(other), Total: len(other)})
			}
			all := page(0, 100)
			if all.Total != sizes[0]+sizes[1] || len(all.Hits) != all.Total || all.Next != 0 {
				t.Errorf("%v %v: total %d, %d hits, next %d", mode, sizes, all.Total, len(all.Hits), all.Next)
			}
			r := page(0, 2)
			got := r.Hits
			for r.Next > 0 {
				r = page(r.Next, 2)
				got = append(got, r.Hits...)
			}
			if diff := cmp.Diff(paths(all.Hits), paths(got), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%v %v: pages (-whole +pages):\n%v", mode, sizes, diff)
			}
		}
	}
	merged := mergeResults(&index.Query{Limit: 10, ByFile: true}, index.Result{Hits: hits("local", 2)},
		index.Result{Hits: slices.Concat(hits("other:", 1), hits("other:", 2))})
	if diff := cmp.Diff([]string{"local0", "other:0", "local1", "other:1"}, paths(merged.Hits)); diff != "" {
		t.Errorf("best entries of files (-want +got):\n%s", diff)
	}
}

// idlePublisher stands for a store without entries.
type idlePublisher struct{}

func (idlePublisher) Status() api.ShareStatusAnswer { return api.ShareStatusAnswer{} }

func (idlePublisher) Push(context.Context, string) (share.Comparison, error) {
	return share.Comparison{}, nil
}

// TestLastMergedPage checks that pages skip no hits of this machine where those of other
// machines end.
func TestLastMergedPage(t *testing.T) {
	for _, c := range []struct{ offset, other, next int }{
		{850, 3, 950}, {900, 3, 0}, {950, 3, 0}, {900, 0, 1000}, {950, 0, 1050},
	} {
		local := index.Result{Hits: hits("local", c.offset+100), Next: c.offset + 100}
		got := mergeResults(&index.Query{Offset: c.offset, Limit: 100}, local, index.Result{Hits: hits("other:", c.other)})
		if got.Next != c.next || len(got.Hits) != 100 {
			t.Errorf("offset %d, %d hits of others: next %d, want %d", c.offset, c.other, got.Next, c.next)
		}
	}
	m := readOps{Reading: &Reading{Layout: new(memory.Layout), Index: newDisk(t, nil).memory.Index, Shared: &share.Reader{Store: emptyStore{}, Breaker: new(share.Breaker),
		Timeout: 20 * time.Second, Terms: func(q index.Query) string { return q.Text }}}}
	view, err := new(memory.Directories).View(memory.Scope{Subject: "alice", Context: memory.Private})
	checkError(t, err)
	for offset, want := range map[int]string{0: "included", 950: "included", 1000: ""} {
		_, state, err := m.searchAll(t.Context(), Call{View: view}, index.Query{Text: "bike", Offset: offset, Limit: 100})
		if err != nil || state != want {
			t.Errorf("offset %d: entries of other machines are %q, want %q; %v", offset, state, want, err)
		}
	}
}

// An emptyStore is a [share.Store] without objects.
type emptyStore struct{ share.Store }

func (emptyStore) Search(context.Context, share.Query) ([]share.Object, error) { return nil, nil }
