package vault

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
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
	if !errors.As(err, &locked) || locked.Holder != (Holder{PID: cmd.Process.Pid, Socket: "/run/x.sock"}) {
		t.Fatalf("taking a lock that is held: %v", err)
	}
	want := fmt.Sprintf("lock %s: held by process %d, which answers at /run/x.sock", path, cmd.Process.Pid)
	if err.Error() != want {
		t.Errorf("error is %q, want %q", err, want)
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
}

func TestLockRefuses(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Symlink("file", filepath.Join(dir, "link")))
	for _, name := range []string{"link", "none/lock", "."} {
		if l, err := AcquireLock(filepath.Join(dir, name), Holder{}); err == nil {
			l.Close()
			t.Errorf("took a lock at %s", name)
		}
	}
}
