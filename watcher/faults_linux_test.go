package watcher_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// inNamespace calls test in a new process with its own limits and mounts, to isolate
// it from the machine and from other tests.
func inNamespace(t *testing.T, test func(r *rig)) {
	t.Helper()
	if os.Getenv("WATCHER_TEST_ALONE") == t.Name() {
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			t.Skipf("no mounts of our own here: %v", err)
		}
		test(newRig(t))
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), "WATCHER_TEST_ALONE="+t.Name())
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		t.Errorf("alone: %v\n%s", err, out)
	case err != nil:
		t.Skipf("no user namespaces here: %v", err)
	case strings.Contains(string(out), "--- SKIP"):
		t.Skipf("alone:\n%s", out)
	}
}

// setLimit sets a limit of the process's own namespace.
func setLimit(t *testing.T, name string, n int) {
	t.Helper()
	if err := os.WriteFile("/proc/sys/user/"+name, fmt.Append(nil, n), 0o644); err != nil {
		t.Skipf("no limits of our own here: %v", err)
	}
}

func (r *rig) mount(from, to string) {
	r.t.Helper()
	r.must(os.MkdirAll(from, 0o700))
	r.must(os.MkdirAll(to, 0o700))
	r.must(unix.Mount(from, to, "", unix.MS_BIND, ""))
	r.t.Cleanup(func() { unix.Unmount(to, unix.MNT_DETACH) })
}

// unmount fails if a process keeps a directory of the file system open.
func (r *rig) unmount(at string) {
	r.t.Helper()
	r.eventually("unmounted", func() bool { return unix.Unmount(at, 0) == nil }) // a walk may be in progress
}

// TestTooManyDirectories checks that directories that cannot be watched are
// polled, and reported as long as the problem lasts.
func TestTooManyDirectories(t *testing.T) {
	inNamespace(t, func(r *rig) {
		setLimit(t, "max_inotify_watches", 10)
		for i := range 30 {
			r.write(fmt.Sprintf("d%02d/e/x.md", i), "x")
		}
		r.start()
		s := r.Status()
		if len(s.Polled) == 0 || s.Directories > 10 || len(s.Warnings) != 1 || !strings.Contains(s.Warnings[0], "fs.inotify.max_user_watches") {
			t.Fatalf("status %+v", s)
		}
		r.wantDisk()
		for i := range 30 {
			r.write(fmt.Sprintf("d%02d/e/x.md", i), "y")
			r.write(fmt.Sprintf("d%02d/f/y.md", i), "y")
		}
		r.sync()
		r.wantDisk()
		r.write("d29/e/x.md", "without a sync")
		r.waitContent("d29/e/x.md", "without a sync")
		r.rescan()
		r.wantLogged("WARN cannot watch a directory, polling", 1)

		setLimit(t, "max_inotify_watches", 1000)
		r.rescan()
		r.wantHealthy()
		if s := r.Status(); s.Directories != 91 {
			t.Errorf("%d directories are watched, want 91", s.Directories)
		}
		r.write("d29/e/x.md", "z")
		r.sync()
		r.wantDisk()
	})
}

// TestNoNotifier checks that everything is polled if there is no notifier.
func TestNoNotifier(t *testing.T) {
	inNamespace(t, func(r *rig) {
		setLimit(t, "max_inotify_instances", 0)
		r.write("d/x.md", "x")
		r.start()
		if s := r.Status(); len(s.Polled) != 1 || s.Polled[0].Path != "" || s.Directories != 0 || len(s.Warnings) != 1 ||
			!strings.Contains(s.Warnings[0], "fs.inotify.max_user_instances") {
			t.Fatalf("status %+v", s)
		}
		r.save("d/x.md", "with a sync")
		r.write("d/new/x.md", "without")
		r.waitContent("d/new/x.md", "without")

		setLimit(t, "max_inotify_instances", 100)
		r.rescan()
		r.wantHealthy()
		r.save("d/x.md", "watched")
		if s := r.Status(); s.Directories != 3 {
			t.Errorf("%d directories are watched, want 3", s.Directories)
		}
	})
}

// TestUnmountedRoot checks that the disk of the root can be unmounted and that
// its files stay known.
func TestUnmountedRoot(t *testing.T) {
	inNamespace(t, func(r *rig) {
		disk := r.dir + "/disk"
		r.mount(disk, r.root)
		known := r.fill("d", 40)
		r.start()
		for i := range 3 {
			r.unmount(r.root)
			r.eventually("held", func() bool { return r.Status().Held == 40 })
			r.sync()
			if known() != 40 {
				t.Errorf("%d are known, want 40", known())
			}
			r.mount(disk, r.root)
			r.save("d/000.md", fmt.Sprint("round ", i))
			r.wantDisk()
			r.wantHealthy()
		}
	})
}

// TestMountedTwice checks that a directory mounted at two paths is watched at
// one and polled at the other.
func TestMountedTwice(t *testing.T) {
	inNamespace(t, func(r *rig) {
		r.write("a/d/x.md", "x")
		r.mount(r.path("a"), r.path("b"))
		r.start()
		for range 2 {
			if s := r.Status(); len(s.Polled) == 0 || !strings.Contains(s.Polled[0].Reason, "same directory as") {
				t.Errorf("status %+v", s)
			}
			for i, path := range []string{"a/d/x.md", "b/d/x.md", "a/d/new/y.md", "b/y.md"} {
				r.write(path, fmt.Sprint("version ", i))
				r.sync()
				r.wantDisk()
			}
			r.must(os.RemoveAll(r.path("a/d/new")))
			r.rescan()
		}
	})
}
