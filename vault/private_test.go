package vault

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestPrivateDir(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "state")
	for range 2 {
		must(t, PrivateDir(dir))
	}
	mode := func(name string) os.FileMode {
		st, err := os.Stat(name)
		must(t, err)
		return st.Mode().Perm()
	}
	if got := mode(dir); got != 0o700 {
		t.Errorf("directory has mode %o", got)
	}
	if got := mode(filepath.Dir(dir)); got != 0o700 {
		t.Errorf("directory above has mode %o", got)
	}
	tag := filepath.Join(dir, "CACHEDIR.TAG")
	if text, err := os.ReadFile(tag); err != nil || !strings.HasPrefix(string(text), "Signature: 8a477f597d28d172789f06886806bc55\n") || mode(tag) != 0o600 {
		t.Errorf("tag is %q, %v", text, err)
	}
	// Files that others could only read become private.
	open := filepath.Join(dir, "catalogue")
	must(t, os.WriteFile(open, nil, 0o600))
	must(t, os.Chmod(open, 0o644))
	must(t, os.Chmod(dir, 0o755))
	must(t, PrivateDir(dir))
	if mode(dir) != 0o700 || mode(open) != 0o600 {
		t.Errorf("modes are %o and %o", mode(dir), mode(open))
	}
}

func TestPrivateDirRefuses(t *testing.T) {
	base := t.TempDir()
	at := func(name string) string { return filepath.Join(base, name) }
	for _, d := range []string{"writable", "own", "with-file", "others"} {
		must(t, os.Mkdir(at(d), 0o700))
	}
	must(t, os.Chmod(at("writable"), 0o770))
	must(t, os.Symlink("own", at("link")))
	must(t, os.WriteFile(at("file"), nil, 0o600))
	must(t, os.WriteFile(at("with-file/x"), nil, 0o600))
	must(t, os.Chmod(at("with-file/x"), 0o602))
	want := map[string]string{
		"writable":  "writable by other users (mode 0770)",
		"link":      "symbolic link; use the path of the directory itself",
		"file":      "not a directory",
		"with-file": "with-file/x: writable by other users (mode 0602)",
	}
	if os.Geteuid() == 0 {
		must(t, os.Chown(at("others"), 12345, 12345))
		want["others"] = "belongs to user 12345"
	}
	for name, want := range want {
		if err := PrivateDir(at(name)); err == nil || !strings.Contains(err.Error(), want) || strings.Count(err.Error(), at(name)) != 1 {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

// TestMain runs the test binary as another process, which holds a lock or
// changes files, or runs the tests and checks that they leave no goroutines.
func TestMain(m *testing.M) {
	ExchangeLeaseTime = time.Minute // the machine may be busy
	if path := os.Getenv("VAULT_TEST_LOCK"); path != "" {
		_, err := AcquireLock(path, Holder{PID: os.Getpid(), Socket: "/run/x.sock"})
		fmt.Println(err)
		select {} // until killed
	}
	if os.Getenv("VAULT_TEST_WRITER") != "" {
		writeUntilKilled()
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

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
