package vault

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memwatchd/memwatchd/vault/journal"
)

// undoTest is a root with a running writer and an undoer.
type undoTest struct {
	*testing.T
	w *Writer
	Undoer
	exchangeFails atomic.Bool // as if other programs saved the file again and again
}

func newUndoTest(t *testing.T, files map[string]string) *undoTest {
	t.Helper()
	w := newWriter(t, files)
	u := &undoTest{T: t, w: w, Undoer: Undoer{w}}
	w.fault = func(call string, do func() error) error {
		if call == "exchange" && u.exchangeFails.Load() {
			return errConcurrentSave
		}
		return do()
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	w.settleDelay = time.Millisecond
	go func() { ended <- w.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return u
}

func (u *undoTest) write(group, path, content string) string {
	u.Helper()
	c := contentChange(path, content)
	c.Group = group
	return u.w.mustWrite(u.T, c).ID
}

func (u *undoTest) remove(path string) string { return u.w.mustWrite(u.T, removalChange(path)).ID }

func (u *undoTest) move(from, to string) string {
	u.Helper()
	written, err := u.w.Move(u.Context(), from, to, Change{Cause: "archive", Requested: true})
	must(u.T, err)
	return written.ID
}

// saveAsUser saves a file as a person would.
func (u *undoTest) saveAsUser(path, content string) { writeFile(u.T, u.w.Vault, path, content) }

func (u *undoTest) files() map[string]string { return u.w.readTestTree(u.T) }

func (u *undoTest) want(what string, want map[string]string) {
	u.Helper()
	if diff := cmp.Diff(want, u.files()); diff != "" {
		u.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

func (u *undoTest) undo(id string) []UndoResult { return u.w.mustUndo(u.T, id) }

// formatResults formats the file and error of each result.
func formatResults(list []UndoResult) string {
	var b strings.Builder
	for _, u := range list {
		fmt.Fprintf(&b, "%s: %v\n", u.Record.FilePath(), u.Err)
	}
	return b.String()
}

// TestUndoRestoresEveryByte checks that undoing changes one by one restores
// every intermediate state. Undoing all changes at once restores the first
// state, and undoing that restores the state before it.
func TestUndoRestoresEveryByte(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(seed, 3))
			u := newUndoTest(t, map[string]string{"a.md": "one\r\ntwo\r\nthree", "2026-02-05/b.md": "\ufeff- [ ] x\n- [ ] y\n\n\n", "c.md": ""})
			states, made := []map[string]string{u.files()}, []string{""}
			for n := 0; len(states) < 10; n++ {
				before := u.files()
				paths := slices.Sorted(maps.Keys(before))
				path := paths[rng.IntN(len(paths))]
				id := ""
				switch rng.IntN(6) {
				case 0:
					id = u.write("", fmt.Sprintf("new/%d.md", n), strings.Repeat("new\n", rng.IntN(3)))
				case 1:
					if len(paths) > 2 {
						id = u.remove(path)
					}
				case 2:
					id = u.move(path, fmt.Sprintf("moved/%d.md", n))
				default:
					lines := strings.SplitAfter(before[path], "\n")
					at := rng.IntN(len(lines))
					lines[at] = []string{"", "changed\n", lines[at] + "added", lines[at] + "added\r\n"}[rng.IntN(4)]
					id = u.write("", path, strings.Join(lines, ""))
				}
				if id != "" {
					states, made = append(states, u.files()), append(made, id)
				}
			}
			last := states[len(states)-1]
			if rng.IntN(2) == 0 {
				for i := len(states) - 1; i > 0; i-- {
					u.undo(made[i])
					u.want("undo "+made[i], states[i-1])
				}
			}
			newest := u.w.Journal.List(time.Time{}, "", 1)[0].Group
			list := u.UndoSince(t.Context(), time.Time{}, nil, false)
			u.want("undo of everything", states[0])
			if len(list) == 0 {
				return
			}
			group := u.w.Journal.List(time.Time{}, "", 1)[0].Group
			u.undo(group)
			if newest == made[len(made)-1] {
				u.want("undo of that", last)
			} else {
				u.want("undo of that", states[0])
			}
		})
	}
}

// TestUndoOfUndo checks that an undo is in the journal and can itself be undone
// repeatedly.
func TestUndoOfUndo(t *testing.T) {
	u := newUndoTest(t, map[string]string{"a.md": "- [ ] one\n"})
	id := u.write("", "a.md", "- [x] one\n")
	ids := []string{id}
	for i, want := range []string{"- [ ] one\n", "- [x] one\n", "- [ ] one\n", "- [x] one\n"} {
		list := u.undo(ids[i])
		u.want(fmt.Sprintf("undo %d", i+1), map[string]string{"a.md": want})
		r, err := u.w.Journal.Get(list[0].By)
		must(t, err)
		if r.Cause != "undo" || !slices.Equal(r.Undoes, []string{ids[i]}) {
			t.Errorf("%+v", r)
		}
		if _, err := u.Undo(t.Context(), ids[i], false); err == nil || !strings.Contains(err.Error(), "already undone") {
			t.Errorf("undone twice: %v", err)
		}
		ids = append(ids, list[0].By)
	}
	again, err := journal.Open(u.w.Journal.Dir, 0)
	must(t, err)
	for _, j := range []*journal.Journal{u.w.Journal, again} {
		if r, err := j.Get(id); err != nil || r.State != journal.StateDone {
			t.Errorf("%v, %v", r.State, err)
		}
		if r, err := j.Get(ids[1]); err != nil || r.State != journal.StateUndone {
			t.Errorf("%v, %v", r.State, err)
		}
	}
}

// TestUndoOfAGroup checks that a group is undone entirely or not at all, in an
// order in which all text exists somewhere at any time.
func TestUndoOfAGroup(t *testing.T) {
	files := map[string]string{"_archive/a.md": "old\n", "a.md": "# A\n- gone\n- stays\n"}
	for _, saved := range []map[string]string{nil, {"a.md": "# B\n- changed\n"}, {"_archive/a.md": "old\n- gone!\n"}, {"busy": ""}} {
		u := newUndoTest(t, files)
		id := u.write("", "_archive/a.md", "old\n- gone\n")
		u.write(id, "a.md", "# A\n- stays\n")
		for path, text := range saved {
			u.saveAsUser(path, text)
			u.exchangeFails.Store(path == "busy")
		}
		before := u.files()
		list, err := u.Undo(t.Context(), id, false)
		must(t, err)
		refused := saved != nil
		if len(list) != 2 || (list[0].Err != nil) != refused || (list[1].Err != nil) != refused ||
			errors.Is(list[0].Err, ErrBusy) != u.exchangeFails.Load() {
			t.Errorf("%q: got %s", saved, formatResults(list))
		}
		if !refused {
			before = files
		}
		u.want(fmt.Sprint(saved), before)
	}
}

// TestUndoSince checks that one change undoes many changes of a file, and that
// conflicting changes stay.
func TestUndoSince(t *testing.T) {
	u := newUndoTest(t, map[string]string{"a.md": "1\n", "b.md": "# B\n1\n"})
	clock := time.Date(2026, 2, 5, 12, 0, 0, 0, time.UTC)
	u.w.Journal.Now = func() time.Time { clock = clock.Add(time.Minute); return clock }
	u.write("", "a.md", "2\n")
	since := clock.Add(time.Second)
	u.write("", "a.md", "3\n")
	b := u.write("", "b.md", "# B\n2\n")
	u.write("", "a.md", "4\n")
	u.saveAsUser("b.md", "# B\n2 and a half\n")
	before := u.files()

	list := u.UndoSince(t.Context(), since, nil, true)
	want := "a.md: <nil>\nb.md: undo " + b + ": b.md: line 2: the line was changed afterwards\na.md: <nil>\n"
	if diff := cmp.Diff(want, formatResults(list)); diff != "" {
		t.Errorf("dry run (-want +got):\n%s", diff)
	}
	u.want("dry run", before)

	list = u.UndoSince(t.Context(), since, nil, false)
	if diff := cmp.Diff(want, formatResults(list)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	u.want("undo since", map[string]string{"a.md": "2\n", "b.md": "# B\n2 and a half\n"})
	if n := len(u.w.Journal.List(since, "a.md", 0)); n != 3 {
		t.Errorf("%d changes of a.md, want the two and one that undoes both", n)
	}
}

// TestUndoSinceOfWhatIsUndone checks that UndoSince omits changes that are
// already undone, regardless of the file's content.
func TestUndoSinceOfWhatIsUndone(t *testing.T) {
	u := newUndoTest(t, map[string]string{"a.md": "1\n"})
	u.undo(u.write("", "a.md", "2\n"))
	u.saveAsUser("a.md", "mine\n")
	if got := formatResults(u.UndoSince(t.Context(), time.Time{}, nil, false)); got != "" {
		t.Errorf("got %s", got)
	}
	u.want("undo since", map[string]string{"a.md": "mine\n"})
}

// TestUndoOfWhatIsBelow checks that a dry run reports changes that cannot be
// undone because another one cannot.
func TestUndoOfWhatIsBelow(t *testing.T) {
	u := newUndoTest(t, map[string]string{"a.md": "1\n", "b.md": "1\n"})
	u.write("", "a.md", "2\n")
	id := u.write("", "b.md", "2\n")
	u.write(id, "a.md", "3\n")
	u.saveAsUser("b.md", "mine\n")
	for _, dry := range []bool{true, false} {
		for _, refused := range u.UndoSince(t.Context(), time.Time{}, nil, dry) {
			if refused.Err == nil {
				t.Errorf("dry: %v: %s is undone", dry, refused.Record.Path)
			}
		}
	}
	u.want("undo since", map[string]string{"a.md": "3\n", "b.md": "mine\n"})
}

func TestUndoMovesBack(t *testing.T) {
	u := newUndoTest(t, map[string]string{"2026-01-01/a.md": "1\n", "2026-01-01/b.md": "1\n"})
	a, b := u.move("2026-01-01/a.md", "_archive/2026-01-01/a.md"), u.move("2026-01-01/b.md", "_archive/2026-01-01/b.md")
	u.saveAsUser("_archive/2026-01-01/a.md", "1\nmine\n")
	u.saveAsUser("2026-01-01/b.md", "another\n")
	u.undo(a)
	list, err := u.Undo(t.Context(), b, false)
	must(t, err)
	if len(list) != 1 || list[0].Err == nil || !strings.Contains(list[0].Err.Error(), "another file") {
		t.Errorf("got %s", formatResults(list))
	}
	u.want("undo", map[string]string{"2026-01-01/a.md": "1\nmine\n", "2026-01-01/b.md": "another\n", "_archive/2026-01-01/b.md": "1\n"})
}

// TestUndoRemovesCreatedDirectories checks that an undo removes the directories that
// the undone changes created, unless they contain anything, and no others.
func TestUndoRemovesCreatedDirectories(t *testing.T) {
	u := newUndoTest(t, map[string]string{"keep/x.md": "x\n"})
	dirs := func(when string, want ...string) {
		t.Helper()
		var got []string
		for range 200 { // the old file is removed a moment later
			got = nil
			must(t, filepath.WalkDir(u.w.Vault.Dir, func(path string, d fs.DirEntry, err error) error {
				if err == nil && d.IsDir() && path != u.w.Vault.Dir {
					got = append(got, strings.TrimPrefix(path, u.w.Vault.Dir+"/"))
				}
				if errors.Is(err, fs.ErrNotExist) {
					return nil
				}
				return err
			}))
			if slices.Equal(got, want) {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
		t.Fatalf("%s: directories %q, want %q", when, got, want)
	}
	must(t, os.Mkdir(filepath.Join(u.w.Vault.Dir, "mine"), 0o700))
	created := u.write("", "mine/a/b/one.md", "1\n")
	dirs("created", "keep", "mine", "mine/a", "mine/a/b")
	undone := u.undo(created)
	dirs("undo", "keep", "mine")
	again := u.undo(undone[0].By)
	dirs("undo of the undo", "keep", "mine", "mine/a", "mine/a/b")
	u.undo(again[0].By)
	dirs("third undo", "keep", "mine")

	removed := u.remove("keep/x.md")
	u.undo(removed)
	other := u.write("", "keep/y.md", "y\n")
	u.undo(other)
	u.want("in an old directory", map[string]string{"keep/x.md": "x\n"})
	dirs("in an old directory", "keep", "mine")

	created = u.write("", "a/one.md", "1\n")
	u.saveAsUser("a/.hidden", "mine")
	u.undo(created)
	u.write("g", "b/c/1.md", "1\n")
	u.write("g", "b/2.md", "2\n")
	u.undo(u.write("g", "b/c/3.md", "3\n"))
	dirs("undo of a group", "a", "keep", "mine")

	u.undo(u.move("keep/x.md", "_archive/keep/x.md"))
	dirs("undo of a move", "a", "keep", "mine")
	first, second := contentChange("d/1.md", "1\n"), contentChange("d/e/2.md", "2\n")
	first.Group, second.Group = "all", "all"
	must(t, errors.Join(u.w.WriteAll(t.Context(), []Change{first, second})...))
	dirs("created together", "a", "d", "d/e", "keep", "mine")
	u.UndoSince(t.Context(), time.Time{}, func(r *journal.Record) bool { return r.Group == "all" }, false)
	dirs("undo of files created together", "a", "keep", "mine")
}
