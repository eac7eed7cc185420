package vault

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/memwatchd/memwatchd/vault/journal"
)

// newNote returns a change that creates a file and leaves an existing one alone.
func newNote(path, text string) Change {
	return Change{Path: path, Cause: "import", Requested: true, Edit: func(old *File) ([]byte, error) {
		if old != nil {
			return nil, nil
		}
		return []byte(text), nil
	}}
}

func manyNotes(n int) (changes []Change, want map[string]string) {
	want = map[string]string{}
	for i := range n {
		path := fmt.Sprintf("imports/x/%d/%03d.md", 2020+i%3, i)
		want[path] = fmt.Sprintf("- note %d\n", i)
		changes = append(changes, newNote(path, want[path]))
	}
	return changes, want
}

func TestWriteAll(t *testing.T) {
	w := newWriter(t, map[string]string{"imports/x/2020/003.md": "there\n", "a.md": "old\n"})
	changes, want := manyNotes(80)
	want["imports/x/2020/003.md"], want["a.md"] = "there\n", "new\n"
	changes = append(changes, newChange("a.md", "old", "new"), newNote("a.md", "again"), newNote(".hidden.md", "x"))
	for i, err := range w.WriteAll(t.Context(), changes) {
		if (err != nil) != (changes[i].Path == ".hidden.md") {
			t.Errorf("%s: %v", changes[i].Path, err)
		}
	}
	wantFiles(t, w, want)
	undone := 0
	for _, r := range w.Journal.List(journal.Record{}.Time, "", 0) {
		if r.State != journal.StateDone || r.Group != r.ID {
			t.Errorf("%+v", r)
		}
		undone++
	}
	if undone != 80 { // 79 new files and a.md
		t.Errorf("%d changes are in the journal", undone)
	}
}

// TestWriteAllFails fails each system call once. Every file is then complete and in
// the journal, or was not created and has an error.
func TestWriteAllFails(t *testing.T) {
	calls := map[string]int{}
	var mu sync.Mutex
	count := func(name string) int {
		mu.Lock()
		defer mu.Unlock()
		calls[name]++
		return calls[name]
	}
	run := func(t *testing.T, fault func(name string, n int) error) {
		w := newWriter(t, nil)
		clear(calls)
		w.fault = func(name string, do func() error) error {
			if err := fault(name, count(name)); err != nil {
				return err
			}
			return do()
		}
		changes, want := manyNotes(7)
		errs := w.WriteAll(t.Context(), changes)
		w.fault = nil
		for i, err := range errs {
			if err != nil {
				delete(want, changes[i].Path)
			}
		}
		must(t, w.Repair(t.Context()))
		wantFiles(t, w, want)
		done := 0
		for _, r := range w.Journal.List(journal.Record{}.Time, "", 0) {
			if r.State != journal.StateDone {
				t.Errorf("%+v", r)
			}
			done++
		}
		if done != len(want) {
			t.Errorf("%d files, %d changes in the journal", len(want), done)
		}
	}
	run(t, func(string, int) error { return nil })
	all := maps.Clone(calls)
	if all["name file"] != 7 || all["sync directory"] < 3 || all["sync temporary file"] != 7 {
		t.Errorf("%v", all)
	}
	for name, n := range all {
		for at := 1; at <= n; at++ {
			t.Run(fmt.Sprintf("%s %d", name, at), func(t *testing.T) {
				run(t, func(call string, n int) error {
					if call == name && n == at {
						return unix.EIO
					}
					return nil
				})
			})
		}
	}
}

// BenchmarkCreate compares the time of a file that is created alone with that of a
// file created together with others.
func BenchmarkCreate(b *testing.B) {
	for _, together := range []bool{false, true} {
		b.Run(fmt.Sprintf("together=%t", together), func(b *testing.B) {
			j, err := journal.Open(filepath.Join(b.TempDir(), "journal"), 0)
			if err != nil {
				b.Fatal(err)
			}
			w := &Writer{Vault: &Vault{Dir: b.TempDir()}, Journal: j}
			changes, _ := manyNotes(b.N)
			b.ResetTimer()
			if together {
				for _, err := range w.WriteAll(b.Context(), changes) {
					if err != nil {
						b.Fatal(err)
					}
				}
				return
			}
			for _, c := range changes {
				if _, err := w.Write(b.Context(), c); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestWriteAllDies stops at each system call, as a crash does. After the repair of
// the next start, each file is complete and in the journal, or is missing.
func TestWriteAllDies(t *testing.T) {
	const files = 5
	for at := 1; ; at++ {
		w := newWriter(t, nil)
		var mu sync.Mutex
		n := 0
		w.fault = func(_ string, do func() error) error {
			mu.Lock()
			n++
			dead := n >= at
			mu.Unlock()
			if dead {
				return unix.EIO
			}
			return do()
		}
		changes, want := manyNotes(files)
		errs := w.WriteAll(t.Context(), changes)
		if n < at {
			return
		}
		for i, err := range errs {
			if path := filepath.Join(w.Vault.Dir, changes[i].Path); err == nil {
				if data, err := os.ReadFile(path); err != nil || string(data) != want[changes[i].Path] {
					t.Errorf("dead from call %d: %s is reported as written: %q, %v", at, path, data, err)
				}
			}
		}
		next := writerOn(t, w.Vault, w.Journal.Dir)
		must(t, next.Repair(t.Context()))
		got := next.readTestTree(t)
		done := map[string]bool{}
		for _, r := range next.Journal.List(journal.Record{}.Time, "", 0) {
			if r.State != journal.StateDone {
				t.Errorf("dead from call %d: %+v", at, r)
			}
			done[r.Path] = true
		}
		for path, text := range got {
			if strings.HasPrefix(filepath.Base(path), tempPrefix) {
				continue // a draft without a record, which readers ignore
			}
			if text != want[path] || !done[path] {
				t.Errorf("dead from call %d: %s is %q, in the journal: %t", at, path, text, done[path])
			}
			delete(done, path)
		}
		if len(done) > 0 {
			t.Errorf("dead from call %d: only in the journal: %v", at, done)
		}
	}
}
