package index

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/memwatchd/memwatchd/internal/disk"
	"github.com/memwatchd/memwatchd/memory"
)

// TestMain checks that the tests leave no goroutines running.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m, goleak.IgnoreCurrent()) }

// must fails the test if err is not nil.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A mapSource holds files in memory.
type mapSource struct {
	layout   memory.Layout
	text     map[string]string
	modified map[string]time.Time        // a fixed time if missing
	docs     map[string]*memory.Document // parsed files that do not change
	hold     func(path string)           // called before a file is read, if not nil
}

func (s *mapSource) Stamp(path string) (disk.Stamp, error) {
	text, ok := s.text[path]
	if !ok {
		return disk.Stamp{}, os.ErrNotExist
	}
	stamp := disk.Stamp{Size: int64(len(text)), MTime: int64(dupOf(text))}
	if at, ok := s.modified[path]; ok {
		stamp.MTime = at.UnixNano()
	}
	return stamp, nil
}

func (s *mapSource) Load(path string) (*memory.Document, error) {
	if s.hold != nil {
		s.hold(path)
	}
	if doc := s.docs[path]; doc != nil {
		return doc, nil
	}
	text, ok := s.text[path]
	if !ok {
		return nil, os.ErrNotExist
	}
	at, ok := s.modified[path]
	if !ok {
		at = time.Unix(1, 0)
	}
	return s.layout.Parse(path, []byte(text), memory.Meta{ModTime: at}), nil
}

// updates returns the changes to files, or to all, as they are now.
func (s *mapSource) updates(paths ...string) (all []Update) {
	if len(paths) == 0 {
		paths = slices.Collect(maps.Keys(s.text))
	}
	for _, path := range paths {
		u := Update{Path: path, Hash: sha256.Sum256([]byte(s.text[path]))}
		if doc, err := s.Load(path); err == nil {
			u.Doc = doc
			u.Stamp, _ = s.Stamp(path)
		}
		all = append(all, u)
	}
	return all
}

// open opens an index of s in dir, without applying files.
func (s *mapSource) open(t testing.TB, dir string) *Index {
	t.Helper()
	x, _ := s.openLosing(t, dir)
	return x
}

// openLosing is open for an index that fails. The channel receives when every file must
// be applied again.
func (s *mapSource) openLosing(t testing.TB, dir string) (x *Index, lost <-chan bool) {
	t.Helper()
	failed := make(chan bool, 1)
	x, err := Open(dir, Options{Source: s, Texts: true, OnIncomplete: func() {
		select {
		case failed <- true:
		default:
		}
	}})
	must(t, err)
	t.Cleanup(func() { x.Close() })
	return x, failed
}

// reopen closes an index and opens it again.
func (s *mapSource) reopen(t testing.TB, x *Index) *Index {
	t.Helper()
	must(t, x.Close())
	return s.open(t, filepath.Dir(x.dir))
}

// apply applies files as they are now, or all.
func (s *mapSource) apply(t testing.TB, x *Index, paths ...string) {
	t.Helper()
	must(t, x.Apply(t.Context(), s.updates(paths...)))
}

// complete opens an index and applies all files.
func (s *mapSource) complete(t testing.TB) *Index {
	t.Helper()
	x := s.open(t, t.TempDir())
	s.confirmComplete(t, x)
	return x
}

// confirmComplete applies all files and checks that the index is complete.
func (s *mapSource) confirmComplete(t testing.TB, x *Index) {
	t.Helper()
	s.apply(t, x)
	must(t, x.Confirm(x.Status().Epoch))
	if st := x.Status(); st.Degraded || st.Problem != "" {
		t.Errorf("not complete: %+v", st)
	}
}

// newFiles returns a complete index of the given files.
func newFiles(t testing.TB, text map[string]string) *Index {
	t.Helper()
	return (&mapSource{text: text}).complete(t)
}

// A testIndex is a complete index of files that do not change.
type testIndex struct {
	*Index
	*mapSource
	view memory.View
	now  time.Time
}

// openFiles indexes files that were modified at the given times, or now.
func openFiles(t testing.TB, text map[string]string, modified map[string]time.Time) *testIndex {
	t.Helper()
	x := &testIndex{mapSource: &mapSource{text: text, modified: modified}, view: ownerView(t), now: time.Now()}
	docs := map[string]*memory.Document{}
	if modified == nil {
		x.modified = map[string]time.Time{}
	}
	for path := range text {
		if modified == nil {
			x.modified[path] = x.now
		}
		docs[path], _ = x.mapSource.Load(path)
	}
	x.docs = docs
	x.Index = x.mapSource.complete(t)
	return x
}

// openDir indexes the files of a directory.
func openDir(t testing.TB, root string) *testIndex {
	t.Helper()
	text, modified := readDir(t, root)
	return openFiles(t, text, modified)
}

// readDir returns the texts of the files of a directory, and when they were modified.
func readDir(t testing.TB, root string) (text map[string]string, modified map[string]time.Time) {
	t.Helper()
	text, modified = map[string]string{}, map[string]time.Time{}
	must(t, filepath.WalkDir(root, func(name string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || !strings.HasSuffix(name, ".md") {
			return err
		}
		data, err := os.ReadFile(name)
		must(t, err)
		info, err := d.Info()
		path, _ := filepath.Rel(root, name)
		text[path], modified[path] = string(data), info.ModTime()
		return err
	}))
	return text, modified
}

// documents returns the documents of all files, by path.
func (x *testIndex) documents() (docs []*memory.Document) {
	for _, path := range slices.Sorted(maps.Keys(x.docs)) {
		docs = append(docs, x.docs[path])
	}
	return docs
}

// linkRoots are the folders of the tests of links.
var linkRoots = []*memory.Root{{Name: "vault", Owner: "owner"}, {Name: "other", Owner: "owner"}}

func viewOf(t testing.TB, scope memory.Scope) memory.View {
	t.Helper()
	dirs := memory.Directories{Roots: linkRoots}
	v, err := dirs.View(scope)
	must(t, err)
	return v
}

func ownerView(t testing.TB) memory.View {
	t.Helper()
	return viewOf(t, memory.Scope{Subject: "owner", Context: memory.Private})
}

// contextView returns a view of the owner with all folders.
func contextView(t testing.TB, context memory.Context) memory.View {
	t.Helper()
	return viewOf(t, memory.Scope{Subject: "owner", Context: context}).WithRoots("vault", "other")
}

// mustSearch is Search with defaults for the limit and the time.
func (x *Index) mustSearch(t testing.TB, view memory.View, q Query) Result {
	t.Helper()
	if q.Limit == 0 {
		q.Limit = 20
	}
	if q.AsOf.IsZero() {
		q.AsOf = time.Unix(1_800_000_000, 0)
	}
	res, err := x.Search(t.Context(), view, q)
	must(t, err)
	return res
}

// placesOf returns the hits of a result as path:line, with "< path:line" for the entry
// that supersedes a hit.
func placesOf(res Result) (list []string) {
	for _, h := range res.Hits {
		s := fmt.Sprintf("%s:%d", h.Doc.Place.Path, h.Entry.Line)
		if h.Successor != nil {
			s += fmt.Sprintf(" < %s:%d", h.Successor.Path, h.Successor.Line)
		}
		list = append(list, s)
	}
	return list
}

// hitsOf returns the hits of a query of the owner.
func hitsOf(t testing.TB, x *Index, q Query) (list []string) {
	t.Helper()
	return placesOf(x.mustSearch(t, ownerView(t), q))
}

// wantHits checks the hits of a query of the owner.
func wantHits(t testing.TB, x *Index, q Query, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, hitsOf(t, x, q)); diff != "" {
		t.Errorf("%q (-want +got):\n%s", q.Text, diff)
	}
}
