package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// mustRun runs a command that must succeed.
func mustRun(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v %s", strings.Join(args, " "), err, out)
	}
}

// mountImage mounts the disk in an image file.
func mountImage(t *testing.T, image, dir string) {
	t.Helper()
	if out, err := exec.Command("mount", "-o", "loop", image, dir).CombinedOutput(); err != nil {
		t.Skipf("a disk in a file cannot be mounted here: %v %s", err, out)
	}
}

// A cutDisk is a disk that simulates a power cut: it continues with exactly the
// content that it had at one moment.
type cutDisk struct {
	t          *testing.T
	image, dir string
}

// newCutDisk mounts an empty cutDisk on a directory.
func newCutDisk(t *testing.T, dir string) *cutDisk {
	t.Helper()
	needs(t, "mkfs.ext4", "mount", "umount", "cmp")
	d := &cutDisk{t, filepath.Join(t.TempDir(), "image"), dir}
	f, err := os.Create(d.image)
	if err == nil {
		err = f.Truncate(64 << 20)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	mustRun(t, "mkfs.ext4", "-q", "-E", "lazy_itable_init=0", d.image)
	mountImage(t, d.image, dir)
	t.Cleanup(func() {
		if exec.Command("umount", dir).Run() != nil {
			exec.Command("umount", "-l", dir).Run()
		}
	})
	return d
}

// hold copies the current content of the disk while the daemon is stopped by a
// signal.
func (d *cutDisk) hold(l *live) {
	d.t.Helper()
	l.suspend()
	// The kernel still writes to the disk. If two successive copies are the same, the
	// first is the content at the moment between them.
	first, second := d.image+".cut", d.image+".second"
	mustRun(d.t, "cp", "--sparse=always", d.image, first)
	for {
		mustRun(d.t, "cp", "--sparse=always", d.image, second)
		if exec.Command("cmp", "-s", first, second).Run() == nil {
			return
		}
		if err := os.Rename(second, first); err != nil {
			d.t.Fatal(err)
		}
	}
}

// cut kills the daemon and mounts the disk with the copied content.
func (d *cutDisk) cut(l *live) {
	d.t.Helper()
	l.resume()
	l.kill()
	mustRun(d.t, "umount", d.dir)
	if err := os.Rename(d.image+".cut", d.image); err != nil {
		d.t.Fatal(err)
	}
	mountImage(d.t, d.image, d.dir)
}

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
