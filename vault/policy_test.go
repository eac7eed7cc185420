package vault

import (
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestRefusedFiles(t *testing.T) {
	w := newWriter(t, map[string]string{
		"linked.md": "old", "read-only.md": "old", "latin.md": "old \xe9", "large.md": "old" + strings.Repeat("x", 100),
		"grows.md": "old", "real.md": "old", "d/a.md": "old", "text.txt": "old", ".git/config.md": "old",
		"conflict.md": "old\n<<<<<<< ours\none\n=======\r\ntwo\n>>>>>>> theirs\n", "other.md": "old",
		"quoted.md": "old\n=======\n>>>>>>> not a conflict\n<<<<<<< text\n",
	})
	w.MaxSize = 100
	name := func(path string) string { return filepath.Join(w.Vault.Dir, path) }
	must(t, os.Link(name("linked.md"), name("second.md")))
	must(t, os.Chmod(name("read-only.md"), 0o400))
	must(t, os.Symlink("real.md", name("link.md")))
	must(t, os.Symlink("d", name("dir")))
	must(t, unix.Mkfifo(name("pipe.md"), 0o600))
	must(t, os.Mkdir(name("folder.md"), 0o700))
	want := map[string]string{
		"linked.md": "2 hard links", "second.md": "2 hard links", "read-only.md": "chmod u+w", "latin.md": "UTF-8", "large.md": "split the file",
		"grows.md": "would have", "link.md": "symbolic link", "dir/a.md": "symbolic link", "pipe.md": "not a regular file",
		"folder.md": "not a regular file", "text.txt": "not a Markdown file", ".git/config.md": "hidden directory", "../a.md": "not a path",
		"conflict.md": "resolve the conflict",
	}
	if os.Geteuid() == 0 {
		must(t, os.Chown(name("other.md"), 12345, 12345))
		want["other.md"] = "belongs to user 12345"
	}
	before := func(path string) string { data, _ := os.ReadFile(name(path)); return string(data) }
	for path, want := range want {
		for _, asked := range []bool{true, false} {
			c := newChange(path, "old", "new")
			c.Requested = asked
			if path == "grows.md" {
				c = newChange(path, "old", strings.Repeat("x", 101))
			}
			old := ""
			if path != "pipe.md" {
				old = before(path)
			}
			_, err := w.Write(t.Context(), c)
			var refused *RefusedError
			if !errors.As(err, &refused) || !strings.Contains(refused.Reason, want) || refused.Path != path || strings.Count(err.Error(), path) != 1 {
				t.Errorf("%s: %v, want %q", path, err, want)
			}
			if path != "pipe.md" && before(path) != old {
				t.Errorf("%s was changed", path)
			}
			// A change without effect is not refused.
			if path == "linked.md" {
				if _, err := w.Write(t.Context(), newChange(path, "nothing", "of this")); err != nil {
					t.Errorf("%s: nothing to do: %v", path, err)
				}
			}
		}
	}
	if _, err := w.Write(t.Context(), newChange("real.md", "old", "\xff")); err == nil {
		t.Error("what is not UTF-8 is written")
	}
	if _, err := w.Write(t.Context(), newChange("quoted.md", "old", "new")); err != nil {
		t.Error(err)
	}
	s := w.Status()
	// The list omits linked.md, whose last change had no effect, and the three
	// paths outside memory; it contains real.md.
	if len(s.Refused) != len(want)-1-3+1 {
		t.Errorf("%d are listed as refused: %v", len(s.Refused), s.Refused)
	}
	// Any change of the file allows a new attempt.
	must(t, os.Remove(name("second.md")))
	if got, err := w.Write(t.Context(), newChange("linked.md", "old", "new")); err != nil || !got.Changed {
		t.Errorf("when it has one name only: %v", err)
	}
	must(t, os.WriteFile(name("conflict.md"), []byte("resolved"), 0o600))
	if _, err := w.Vault.Observe("conflict.md"); err != nil {
		t.Error(err)
	}
	for _, r := range w.Status().Refused {
		if r.Path == "linked.md" || r.Path == "conflict.md" {
			t.Errorf("still listed as refused: %v", r)
		}
	}
	w.settleAll(t)
	must(t, filepath.WalkDir(w.Vault.Dir, func(name string, e os.DirEntry, err error) error {
		if strings.HasPrefix(e.Name(), tempPrefix) {
			t.Errorf("left over: %s", name)
		}
		return err
	}))
}

// wantWait checks that an automatic change has to wait and an asked one does not.
// It then reverses the asked change.
func wantWait(t *testing.T, w *Writer, what string) {
	t.Helper()
	var wait *WaitError
	_, err := w.Write(t.Context(), unrequestedChange("d/a.md", "old", "new"))
	if !errors.As(err, &wait) || wait.Path != "d/a.md" || wait.For <= 0 || !strings.Contains(err.Error(), what) {
		t.Errorf("%v, want %q", err, what)
	}
	if s := w.Status(); len(s.Waiting) != 1 || s.Waiting[0].Path != "d/a.md" {
		t.Errorf("waiting: %v", s.Waiting)
	}
	for _, c := range []Change{newChange("d/a.md", "old", "new"), newChange("d/a.md", "new", "old")} {
		if got, err := w.Write(t.Context(), c); err != nil || !got.Changed {
			t.Errorf("%s, and asked: %v", what, err)
		}
	}
}

func wantNoWait(t *testing.T, w *Writer, when string) {
	t.Helper()
	for _, c := range []Change{unrequestedChange("d/a.md", "old", "new"), unrequestedChange("d/a.md", "new", "old")} {
		if got, err := w.Write(t.Context(), c); err != nil || !got.Changed {
			t.Errorf("%s: %v", when, err)
		}
	}
	if s := w.Status(); len(s.Waiting) != 0 {
		t.Errorf("%s: waiting: %v", when, s.Waiting)
	}
}

// swapFile returns a swap file in vim's format.
func swapFile(pid int, host string) []byte {
	block := make([]byte, 4096)
	copy(block, "b0VIM 9.0")
	binary.LittleEndian.PutUint32(block[24:], uint32(pid))
	copy(block[28:], "alice")
	copy(block[68:], host)
	return block
}

func TestSomebodyIsEditing(t *testing.T) {
	host, err := os.Hostname()
	must(t, err)
	gone := exec.Command(os.Args[0], "-test.run=^$")
	must(t, gone.Run())
	self, dead := os.Getpid(), gone.Process.Pid
	file := func(name, text string) func(string) error {
		return func(dir string) error {
			must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
			return os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)
		}
	}
	link := func(name, target string) func(string) error {
		return func(dir string) error { return os.Symlink(target, filepath.Join(dir, name)) }
	}
	for _, test := range []struct {
		name string
		make func(root string) error
		want string // "" if the file has no effect
	}{
		{"vim", file("d/.a.md.swp", string(swapFile(self, host))), "vim"},
		{"a vim that is gone", file("d/.a.md.swp", string(swapFile(dead, host))), ""},
		{"a vim elsewhere", file("d/.a.md.swp", string(swapFile(dead, host+"-2"))), "vim"},
		{"a vim that begins", file("d/.a.md.swp", ""), "vim"},
		{"vim with another file", file("d/.b.md.swp", string(swapFile(self, host))), ""},
		{"Emacs", link("d/.#a.md", "alice@host.12:1790000000"), "Emacs"},
		{"autosaved", file("d/#a.md#", "older"), "Emacs"},
		{"git is running", file(".git/index.lock", ""), "git is running"},
		{"a repository", file(".git/HEAD", "ref: refs/heads/main\n"), ""},
		{"a rebase", file(".git/rebase-merge/done", ""), "rebase"},
		{"a rebase of patches", file("d/.git/rebase-apply/next", ""), "rebase"},
		{"a merge", file(".git/MERGE_HEAD", "0"), "merge"},
		{"a merge above the root", file("../.git/MERGE_HEAD", "0"), "merge"},
		{"a merge beyond a repository", func(dir string) error {
			must(t, file("../.git/MERGE_HEAD", "0")(dir))
			return file(".git/HEAD", "")(dir)
		}, ""},
		{"a further working tree", func(dir string) error {
			must(t, file("../main/.git/worktrees/x/MERGE_HEAD", "0")(dir))
			return file(".git", "gitdir: ../main/.git/worktrees/x\n")(dir)
		}, "merge"},
		{"a pipe in its place", func(dir string) error {
			must(t, unix.Mkfifo(filepath.Join(dir, ".git"), 0o600))
			return unix.Mkfifo(filepath.Join(dir, "d/.a.md.swp"), 0o600)
		}, "vim"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWriter(t, map[string]string{"d/a.md": "old"})
			must(t, test.make(w.Vault.Dir))
			if test.want == "" {
				wantNoWait(t, w, test.name)
				return
			}
			wantWait(t, w, test.want)
			if strings.Contains(test.want, "merge") || test.want == "rebase" {
				return // a merge or rebase never becomes stale
			}
			// A sign of this age is stale.
			w.Now = func() time.Time { return time.Now().Add(staleAge + time.Minute) }
			wantNoWait(t, w, "a day later")
		})
	}
}

// TestQuiet checks that a file recently changed by another program is left
// alone. This writer's own changes and times of other clocks do not affect
// the delay.
func TestQuiet(t *testing.T) {
	now := time.Now()
	newQuiet := func(t *testing.T) *Writer {
		w := newWriter(t, map[string]string{"d/a.md": "old"})
		w.Quiet = 10 * time.Second
		w.Now = func() time.Time { return now }
		return w
	}
	t.Run("others", func(t *testing.T) {
		w := newQuiet(t)
		now = time.Now()
		_, err := w.Write(t.Context(), unrequestedChange("d/a.md", "old", "new"))
		var wait *WaitError
		if !errors.As(err, &wait) || wait.For < 8*time.Second || wait.For > 10*time.Second {
			t.Fatalf("%v", err)
		}
		// An asked change in between does not affect the delay.
		if _, err := w.Write(t.Context(), newChange("d/a.md", "old", "older, old")); err != nil {
			t.Error(err)
		}
		now = now.Add(wait.For - 100*time.Millisecond)
		wantWait(t, w, "a moment ago")
		now = now.Add(200 * time.Millisecond)
		wantNoWait(t, w, "after that time")
		writeFile(t, w.Vault, "d/a.md", "old and saved again")
		now = time.Now().Add(time.Second)
		wantWait(t, w, "a moment ago")
	})
	t.Run("only the times of the file are changed", func(t *testing.T) {
		w := newQuiet(t)
		past := time.Now().Add(-time.Hour)
		must(t, os.Chtimes(filepath.Join(w.Vault.Dir, "d/a.md"), past, past))
		now = time.Now().Add(5 * time.Second) // as after restoring a backup
		wantWait(t, w, "a moment ago")
	})
	t.Run("a time in the future", func(t *testing.T) {
		w := newQuiet(t)
		future := time.Now().Add(1000 * time.Hour)
		must(t, os.Chtimes(filepath.Join(w.Vault.Dir, "d/a.md"), future, future))
		now = time.Now().Add(5 * time.Second)
		wantWait(t, w, "a moment ago")
		now = time.Now().Add(11 * time.Second)
		wantNoWait(t, w, "of another clock")
	})
}

func TestFuse(t *testing.T) {
	w := newWriter(t, map[string]string{"d/a.md": "count: 0\n", "b.md": "count: 0\n"})
	now := time.Now()
	w.MaxChangesPerMinute, w.Now = 3, func() time.Time { return now }
	for n := range 3 {
		if _, err := w.Write(t.Context(), countingChange("d/a.md", false)); err != nil {
			t.Fatalf("%d: %v", n, err)
		}
	}
	var refused *RefusedError
	for range 2 {
		if _, err := w.Write(t.Context(), countingChange("d/a.md", false)); !errors.As(err, &refused) || !strings.Contains(err.Error(), "too often") {
			t.Errorf("the fourth time in a minute: %v", err)
		}
		now = now.Add(2 * time.Minute)
	}
	for _, c := range []Change{countingChange("b.md", false), countingChange("d/a.md", true)} {
		if _, err := w.Write(t.Context(), c); err != nil {
			t.Errorf("another file, and what is asked for: %v", err)
		}
	}
	now = now.Add(ratePause)
	for n := range 9 {
		if _, err := w.Write(t.Context(), countingChange("d/a.md", false)); err != nil {
			t.Errorf("an hour later, the %d. time: %v", n, err)
		}
		now = now.Add(25 * time.Second)
	}
}

func TestTurnedOff(t *testing.T) {
	w := newWriter(t, map[string]string{"d/a.md": "old"})
	on := false
	w.Enabled = func() bool { return on }
	if _, err := w.Write(t.Context(), unrequestedChange("d/a.md", "old", "new")); !errors.Is(err, ErrOff) {
		t.Error(err)
	}
	if _, err := w.Move(t.Context(), "d/a.md", "b.md", unrequestedChange("", "", "")); !errors.Is(err, ErrOff) {
		t.Error(err)
	}
	wantFiles(t, w, map[string]string{"d/a.md": "old"})
	if _, err := w.Write(t.Context(), newChange("d/a.md", "old", "asked")); err != nil {
		t.Error(err)
	}
	on = true
	if _, err := w.Write(t.Context(), unrequestedChange("d/a.md", "asked", "new")); err != nil {
		t.Error(err)
	}
}
