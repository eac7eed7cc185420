package vault

import (
	"errors"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// exhaust leaves the process the given number of file descriptors until release
// is called.
func exhaust(t *testing.T, left int) (release func()) {
	t.Helper()
	var limit unix.Rlimit
	must(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	fd, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	must(t, err)
	few := limit
	few.Cur = uint64(fd + 32)
	must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &few))
	open := []int{fd}
	for err == nil {
		fd, err = unix.FcntlInt(uintptr(open[0]), unix.F_DUPFD_CLOEXEC, 0)
		if err == nil {
			open = append(open, fd)
		}
	}
	for range left {
		unix.Close(open[len(open)-1])
		open = open[:len(open)-1]
	}
	release = sync.OnceFunc(func() {
		for _, fd := range open {
			unix.Close(fd)
		}
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(release)
	return release
}

// TestTooManyOpenFiles checks that too many open files do not make any file
// appear absent, nor part of the root appear to be all of it.
func TestTooManyOpenFiles(t *testing.T) {
	v := newVault(t, map[string]string{"a.md": "a", "d/b.md": "b", "d/e/c.md": "c"})
	for _, left := range []int{0, 1} {
		release := exhaust(t, left)
		if tree, err := v.Walk(t.Context(), "", nil); err == nil && len(tree.Files) != 3 || err != nil && (!errors.Is(err, ErrRoot) || !errors.Is(err, unix.EMFILE)) {
			t.Errorf("with %d to open, a walk: %+v, %v", left, tree, err)
		}
		if _, err := v.Stat("d/e/c.md"); err != nil && (Absent(err) || !errors.Is(err, unix.EMFILE)) {
			t.Errorf("with %d to open: %v", left, err)
		}
		if _, ok := v.Directory("d/e"); !ok {
			t.Errorf("with %d to open, a directory is taken for gone", left)
		}
		release()
		if tree, err := v.Walk(t.Context(), "", nil); err != nil || len(tree.Files) != 3 {
			t.Errorf("afterwards: %+v, %v", tree, err)
		}
	}
}

// TestFewerOpenFiles checks that opening is retried until file descriptors are
// available.
func TestFewerOpenFiles(t *testing.T) {
	v := newVault(t, map[string]string{"d/b.md": "b"})
	release := exhaust(t, 0)
	time.AfterFunc(retryTime/4, release)
	if f, err := v.Read("d/b.md"); err != nil || string(f.Data) != "b" {
		t.Errorf("%q, %v", f.Data, err)
	}
}
