package vault

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "VAULT_TEST_LOCK="+path)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill() })
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "<nil>\n" {
		t.Fatalf("the other process could not take the lock: %s, %v", line, err)
	}
	_, err = AcquireLock(path, Holder{PID: 1})
	var locked *LockedError
	want := fmt.Sprintf("lock %s: held by process %d, which answers at /run/x.sock", path, cmd.Process.Pid)
	if !errors.As(err, &locked) || locked.Holder != (Holder{PID: cmd.Process.Pid, Socket: "/run/x.sock"}) || err.Error() != want {
		t.Errorf("taking a lock that is held: %v", err)
	}
	// The file of a killed process does not hold the lock, whatever its
	// content.
	must(t, cmd.Process.Kill())
	cmd.Wait()
	lock, err := AcquireLock(path, Holder{PID: os.Getpid()})
	must(t, err)
	if _, err := AcquireLock(path, Holder{}); !errors.As(err, &locked) || locked.Holder != (Holder{PID: os.Getpid()}) {
		t.Errorf("taking our own lock: %v", err)
	}
	must(t, os.WriteFile(path, []byte("{"), 0o600))
	if _, err := AcquireLock(path, Holder{}); err == nil || err.Error() != "lock "+path+": held by another process" {
		t.Errorf("taking a lock whose file says nothing: %v", err)
	}
	must(t, lock.Close())
	lock, err = AcquireLock(path, Holder{})
	must(t, err)
	must(t, lock.Close())
	must(t, os.Symlink("file", path+"-link"))
	for _, path := range []string{path + "-link", path + "-none/lock", filepath.Dir(path)} {
		if l, err := AcquireLock(path, Holder{}); err == nil {
			l.Close()
			t.Errorf("took a lock at %s", path)
		}
	}
}

func TestReadHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	want := func(who Holder, held bool) {
		t.Helper()
		if got, is := ReadHolder(path); got != who || is != held {
			t.Errorf("%+v, %t, want %+v, %t", got, is, who, held)
		}
	}
	want(Holder{}, false)
	me := Holder{PID: os.Getpid(), Socket: "/run/s"}
	lock, err := AcquireLock(path, me)
	must(t, err)
	want(me, true)
	must(t, lock.Close())
	want(Holder{}, false)
	for text, who := range map[string]Holder{
		`{"pid": 999999999}`: {PID: 999999999}, // the process was killed
		`{"pid": -1}`:        {},               // would be all processes
		`{"pid"`:             {},
		`{"pid": 1}`:         {PID: 1},
	} {
		must(t, os.WriteFile(path, []byte(text), 0o600))
		want(who, who.PID == 1)
	}
}

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
	for _, want := range []string{"", "a git merge is in progress"} {
		if git, busy := FindGitDir(below, now); git != dot || busy != want {
			t.Errorf("%q, %q, want %q", git, busy, want)
		}
		must(t, os.WriteFile(filepath.Join(dot, "MERGE_HEAD"), nil, 0o600))
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
