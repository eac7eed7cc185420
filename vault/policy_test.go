package vault

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
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
	w.Vault.MaxFileSize = 100
	name := w.Vault.name
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
	read := func(path string) string {
		if path == "pipe.md" {
			return ""
		}
		data, _ := os.ReadFile(name(path))
		return string(data)
	}
	for path, want := range want {
		for _, requested := range []bool{true, false} {
			c := newChange(path, "old", "new")
			if path == "grows.md" {
				c = newChange(path, "old", strings.Repeat("x", 101))
			}
			c.Requested = requested
			before := read(path)
			_, err := w.Write(t.Context(), c)
			wantRefusal(t, err, want)
			if strings.Count(err.Error(), path) != 1 || read(path) != before {
				t.Errorf("%s has %q, %v", path, read(path), err)
			}
		}
	}
	w.mustWrite(t, newChange("linked.md", "nothing", "of this")) // without effect, so it is not refused
	w.wantRefused(t, newChange("real.md", "old", "\xff"), "UTF-8")
	w.mustWrite(t, newChange("quoted.md", "old", "new"))
	s := w.Status()
	// The list omits linked.md, whose last change had no effect, and the three
	// paths outside memory; it contains real.md.
	if len(s.Refused) != len(want)-1-3+1 {
		t.Errorf("%d are listed as refused: %v", len(s.Refused), s.Refused)
	}
	// Any change of the file allows a new attempt.
	must(t, os.Remove(name("second.md")))
	w.mustWrite(t, newChange("linked.md", "old", "new"))
	writeFile(t, w.Vault, "conflict.md", "resolved")
	must(t, second(w.Vault.Observe("conflict.md")))
	for _, r := range w.Status().Refused {
		if r.Path == "linked.md" || r.Path == "conflict.md" {
			t.Errorf("still listed as refused: %v", r)
		}
	}
	must(t, os.Remove(name("pipe.md")))
	must(t, os.Remove(name("dir")))
	for path := range w.readTestTree(t) {
		if strings.Contains(path, tempPrefix) {
			t.Errorf("left over: %s", path)
		}
	}
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
	w.mustWrite(t, newChange("d/a.md", "old", "new"), newChange("d/a.md", "new", "old"))
}

func wantNoWait(t *testing.T, w *Writer, when string) {
	t.Helper()
	w.mustWrite(t, unrequestedChange("d/a.md", "old", "new"), unrequestedChange("d/a.md", "new", "old"))
	if s := w.Status(); len(s.Waiting) != 0 {
		t.Errorf("%s: waiting: %v", when, s.Waiting)
	}
}

// swapFile returns a swap file in vim's format.
func swapFile(pid int, host string) string {
	block := make([]byte, 4096)
	copy(block, "b0VIM 9.0")
	binary.LittleEndian.PutUint32(block[24:], uint32(pid))
	copy(block[28:], "alice")
	copy(block[68:], host)
	return string(block)
}

func TestSomebodyIsEditing(t *testing.T) {
	host, err := os.Hostname()
	must(t, err)
	gone := exec.Command(os.Args[0], "-test.run=^$")
	must(t, gone.Run())
	self, dead := os.Getpid(), gone.Process.Pid
	for _, test := range []struct {
		name  string
		files map[string]string // with the targets of links after "→", and "|" for a pipe
		want  string            // "" if the files have no effect
	}{
		{"vim", map[string]string{"d/.a.md.swp": swapFile(self, host)}, "vim"},
		{"a vim that is gone", map[string]string{"d/.a.md.swp": swapFile(dead, host)}, ""},
		{"a vim elsewhere", map[string]string{"d/.a.md.swp": swapFile(dead, host+"-2")}, "vim"},
		{"a vim that begins", map[string]string{"d/.a.md.swp": ""}, "vim"},
		{"vim with another file", map[string]string{"d/.b.md.swp": swapFile(self, host)}, ""},
		{"Emacs", map[string]string{"d/.#a.md": "→alice@host.12:1790000000"}, "Emacs"},
		{"autosaved", map[string]string{"d/#a.md#": "older"}, "Emacs"},
		{"git is running", map[string]string{".git/index.lock": ""}, "git is running"},
		{"a repository", map[string]string{".git/HEAD": "ref: refs/heads/main\n"}, ""},
		{"a rebase", map[string]string{".git/rebase-merge/done": ""}, "rebase"},
		{"a rebase of patches", map[string]string{"d/.git/rebase-apply/next": ""}, "rebase"},
		{"a merge", map[string]string{".git/MERGE_HEAD": "0"}, "merge"},
		{"a merge above the root", map[string]string{"../.git/MERGE_HEAD": "0"}, "merge"},
		{"a merge beyond a repository", map[string]string{"../.git/MERGE_HEAD": "0", ".git/HEAD": ""}, ""},
		{"a further working tree", map[string]string{"../main/.git/worktrees/x/MERGE_HEAD": "0",
			".git": "gitdir: ../main/.git/worktrees/x\n"}, "merge"},
		{"pipes", map[string]string{".git": "|", "d/.a.md.swp": "|"}, "vim"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWriter(t, map[string]string{"d/a.md": "old"})
			for path, text := range test.files {
				if target, ok := strings.CutPrefix(text, "→"); ok {
					must(t, os.Symlink(target, w.Vault.name(path)))
				} else if text == "|" {
					must(t, unix.Mkfifo(w.Vault.name(path), 0o600))
				} else {
					writeFile(t, w.Vault, path, text)
				}
			}
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
		w.mustWrite(t, newChange("d/a.md", "old", "older, old")) // does not affect the delay
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
		must(t, os.Chtimes(w.Vault.name("d/a.md"), past, past))
		now = time.Now().Add(5 * time.Second) // as after restoring a backup
		wantWait(t, w, "a moment ago")
	})
	t.Run("a time in the future", func(t *testing.T) {
		w := newQuiet(t)
		future := time.Now().Add(1000 * time.Hour)
		must(t, os.Chtimes(w.Vault.name("d/a.md"), future, future))
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
	automatic := countingChange("d/a.md", false)
	w.mustWrite(t, automatic, automatic, automatic)
	for range 2 {
		w.wantRefused(t, automatic, "too often")
		now = now.Add(2 * time.Minute)
	}
	w.mustWrite(t, countingChange("b.md", false), countingChange("d/a.md", true))
	now = now.Add(ratePause)
	for range 9 {
		w.mustWrite(t, automatic)
		now = now.Add(25 * time.Second)
	}
}

func TestTurnedOff(t *testing.T) {
	w := newWriter(t, map[string]string{"d/a.md": "old"})
	on := false
	w.Enabled = func(_ context.Context, requested bool) error {
		if requested || on {
			return nil
		}
		return ErrOff
	}
	if _, err := w.Write(t.Context(), unrequestedChange("d/a.md", "old", "new")); !errors.Is(err, ErrOff) {
		t.Error(err)
	}
	if _, err := w.Move(t.Context(), "d/a.md", "b.md", unrequestedChange("", "", "")); !errors.Is(err, ErrOff) {
		t.Error(err)
	}
	wantFiles(t, w, map[string]string{"d/a.md": "old"})
	w.mustWrite(t, newChange("d/a.md", "old", "asked"))
	on = true
	w.mustWrite(t, unrequestedChange("d/a.md", "asked", "new"))
}
