package vault

import (
	"fmt"
	"maps"
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
