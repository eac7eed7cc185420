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
	_ "time/tzdata" // the machine may have no time zone database
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

// Must stops the test if err is not nil.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
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

// Zone is the time zone of the daemons in tests: UTC, or the zone eight hours ahead of
// it near midnight and near 3:00, when maintenance runs by default. Neither occurs
// within three hours of the start of the tests.
var Zone = func() *time.Location {
	name := "UTC"
	if hour := time.Now().UTC().Hour(); hour < 4 || hour >= 21 {
		name = "Etc/GMT-8"
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		panic(err)
	}
	return zone
}()

// DaysAgo returns the date of the given number of days ago in [Zone].
func DaysAgo(days int) string { return time.Now().In(Zone).AddDate(0, 0, -days).Format(time.DateOnly) }
