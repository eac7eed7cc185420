package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

// A wave is a task in many files that is completed in one of them.
type wave struct {
	*chores
	name  string
	files int
}

func (w *wave) path(n int) string {
	return fmt.Sprintf("%s/%s_%02d.md", testkit.DaysAgo(1+n%7), w.name, n)
}

func (w *wave) text(n int) string {
	return strings.Replace(personal(n), "Renew the certificate", "Send "+w.name, 1)
}

func (w *wave) ticked(n int) string {
	return strings.NewReplacer("0/1", "1/1", "[ ]", "[x]").Replace(w.text(n))
}

// wave completes a task that is open in a number of files, and waits until the
// daemon has begun to tick it there.
func (c *chores) wave(name string, files int) *wave {
	c.t.Helper()
	w := c.newWave(name, files)
	w.come()
	c.until("it begins", func() bool { return w.done() > 0 })
	return w
}

// newWave creates a task that is open in a number of files.
func (c *chores) newWave(name string, files int) *wave {
	c.t.Helper()
	w := &wave{c, name, files}
	for n := range files {
		c.write(w.path(n), w.text(n))
	}
	c.write(w.source(), "## Tasks\n- [ ] Send "+name+"\n")
	if c.done != nil { // it runs, or will run with another configuration
		c.until("all of it is indexed", func() bool { return c.ask("sync", owner, new(api.SyncAnswer)) == nil })
	}
	return w
}

// source returns the file in which the task is completed.
func (w *wave) source() string { return testkit.DaysAgo(0) + "/source_" + w.name + ".md" }

// come completes the task in place, which needs no space on a disk.
func (w *wave) come() {
	w.t.Helper()
	f, err := os.OpenFile(w.live.path(w.source()), os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteAt([]byte("x"), int64(len("## Tasks\n- [")))
	}
	testkit.Must(w.t, err)
	testkit.Must(w.t, f.Close())
}

// done returns the number of ticked files. Each file must have its whole old or
// its whole new version.
func (w *wave) done() (done int) {
	w.t.Helper()
	for n := range w.files {
		switch text := w.read(w.path(n)); text {
		case w.ticked(n):
			done++
		case w.text(n):
		default:
			w.t.Fatalf("%s is neither as it was nor as it is to be:\n%s", w.path(n), text)
		}
	}
	return done
}

// wantOnce waits until all files are ticked, and checks that each was written
// once and that no temporary files are left.
func (w *wave) wantOnce() {
	w.t.Helper()
	w.until("all are ticked", func() bool { return w.done() == w.files })
	w.wantSettled()
	var want []string
	for n := range w.files {
		want = append(want, w.path(n)+" done")
	}
	slices.Sort(want)
	var got []string
	w.until("the journal has the last change", func() bool {
		var a api.JournalAnswer
		w.must("journal", owner.with(fields{"limit": 1000}), &a)
		got = nil
		for _, j := range a.Writes {
			if strings.Contains(j.Path, "/"+w.name+"_") {
				got = append(got, j.Path+" "+j.State)
			}
		}
		return len(got) >= len(want)
	})
	slices.Sort(got)
	if !slices.Equal(got, want) {
		w.t.Errorf("the journal has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// startWaves starts a daemon that already has a record of tasks: changes seen
// at the first start are only recorded.
func startWaves(t *testing.T) *chores {
	t.Helper()
	c := startChores(t, eager)
	c.sentinel("first")
	return c
}

// TestWriteKilled kills the daemon at any moment while it writes. Each file has
// its old or its new version, and the next daemon completes the rest, once.
func TestWriteKilled(t *testing.T) {
	t.Parallel()
	c := startWaves(t)
	halfway := 0
	for round := range thorough(5, 200) {
		w := c.wave("k"+letters(round), 12)
		time.Sleep(rand.N(120 * time.Millisecond))
		c.kill()
		done := w.done()
		if done < w.files {
			halfway++
		}
		c.start()
		w.wantOnce()
		if t.Failed() {
			t.Fatalf("round %d, killed when %d of %d were ticked", round, done, w.files)
		}
		for n := range w.files { // keeps the number of files constant
			c.remove(w.path(n))
		}
		c.remove(w.source())
	}
	if halfway == 0 {
		t.Error("it was never killed while it wrote")
	}
	t.Logf("%d times there was something left to do", halfway)
}

// TestRaceWriteStopped checks that a daemon that is stopped while it writes ends
// soon and without error, and leaves no temporary files. The next daemon
// completes the rest, once.
func TestRaceWriteStopped(t *testing.T) {
	t.Parallel()
	c := startWaves(t)
	halfway := 0
	for round := range thorough(3, 50) {
		w := c.wave("s"+letters(round), 12)
		time.Sleep(rand.N(60 * time.Millisecond))
		if err := c.stop(); err != nil { // within a minute
			t.Fatalf("round %d: it ended with: %v", round, err)
		}
		if left := c.leftovers(); len(left) > 0 {
			t.Errorf("round %d: left over: %q", round, left)
		}
		if w.done() < w.files {
			halfway++
		}
		c.start()
		w.wantOnce()
	}
	t.Logf("%d times there was something left to do", halfway)
}

// TestRaceWriteReloaded reloads a valid or invalid configuration while the daemon
// writes. Every file is written, once.
func TestRaceWriteReloaded(t *testing.T) {
	t.Parallel()
	c := startWaves(t)
	for round := range thorough(3, 50) {
		w := c.wave("r"+letters(round), 12)
		for n := range 3 {
			time.Sleep(rand.N(60 * time.Millisecond))
			c.configure([]string{eager, "write: {quit: 1s}\n", eager + "journal: {keep: 91d}\n"}[n])
			c.cmd.Process.Signal(syscall.SIGHUP)
		}
		w.wantOnce()
		if t.Failed() {
			t.Fatalf("round %d", round)
		}
	}
	// Signals in quick succession count as one, so this sends one with a
	// configuration that is certainly invalid.
	c.configure("write: {quit: 1s}\n")
	c.cmd.Process.Signal(syscall.SIGHUP)
	c.until("the configuration that makes no sense is refused", func() bool {
		return strings.Contains(c.log.String(), "is invalid, keeping the old one")
	})
}
