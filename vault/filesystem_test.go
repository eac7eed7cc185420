package vault

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestFileSystemOf(t *testing.T) {
	dir := t.TempDir()
	got, err := FileSystemOf(dir)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil || got.Name == "" {
		t.Errorf("the file system of %s is %+v, %v", dir, got, err)
	}
	if _, err := FileSystemOf(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file system of a directory that is not there: %v", err)
	}
}

func TestReadHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	if who, held := ReadHolder(path); held || who != (Holder{}) {
		t.Errorf("without a file: %+v, %v", who, held)
	}
	me := Holder{PID: os.Getpid(), Socket: "/run/s"}
	lock, err := AcquireLock(path, me)
	must(t, err)
	if who, held := ReadHolder(path); !held || who != me {
		t.Errorf("held: %+v, %v", who, held)
	}
	must(t, lock.Close())
	if who, held := ReadHolder(path); held || who != (Holder{}) {
		t.Errorf("given up: %+v, %v", who, held)
	}
	for text, want := range map[string]bool{
		`{"pid": 999999999}`: false, // the process was killed
		`{"pid": -1}`:        false, // would be all processes
		`{"pid"`:             false,
		`{"pid": 1}`:         true,
	} {
		must(t, os.WriteFile(path, []byte(text), 0o600))
		if _, held := ReadHolder(path); held != want {
			t.Errorf("%s: held %v, want %v", text, held, want)
		}
	}
}

// TestVersioned checks the detection of git operations from any directory of
// the working tree.
func TestVersioned(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	below := filepath.Join(top, "notes", "memory")
	must(t, os.MkdirAll(below, 0o700))
	now := time.Now()
	if git, _ := FindGitDir(below, now); git != "" {
		t.Skipf("all temporary files are in the git repository %s", git)
	}
	dot := filepath.Join(top, ".git")
	must(t, os.Mkdir(dot, 0o700))
	if git, busy := FindGitDir(below, now); git != dot || busy != "" {
		t.Errorf("at rest: %q, %q", git, busy)
	}
	must(t, os.WriteFile(filepath.Join(dot, "MERGE_HEAD"), nil, 0o600))
	if git, busy := FindGitDir(below, now); git != dot || busy != "a git merge is in progress" {
		t.Errorf("in a merge: %q, %q", git, busy)
	}
	for _, name := range []string{"HEAD", "index", "index.lock"} {
		before := time.Now().Add(-time.Hour)
		path := filepath.Join(dot, name)
		if GitChanged(below, before) {
			t.Errorf("git has changed files before it writes %s", name)
		}
		must(t, os.WriteFile(path, nil, 0o600))
		if !GitChanged(below, before) || GitChanged(below, time.Now().Add(time.Hour)) {
			t.Errorf("git has written %s, but not changed files in that time", name)
		}
		must(t, os.Remove(path))
	}
}
