package watcher_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/internal/disk"
	"github.com/memwatchd/memwatchd/vault"
	"github.com/memwatchd/memwatchd/watcher"
)

// writeWithoutEvent changes a file without an event in the root, through a hard link
// outside it.
func (r *rig) writeWithoutEvent(path, text string) {
	r.t.Helper()
	outside := filepath.Join(r.dir, "other-name")
	if _, err := os.Stat(outside); err != nil {
		r.must(os.Link(r.path(path), outside))
	}
	before, err := os.Stat(outside)
	r.must(err)
	r.must(os.WriteFile(outside, []byte(text), 0o600))
	r.must(os.Chtimes(outside, time.Time{}, before.ModTime())) // as if restored from a backup
}

// TestScanFindsSilentChanges checks that the next scan finds changes without
// events, even if size and time are unchanged.
func TestScanFindsSilentChanges(t *testing.T) {
	r := newRig(t)
	r.write("x.md", "before")
	r.start()
	r.eventually("read at the start", func() bool { return len(r.index.take()) > 0 })
	r.writeWithoutEvent("x.md", "behind")
	r.sync()
	r.want("x.md", "before") // no event arrived; otherwise the test is void
	r.rescan()
	r.want("x.md", "behind")
}

// TestVerify checks that every file is verified at the start, even if it is
// known, and on each request.
func TestVerify(t *testing.T) {
	r := newRig(t)
	r.Watcher.Verify = time.Second
	want := []string{"a.md", "b/c.md"}
	for _, path := range want {
		r.write(path, "text")
		f, err := r.vault.Read(path)
		r.must(err)
		r.index.files[path] = f
	}
	r.start()
	verified := func() bool {
		var got []string
		for _, c := range r.index.take() {
			if c.reason != watcher.Verify {
				t.Errorf("named for %v: %q", c.reason, c.paths)
			}
			got = append(got, c.paths...)
		}
		return slices.Equal(got, want)
	}
	r.eventually("verified at the start", verified)
	r.VerifyNow()
	r.eventually("verified on request", verified)
	r.eventually("verified in time", verified)
}

// A slowDisk blocks event processing while mu is locked.
type slowDisk struct {
	*vault.Vault
	mu sync.RWMutex
}

func (d *slowDisk) Skips(path string, dir bool) string {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.Vault.Skips(path, dir)
}

// TestOverflow checks that after more events than the kernel queues every file
// is found, and that the loss is logged once.
func TestOverflow(t *testing.T) {
	limit, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events")
	if err != nil || strings.TrimSpace(string(limit)) != "16384" {
		t.Skipf("needs a queue of 16384 events: %q, %v", limit, err)
	}
	r := newRig(t)
	disk := &slowDisk{Vault: r.vault}
	r.Disk = disk
	r.write("d/moves/x.md", "x")
	r.start()
	disk.mu.Lock()
	r.write("stop.md", "the first event is held up, and all after it")
	const files = 11000
	for i := range files {
		r.write(fmt.Sprintf("d/%05d.md", i), "x")
	}
	r.rename("d/moves", "moved") // its event is lost
	r.write("moved/y.md", "y")
	done := make(chan struct{})
	go func() { r.sync(); close(done) }() // its cookie is lost
	select {
	case <-done:
		t.Error("a sync has ended while events are lost and nobody has noticed")
	case <-time.After(50 * time.Millisecond):
	}
	disk.mu.Unlock()
	<-done
	if got := r.index.len(); got != files+3 {
		t.Errorf("%d files are known, want %d", got, files+3)
	}
	if s := r.Status(); s.Overflows == 0 {
		t.Errorf("no overflow, so this tests nothing; status %+v", s)
	}
	r.wantLogged("WARN events were lost, scanning all files", 1)
	// Everything is watched as before.
	r.write("moved/y.md", "z")
	r.write("d/new/z.md", "new")
	r.sync()
	r.want("moved/y.md", "z")
	r.want("d/new/z.md", "new")
	r.want("d/moves/x.md", "")
}

func TestSinkFails(t *testing.T) {
	r := newStartedRig(t)
	r.index.use(func() { r.index.fail = errors.New("disk full") })
	r.write("x.md", "x")
	err := r.Sync(t.Context())
	if err == nil || err.Error() != "sync: disk full" {
		t.Errorf("sync: %v, want the sink's error", err)
	}
	for range 3 {
		r.Sync(t.Context())
	}
	r.wantLogged("ERROR cannot process changes, retrying", 1)
	if s := r.Status(); s.Pending != 1 {
		t.Errorf("status %+v, want 1 pending", s)
	}
	r.index.use(func() { r.index.fail = nil })
	r.sync()
	r.want("x.md", "x")
	if s := r.Status(); s.Pending != 0 {
		t.Errorf("status %+v, want none pending", s)
	}
}

func TestSyncEnds(t *testing.T) {
	r := newRig(t)
	ctx, cancel := context.WithCancel(t.Context())
	waiting := make(chan error, 1)
	go func() { waiting <- r.Sync(t.Context()) }() // before Run
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	r.must(<-waiting)
	short, stop := context.WithCancel(t.Context())
	stop()
	r.index.mu.Lock() // the sink blocks
	r.write("x.md", "x")
	if err := r.Sync(short); !errors.Is(err, context.Canceled) {
		t.Errorf("sync past its time: %v", err)
	}
	go func() { waiting <- r.Sync(t.Context()) }()
	cancel()
	r.index.mu.Unlock()
	<-done
	// The sync may or may not have been in time, but it has ended, as does
	// every later one.
	<-waiting
	if err := r.Sync(t.Context()); err == nil || err.Error() != "sync: watcher has stopped" {
		t.Errorf("sync after the end: %v", err)
	}
}

// TestWithoutCookies checks that a sync without cookies compares every file.
func TestWithoutCookies(t *testing.T) {
	for _, kind := range []string{"none", "missing", "file"} {
		t.Run(kind, func(t *testing.T) {
			r := newRig(t)
			r.must(os.Remove(r.CookieDir))
			switch kind {
			case "none":
				r.CookieDir = ""
			case "file":
				r.must(os.WriteFile(r.CookieDir, nil, 0o600))
			}
			r.start()
			for i := range 20 {
				r.save("d/x.md", fmt.Sprint("round ", i))
			}
		})
	}
}

func TestCookieDirectory(t *testing.T) {
	r := newRig(t)
	left := filepath.Join(r.CookieDir, "cookie-1-1")
	r.must(os.Symlink("cookie", left))
	r.must(os.WriteFile(filepath.Join(r.CookieDir, "other"), nil, 0o600))
	r.start()
	r.sync()
	r.sync()
	if entries, err := os.ReadDir(r.CookieDir); err != nil || len(entries) != 2 || entries[0].Name() == filepath.Base(left) {
		t.Errorf("the directory contains %v, %v, want one cookie of this process and the other file", entries, err)
	}
	// The directory disappears and returns.
	for i := range 3 {
		r.must(os.RemoveAll(r.CookieDir))
		r.save("x.md", fmt.Sprint("without ", i))
		r.must(os.Mkdir(r.CookieDir, 0o700))
		r.save("x.md", fmt.Sprint("with ", i))
		r.rescan() // starts watching it again
	}
}

// An unreadableDisk fails to read a directory while blind is set, as after a read
// error.
type unreadableDisk struct {
	*vault.Vault
	dir        string
	unreadable atomic.Bool
}

func (d *unreadableDisk) Walk(ctx context.Context, from string, enter func(disk.Directory)) (*disk.Tree, error) {
	tree, err := d.Vault.Walk(ctx, from, enter)
	if err == nil && d.unreadable.Load() && (from == "" || from == d.dir) {
		tree.Files = slices.DeleteFunc(tree.Files, func(f disk.FoundFile) bool { return strings.HasPrefix(f.Path, d.dir+"/") })
		tree.Skipped = append(tree.Skipped, disk.Skipped{Path: d.dir, Reason: "input/output error", Unseen: true})
		tree.Failed = true
	}
	return tree, err
}

// TestUnreadDirectory checks that a directory that could not be read is retried
// soon, before the next regular scan, and that the status reports it until its
// files are known.
func TestUnreadDirectory(t *testing.T) {
	r := newRig(t)
	disk := &unreadableDisk{Vault: r.vault, dir: "a"}
	disk.unreadable.Store(true)
	r.Disk = disk
	r.write("a/one.md", "one")
	r.write("b/two.md", "two")
	r.start()
	r.want("b/two.md", "two")
	if s := r.Status(); !s.Unread || len(s.Warnings) != 1 || r.index.len() != 1 {
		t.Errorf("while a directory cannot be read, %d files are known and the status is %+v", r.index.len(), s)
	}
	disk.unreadable.Store(false)
	r.eventually("everything is read", func() bool { return !r.Status().Unread })
	r.want("a/one.md", "one")
	if s := r.Status(); len(s.Warnings) != 0 {
		t.Errorf("afterwards the status is %+v", s)
	}

	// The known files of a directory stay known when it becomes unreadable.
	disk.unreadable.Store(true)
	r.rescan()
	if s := r.Status(); !s.Unread || r.index.len() != 2 {
		t.Errorf("when it cannot be read any more, %d files are known and the status is %+v", r.index.len(), s)
	}
}
