package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestWritePowerCut cuts the power while the daemon writes. Each file has its
// old or its new version, and the next daemon completes the rest, once.
func TestWritePowerCut(t *testing.T) {
	faults(t)
	const cuts = 25
	l := newLive(t, "", "")
	disk := filepath.Join(filepath.Dir(l.config), "state")
	d := newCutDisk(t, disk)
	l.root = filepath.Join(disk, "root")
	if err := os.Mkdir(l.root, 0o700); err != nil {
		t.Fatal(err)
	}
	l.configure(eager + fmt.Sprintf("index: {dir: %q}\n", filepath.Join(disk, "index")))
	c := &chores{live: l}
	c.start()
	c.noted()
	c.sentinel("first")
	halfway := 0
	for cut := range cuts {
		w := c.newWave("p"+letters(cut), 12)
		w.come()
		mustRun(t, "sync", "-f", disk) // this test is not about the saves of people
		c.until("it begins", func() bool { return w.done() > 0 })
		time.Sleep(rand.N(120 * time.Millisecond))
		d.hold(l)
		d.cut(l)
		done := w.done()
		if done < w.files {
			halfway++
		}
		c.start()
		w.wantOnce()
		if t.Failed() {
			t.Fatalf("cut %d, when %d of %d were ticked", cut, done, w.files)
		}
	}
	t.Logf("%d of %d times there was something left to do", halfway, cuts)
}
