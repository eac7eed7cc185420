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

	"github.com/memwatchd/memwatchd/memory"
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

func (x *index) Known() iter.Seq2[string, memory.Stamp] {
	x.mu.Lock()
	known := make(map[string]memory.Stamp, len(x.files))
	for path, f := range x.files {
		known[path] = f.Stamp
	}
	x.mu.Unlock()
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

func (x *index) content(path string) (string, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	f, ok := x.files[path]
	return string(f.Data), ok
}

// completeContents returns every content ever taken for the complete content of
// a file.
func (x *index) completeContents(path string) []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	var contents []string
	for _, f := range x.read[path] {
		if !f.Unstable {
			contents = append(contents, string(f.Data))
		}
	}
	return contents
}

func (x *index) len() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.files)
}

func (x *index) setFail(err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.fail = err
}

// take returns the calls of Changed since the last take.
func (x *index) take() []sinkCall {
	x.mu.Lock()
	defer x.mu.Unlock()
	calls := x.calls
	x.calls = nil
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

func (l *logs) count(line string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, have := range l.lines {
		if have == line {
			n++
		}
	}
	return n
}

// newRig returns a watcher that is not running yet. Its times are so long that
// a test that needs events fails without them.
func newRig(t *testing.T) *rig {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, dir: dir, root: filepath.Join(dir, "root"), logs: new(logs)}
	cookies := filepath.Join(dir, "state")
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
	if err := os.MkdirAll(filepath.Dir(r.path(path)), 0o700); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(r.path(path), []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
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

// want checks the indexed content of a file; "" means no file.
func (r *rig) want(path, text string) {
	r.t.Helper()
	got, ok := r.index.content(path)
	if ok != (text != "") || got != text {
		r.t.Errorf("known of %s: %q (%v), want %q", path, got, ok, text)
	}
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
		known[path], _ = r.index.content(path)
	}
	if diff := cmp.Diff(there, known); diff != "" {
		r.t.Errorf("what is known differs from what is there (-there +known):\n%s", diff)
	}
}

func (r *rig) rename(from, to string) {
	r.t.Helper()
	r.must(os.Rename(r.path(from), r.path(to)))
}
