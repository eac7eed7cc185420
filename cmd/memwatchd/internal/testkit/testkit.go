// Package testkit contains helpers that the tests of several packages share.
// Its functions stop the test on failure.
package testkit

import (
	"bytes"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Output collects the output of a process. It is safe for concurrent use.
type Output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write implements [io.Writer].
func (t *Output) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.buf.Write(p)
}

func (t *Output) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.buf.String()
}

// WriteFile writes a file and creates its missing parent directories.
func WriteFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	// A process that another test starts now would keep the file open until it runs
	// its program.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// DaysAgo returns the date of the given number of days ago, in UTC. A test that
// runs past midnight still passes, because tasks are ticked in files up to a
// week old.
func DaysAgo(days int) string { return time.Now().UTC().AddDate(0, 0, -days).Format(time.DateOnly) }
