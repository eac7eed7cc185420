package watcher_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memwatchd/memwatchd/internal/disk"
	"github.com/memwatchd/memwatchd/vault"
	"github.com/memwatchd/memwatchd/watcher"
)

// An index is the simplest sink: it holds the content of every file as read by
// the vault.
type index struct {
	vault *vault.Vault

	mu    sync.Mutex
	files map[string]vault.File
	calls []sinkCall
	fail  error                   // returned by Changed
	read  map[string][]vault.File // every file ever read
}

type sinkCall struct {
	reason watcher.Reason
	paths  []string
}

func (x *index) Known() iter.Seq2[string, disk.Stamp] {
	known := make(map[string]disk.Stamp)
	x.use(func() {
		for path, f := range x.files {
			known[path] = f.Stamp
		}
	})
	return maps.All(known)
}

func (x *index) Changed(ctx context.Context, paths []string, why watcher.Reason) (again []string, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.calls = append(x.calls, sinkCall{why, paths})
	if x.fail != nil {
		return nil, x.fail
	}
	for _, path := range paths {
		f, err := vault.File{}, error(nil)
		_, err = x.vault.Observe(path)
		if err == nil {
			f, err = x.vault.Read(path)
		}
		switch {
		case err == nil && f.Unstable && why != watcher.Overdue:
			again = append(again, path)
		case err == nil:
			x.files[path] = f
			x.read[path] = append(x.read[path], f)
			if f.Unstable {
				again = append(again, path)
			}
		case errors.Is(err, fs.ErrNotExist) && why != watcher.Gone:
			again = append(again, path)
		case vault.Absent(err):
			delete(x.files, path)
		default:
			again = append(again, path)
		}
	}
	return again, nil
}

// use calls do while no other goroutine uses the index.
func (x *index) use(do func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	do()
}

// content returns the content of a file, or "" if it is unknown.
func (x *index) content(path string) (text string) {
	x.use(func() { text = string(x.files[path].Data) })
	return text
}

func (x *index) len() (n int) {
	x.use(func() { n = len(x.files) })
	return n
}

// take returns the calls of Changed since the last take.
func (x *index) take() (calls []sinkCall) {
	x.use(func() { calls, x.calls = x.calls, nil })
	return calls
}

// A rig is a running watcher on a directory of its own.
type rig struct {
	*watcher.Watcher
	t     *testing.T
	dir   string // outside of the root, on the same file system
	root  string
	vault *vault.Vault
	index *index
	logs  *logs
}

// logs keeps the messages at level Info and above.
type logs struct {
	slog.Handler
	mu    sync.Mutex
	lines []string
}

func (l *logs) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }

func (l *logs) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, r.Level.String()+" "+r.Message)
	return nil
}

// wantLogged checks the number of equal messages in the log.
func (r *rig) wantLogged(line string, want int) {
	r.t.Helper()
	r.logs.mu.Lock()
	defer r.logs.mu.Unlock()
	if all := strings.Join(r.logs.lines, "\n") + "\n"; strings.Count(all, line+"\n") != want {
		r.t.Errorf("the log does not contain %q %d times:\n%s", line, want, all)
	}
}

// newRig returns a watcher that is not running yet. Its times are so long that
// a test that needs events fails without them.
func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, logs: new(logs)}
	var err error
	r.dir, err = filepath.EvalSymlinks(t.TempDir())
	r.must(err)
	cookies := filepath.Join(r.dir, "state")
	r.root = filepath.Join(r.dir, "root")
	r.must(os.Mkdir(r.root, 0o700))
	r.must(os.Mkdir(cookies, 0o700))
	r.vault = &vault.Vault{Dir: r.root}
	r.index = &index{vault: r.vault, files: make(map[string]vault.File), read: make(map[string][]vault.File)}
	r.Watcher = &watcher.Watcher{
		Dir: r.root, Disk: r.vault, Sink: r.index, CookieDir: cookies, Logger: slog.New(r.logs),
		Reconcile: time.Hour, Poll: 50 * time.Millisecond,
	}
	return r
}

// start runs the watcher until the test ends, and waits for its first scan.
func (r *rig) start() {
	r.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	r.t.Cleanup(func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			r.t.Errorf("Run returned %v, want context.Canceled", err)
		}
	})
	r.sync()
}

// newStartedRig returns a running watcher.
func newStartedRig(t *testing.T) *rig {
	t.Helper()
	r := newRig(t)
	r.start()
	return r
}

// TestMain checks after all tests that no goroutine of a watcher is left.
func TestMain(m *testing.M) {
	code := m.Run()
	if left := goroutines(); left != "" {
		fmt.Printf("goroutines are left when Run has returned:\n%s\n", left)
		code = 1
	}
	os.Exit(code)
}

// goroutines returns the stacks of the goroutines that belong to a watcher.
func goroutines() string {
	buf := make([]byte, 1<<20)
	var left []string
	for stack := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		if strings.Contains(stack, "watcher.(*Watcher)") || strings.Contains(stack, "watcher.(*debouncer)") || strings.Contains(stack, "fsnotify.") {
			left = append(left, stack)
		}
	}
	return strings.Join(left, "\n\n")
}

// path returns the path of a file below the root.
func (r *rig) path(path string) string { return filepath.Join(r.root, path) }

func (r *rig) write(path, text string) {
	r.t.Helper()
	r.must(os.MkdirAll(filepath.Dir(r.path(path)), 0o700))
	r.must(os.WriteFile(r.path(path), []byte(text), 0o600))
}

// save writes a file and checks that it is known after a sync.
func (r *rig) save(path, text string) {
	r.t.Helper()
	r.write(path, text)
	r.sync()
	r.want(path, text)
}

// must fails the test if err is not nil.
func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) sync() {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
	defer cancel()
	if err := r.Sync(ctx); err != nil {
		r.t.Fatalf("%v; status %+v", err, r.Status())
	}
}

func (r *rig) rescan() {
	r.t.Helper()
	r.Rescan()
	r.sync()
}

// want checks the indexed content of a file; "" means no file.
func (r *rig) want(path, text string) {
	r.t.Helper()
	if got := r.index.content(path); got != text {
		r.t.Errorf("known of %s: %q, want %q", path, got, text)
	}
}

// waitContent waits until the indexed content of a file is text.
func (r *rig) waitContent(path, text string) {
	r.t.Helper()
	r.eventually("found", func() bool { return r.index.content(path) == text })
}

// eventually waits until cond holds.
func (r *rig) eventually(what string, cond func() bool) {
	r.t.Helper()
	// The time between scans is a multiple of their duration.
	const limit = 5 * time.Minute
	for deadline := time.Now().Add(limit); !cond(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			r.t.Fatalf("not within %s: %s; status %+v", limit, what, r.Status())
		}
	}
}

// wantDisk checks that the index matches the disk.
func (r *rig) wantDisk() {
	r.t.Helper()
	tree, err := r.vault.Walk(r.t.Context(), "", nil)
	r.must(err)
	there := make(map[string]string)
	for _, f := range tree.Files {
		text, err := os.ReadFile(r.path(f.Path))
		r.must(err)
		there[f.Path] = string(text)
	}
	known := make(map[string]string)
	for path := range r.index.Known() {
		known[path] = r.index.content(path)
	}
	if diff := cmp.Diff(there, known); diff != "" {
		r.t.Errorf("what is known differs from what is there (-there +known):\n%s", diff)
	}
}

// rename renames a file or directory. Paths are relative to the root.
func (r *rig) rename(from, to string) {
	r.t.Helper()
	r.must(os.Rename(r.path(from), r.path(to)))
}
