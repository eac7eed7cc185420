package vault

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// changeKinds are the kinds of changes, each with the files before and after.
var changeKinds = []struct {
	name          string
	before, after map[string]string
	do            func(ctx context.Context, w *Writer) (Written, error)
}{
	{
		"write", map[string]string{"d/a.md": "- [ ] one\n"}, map[string]string{"d/a.md": "- [x] one\n"},
		func(ctx context.Context, w *Writer) (Written, error) {
			return w.Write(ctx, newChange("d/a.md", "[ ]", "[x]"))
		},
	},
	{
		"create", map[string]string{"b.md": "b"}, map[string]string{"b.md": "b", "x/y/a.md": "new\n"},
		func(ctx context.Context, w *Writer) (Written, error) {
			return w.Write(ctx, newChange("x/y/a.md", "old", "new\n"))
		},
	},
	{
		"move", map[string]string{"d/a.md": "one\n"}, map[string]string{"x/y/a.md": "one\n"},
		func(ctx context.Context, w *Writer) (Written, error) {
			return w.Move(ctx, "d/a.md", "x/y/a.md", Change{Cause: "move", Requested: true})
		},
	},
	{
		"remove", map[string]string{"d/a.md": "one\n", "b.md": "b"}, map[string]string{"b.md": "b"},
		func(ctx context.Context, w *Writer) (Written, error) { return w.Write(ctx, removalChange("d/a.md")) },
	},
}

// TestEachStepFails injects a failure at each step of each kind of change. The
// change must be made entirely or not at all, as the result reports; no files
// may be left over; and the next attempt must succeed.
func TestEachStepFails(t *testing.T) {
	for _, deed := range changeKinds {
		for _, errno := range []unix.Errno{unix.ENOSPC, unix.EIO, unix.EROFS, unix.EINTR} {
			for _, how := range []string{"once", "once, afterwards", "from then on"} {
				if errno == unix.EINTR && how == "from then on" {
					continue // signals end
				}
				t.Run(fmt.Sprintf("%s, %s, %s", deed.name, unix.ErrnoName(errno), how), func(t *testing.T) {
					t.Parallel()
					var calls []string
					w := newWriter(t, deed.before)
					w.fault = func(call string, do func() error) error { calls = append(calls, call); return do() }
					_, err := deed.do(t.Context(), w)
					must(t, err)
					// Up to the last directory sync, every failure must be
					// reported.
					lasts := 0
					for i, call := range calls {
						if call == "sync directory" {
							lasts = i + 1
						}
					}
					for n := 1; ; n++ {
						w := newWriter(t, deed.before)
						calls = nil
						w.fault = func(call string, do func() error) error {
							calls = append(calls, call)
							switch {
							case len(calls) < n, how != "from then on" && len(calls) > n:
								return do()
							case how == "once, afterwards" && errno != unix.EINTR:
								do()
							}
							return errno
						}
						got, err := deed.do(t.Context(), w)
						if len(calls) < n {
							w.settleLeftovers()
						}
						w.fault = nil
						if len(calls) < n {
							must(t, err)
							return
						}
						at := fmt.Sprintf("%d., %s: %v", n, calls[n-1], err)
						if errno == unix.EINTR && err != nil {
							t.Errorf("%s: a signal is no reason", at)
						}
						_, made := w.Vault.Directory("x")
						if err != nil && how != "from then on" && (!hasExactly(w, deed.before) || made) {
							t.Errorf("%s: something has happened", at)
						}
						if err == nil && n <= lasts && how == "once" && errno != unix.EINTR {
							t.Errorf("%s: it is not told", at)
						}
						if err == nil && (!got.Changed || !hasExactly(w, deed.after)) {
							t.Errorf("%s: nothing has happened", at)
						}
						if err != nil && !strings.Contains(err.Error(), errno.Error()) {
							t.Errorf("%s: the reason is not told", at)
						}
						if err != nil {
							if _, err := deed.do(t.Context(), w); err != nil && !hasExactly(w, deed.after) {
								t.Errorf("%s: afterwards: %v", at, err)
							}
						}
						wantFiles(t, w, deed.after)
						wantRecords(t, w, 1)
						if t.Failed() {
							t.Log(at)
							return
						}
					}
				})
			}
		}
	}
}

// hasExactly reports whether exactly the given memory files exist. Temporary files may
// remain.
func hasExactly(w *Writer, files map[string]string) bool {
	tree, err := w.Vault.walkTree(context.Background(), "", nil)
	got := map[string]string{}
	for i := 0; err == nil && i < len(tree.Files); i++ {
		data, _ := os.ReadFile(w.Vault.name(tree.Files[i].Path))
		got[tree.Files[i].Path] = string(data)
	}
	return err == nil && maps.Equal(got, files)
}

// TestNoChangeWithoutJournal checks that no change is made while the journal is
// not writable.
func TestNoChangeWithoutJournal(t *testing.T) {
	for _, deed := range changeKinds {
		v := newVault(t, deed.before)
		dir := filepath.Join(t.TempDir(), "journal")
		w := writerOn(t, v, dir)
		must(t, os.Rename(dir, dir+"~"))
		if _, err := deed.do(t.Context(), w); err == nil || !strings.Contains(err.Error(), "journal") {
			t.Errorf("%s: %v", deed.name, err)
		}
		wantFiles(t, w, deed.before)
		if s := w.Status(); len(s.Refused) > 0 {
			t.Errorf("%s: the file is said to be refused: %v", deed.name, s.Refused)
		}
		must(t, os.Rename(dir+"~", dir))
		if _, err := deed.do(t.Context(), w); err != nil {
			t.Errorf("%s, afterwards: %v", deed.name, err)
		}
		wantFiles(t, w, deed.after)
	}
}

// TestJournalFailsAtTheEnd checks that a change that the journal cannot
// complete is resolved later.
func TestJournalFailsAtTheEnd(t *testing.T) {
	v := newVault(t, map[string]string{"a.md": "- [ ] one\n"})
	dir := filepath.Join(t.TempDir(), "journal")
	w := writerOn(t, v, dir)
	w.fault = func(call string, do func() error) error {
		err := do()
		if call == "exchange" {
			must(t, os.Rename(dir, dir+"~"))
		}
		return err
	}
	got, err := w.Write(t.Context(), newChange("a.md", "[ ]", "[x]"))
	if err != nil || !got.Changed {
		t.Errorf("%+v, %v", got, err)
	}
	must(t, os.Rename(dir+"~", dir))
	wantFiles(t, w, map[string]string{"a.md": "- [x] one\n"})
	wantRecords(t, w, 1)
}
