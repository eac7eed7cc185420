package index

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/blevesearch/bleve/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/memwatchd/memwatchd/memory"
)

// TestOpenWithBleve opens the index of the product with the API of bleve, reads its words and
// finds the blocks of a word, with the paths of their files.
func TestOpenWithBleve(t *testing.T) {
	s := &mapSource{text: map[string]string{
		"a.md": "- red medlar\n", "b.md": "- green\n", "long.md": strings.Repeat("- green\n", 50) + "- a medlar\n",
		"ghp_k7Qz0mXw3RtV9bLp2NcJ5sYhF8gDaE4uKoT1.md": "- medlar\n",
	}}
	x := s.complete(t)
	fields := fieldsOf(memory.Partition{Owner: "owner"})
	path := x.store.dir
	must(t, x.Close())
	b, err := bleve.Open(path)
	must(t, err)
	defer b.Close()
	query := bleve.NewTermQuery("medlar")
	query.SetField(fields[kindWord])
	search := bleve.NewSearchRequest(query)
	search.Fields = []string{fieldPath}
	res, err := b.Search(search)
	must(t, err)
	var found []string
	for _, hit := range res.Hits {
		found = append(found, fmt.Sprint(hit.Fields[fieldPath]))
	}
	slices.Sort(found)
	if diff := cmp.Diff([]string{"<nil>", "a.md", "long.md"}, found); diff != "" {
		t.Errorf("the files of a word (-want +got):\n%s", diff)
	}
	dictionary, err := b.FieldDict(fields[kindWord])
	must(t, err)
	defer dictionary.Close()
	words := map[string]uint64{}
	for entry, err := dictionary.Next(); entry != nil; entry, err = dictionary.Next() {
		must(t, err)
		words[entry.Term] = entry.Count
	}
	if words["medlar"] != 3 || words["green"] != 4 || words["red"] != 1 {
		t.Errorf("words %v", words)
	}
}

// TestPurge checks that no file of the index has a word that is only in earlier versions of
// files: in the segment of the first build, in one with nothing else, or in one that was
// not on disk yet.
func TestPurge(t *testing.T) {
	s := &mapSource{text: map[string]string{}}
	for i := range 40 {
		s.text[fmt.Sprintf("%02d.md", i)] = "- tea " + wordNo(uint64(i)) + "\n"
	}
	s.text["00.md"] = "- quince\n- tea\n"
	x := s.complete(t)
	save := func(path, text string) {
		t.Helper()
		s.text[path] = text
		s.apply(t, x, path)
	}
	save("01.md", "- quince\n")
	must(t, x.store.flush())
	save("02.md", "- quince\n- tea\n")
	for _, path := range []string{"00.md", "01.md", "02.md"} {
		save(path, "- tea\n")
	}
	if findTerm(t, x, "quinc") == "" {
		t.Fatal("deleted documents leave no words")
	}
	must(t, x.Purge())
	if term := findTerm(t, x, "quinc"); term != "" {
		t.Errorf("the index has %q", term)
	}
	files, err := filepath.Glob(filepath.Join(x.store.dir, "store", "*.zap"))
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for _, name := range files {
		if text, err := os.ReadFile(name); err != nil || strings.Contains(string(text), "quinc") {
			t.Errorf("%s has a deleted word, %v", name, err)
		}
	}
	if n := len(hitsOf(t, x, Query{Text: "tea", Limit: 100})); n != 38 { // one for the three equal ones
		t.Errorf("after the purge %d entries are found", n)
	}
}

// TestKilledBetweenBatches checks that of two versions of a file in a store, the later one
// counts, so that the times in its record are not lost, and the other is deleted.
func TestKilledBetweenBatches(t *testing.T) {
	s := &mapSource{text: map[string]string{"a.md": "- red\n- tea\n", "b.md": "- green\n"}}
	killed := t.TempDir()
	x := s.reopen(t, s.complete(t)) // batches have numbers across restarts
	s.text["a.md"] = "- blue\n- tea\n"
	s.apply(t, x, "a.md")
	x.store.gone = nil // of the batch that is lost
	must(t, x.store.flush())
	must(t, os.CopyFS(killed, os.DirFS(filepath.Dir(x.dir))))
	x = s.open(t, killed)
	for _, f := range x.Files(nil) {
		if want, _ := s.Stamp(f.Path); f.Stamp != want {
			t.Errorf("%s has another version", f.Path)
		}
	}
	if n := x.Status().Files; n != 2 || len(x.store.gone) != 1 {
		t.Errorf("%d files, %d old blocks", n, len(x.store.gone))
	}
	if got := hitsOf(t, x, Query{Text: "red blue tea green"}); len(got) != 3 {
		t.Error(got)
	}
	if err := x.Purge(); err != nil || findTerm(t, x, "red") != "" {
		t.Errorf("the old version is still there, %v", err)
	}
}

// TestDirectoryGone checks that an index whose directory was removed or replaced is
// opened again when it changes.
func TestDirectoryGone(t *testing.T) {
	s := &mapSource{text: map[string]string{"a.md": "- red\n"}}
	x, lost := s.openLosing(t, t.TempDir())
	for n := range 2 {
		s.confirmComplete(t, x)
		clear(x.refills) // as after a while
		dir := x.dir
		must(t, os.RemoveAll(dir))
		if n > 0 {
			must(t, os.Mkdir(dir, 0o700))
		}
		s.apply(t, x)
		<-lost
		if got := x.Status(); !got.Degraded || got.Epoch != uint64(n+2) {
			t.Errorf("not opened again: %+v", got)
		}
	}
	s.confirmComplete(t, x)
}

// TestReopeningLeaksNothing checks that repeated reopening leaks no goroutines,
// files or mappings.
func TestReopeningLeaksNothing(t *testing.T) {
	s := &mapSource{text: map[string]string{"a.md": "- red\n", "b.md": "- green\n"}}
	x := s.open(t, t.TempDir())
	held := func() (goroutines, files, deleted int) {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip("what a process holds can only be seen where there is /proc")
		}
		maps, err := os.ReadFile("/proc/self/maps")
		if err != nil {
			t.Skip(err)
		}
		for line := range strings.Lines(string(maps)) {
			if strings.Contains(line, x.dir) && strings.Contains(line, ".zap (deleted)") {
				deleted++
			}
		}
		return runtime.NumGoroutine(), len(entries), deleted
	}
	round := func(damaged string) {
		s.confirmComplete(t, x)
		x.writing.Lock()
		defer x.writing.Unlock()
		x.mu.Lock()
		defer x.mu.Unlock()
		dir := x.store.dir
		err := x.store.close()
		x.store = nil
		must(t, err)
		names, err := filepath.Glob(filepath.Join(dir, "store", damaged))
		if err != nil || len(names) == 0 {
			t.Fatalf("there is no %s: %v", damaged, err)
		}
		for _, name := range names {
			must(t, os.Truncate(name, 20000))
		}
		must(t, x.openStore())
	}
	round("root.bolt")
	round("*.zap")
	g0, f0, _ := held()
	for n := range 10 {
		round([]string{"root.bolt", "*.zap"}[n%2])
	}
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		runtime.GC() // closes files left open by a failed opening
		g, f, deleted := held()
		if g <= g0 && f <= f0 && deleted == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d goroutines were %d, %d open files were %d, %d deleted files are mapped", g, g0, f, f0, deleted)
		}
	}
}

// TestRandomDamage damages a closed index at random places: a zeroed page, a
// flipped bit, a file cut short, a missing file. No answer may lack a file without being
// degraded, nothing may panic, and the index must be whole again afterwards.
func TestRandomDamage(t *testing.T) {
	rounds := 4
	if os.Getenv("FAULTS") != "" {
		rounds = 40
	}
	r := rand.New(rand.NewPCG(5, 6))
	change := func(name string, fn func(b []byte) []byte) error {
		b, err := os.ReadFile(name)
		if err != nil || len(b) == 0 {
			return err
		}
		return os.WriteFile(name, fn(b), 0o600)
	}
	kinds := []struct {
		name   string
		damage func(name string) error
	}{
		{"zeroed page", func(name string) error {
			return change(name, func(b []byte) []byte {
				at := r.IntN(len(b)) &^ 4095
				clear(b[at:min(len(b), at+4096)])
				return b
			})
		}},
		{"flipped bit", func(name string) error {
			return change(name, func(b []byte) []byte { b[r.IntN(len(b))] ^= 1 << r.IntN(8); return b })
		}},
		{"cut", func(name string) error { return change(name, func(b []byte) []byte { return b[:r.IntN(len(b))] }) }},
		{"missing", os.Remove},
	}
	s := &mapSource{text: make(map[string]string)}
	for n := range 60 {
		s.text[fmt.Sprintf("%02d.md", n)] = fmt.Sprintf("- red %s\n- other %s\n", wordNo(uint64(n)), wordNo(uint64(n)+900))
	}
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			x := s.complete(t)
			for n := range rounds {
				s.apply(t, x, "07.md", "08.md")
				x.Close()
				var files []string
				err := filepath.WalkDir(x.dir, func(path string, e os.DirEntry, err error) error {
					if err == nil && !e.IsDir() {
						files = append(files, path)
					}
					return err
				})
				must(t, err)
				name := files[r.IntN(len(files))]
				must(t, kind.damage(name))
				x = s.reopen(t, x)
				if res := x.mustSearch(t, ownerView(t), Query{Text: "red", Limit: 100}); len(res.Hits) != len(s.text) && !res.Degraded {
					t.Errorf("round %d, %s: %d hits", n, name, len(res.Hits))
				}
				s.confirmComplete(t, x)
				if got := hitsOf(t, x, Query{Text: wordNo(907)}); len(got) != 1 {
					t.Errorf("round %d, %s: %v", n, name, got)
				}
			}
		})
	}
}

// TestStoreErrors checks which errors of the goroutines of a store count as damage.
func TestStoreErrors(t *testing.T) {
	for _, c := range []struct {
		err     error
		damaged bool
	}{
		{errors.New("snappy: corrupt input"), true}, {syscall.ENOENT, true}, {errChecksum, true},
		{syscall.ENOSPC, false}, {syscall.EMFILE, false}, {syscall.EIO, false}, {syscall.EACCES, false},
	} {
		s := &mapSource{text: map[string]string{"a.md": "- one\n"}}
		x, lost := s.openLosing(t, t.TempDir())
		s.confirmComplete(t, x)
		before := x.store
		x.handleStoreError(before, fmt.Errorf("persist: %w", c.err), true)
		if c.damaged {
			<-lost
		}
		x.mu.Lock()
		if (x.store != before) != c.damaged {
			t.Errorf("%v: damaged %t, want %t", c.err, x.store != before, c.damaged)
		}
		x.mu.Unlock()
	}
}

// wordNo returns a pronounceable word.
func wordNo(n uint64) string {
	const consonants, vowels = "bdfgklmnprstvz", "aeiou"
	var b []byte
	for n += 3; n > 0; n /= 70 {
		b = append(b, consonants[n%14], vowels[n/14%5])
	}
	return string(b)
}
