package e2e

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/api"
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

// TestPowerCut cuts the power again and again while files are written and
// indexed. Files, index and state are on a disk that loses everything not on it
// at that moment. A daemon starts on it without help and finds the content of
// the files. Each file is as written, or not there yet.
func TestPowerCut(t *testing.T) {
	faults(t)
	const cuts, files = 25, 60
	disk := filepath.Join(t.TempDir(), "disk")
	if err := os.Mkdir(disk, 0o700); err != nil {
		t.Fatal(err)
	}
	d := newCutDisk(t, disk)
	root := filepath.Join(disk, "root")
	l := newLive(t, root, quick+fmt.Sprintf("index: {dir: %q}\nstate: {dir: %q}\n", disk+"/index", disk+"/state"))
	aside := 0
	for cut := range cuts {
		if cut == 0 {
			l.fill(files)
			mustRun(t, "sync", "-f", disk)
		}
		if cut%5 == 4 {
			remove(t, filepath.Join(disk, "index")) // it is created while the power fails
		}
		l.launch()
		l.until("it answers", func() bool {
			_, err := l.status()
			return err == nil
		})
		// Files are saved as editors do: each is a new file, synced before it
		// replaces the old one.
		over := make(chan struct{})
		var writer sync.WaitGroup
		var mu sync.Mutex
		saved := map[string]string{}   // certainly on disk
		written := map[string]string{} // possibly on disk
		writer.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-over:
					return
				default:
				}
				path := fmt.Sprintf("2026-02-%02d/w%d.md", n%5+1, n%50)
				text := fmt.Sprintf("- quince\n- medlar %s\n", letters(1000*cut+n))
				mu.Lock()
				written[path] = text
				mu.Unlock()
				if err := saveDurably(l.path(path), text); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				saved[path] = text
				mu.Unlock()
			}
		})
		time.Sleep(time.Duration(20+rand.IntN(1200)) * time.Millisecond) // a random moment
		mu.Lock()                                                        // no save is in progress
		d.hold(l)
		certain, possible := map[string]string{}, map[string]string{}
		for path, text := range saved {
			certain[path] = text
		}
		for path, text := range written {
			possible[path] = text
		}
		mu.Unlock()
		close(over)
		writer.Wait()
		d.cut(l)
		before := l.tree()
		for path, text := range certain {
			if got := before[path]; got != text && got != possible[path] {
				t.Errorf("cut %d: %s is %q on the disk, and was saved as %q", cut, path, got, text)
			}
		}
		files := 0
		for path := range before {
			if strings.HasSuffix(path, ".md") {
				files++
			}
		}
		l.wantPower(cut, files)
		if got := l.tree(); fmt.Sprint(got) != fmt.Sprint(before) {
			t.Errorf("cut %d: the daemon has changed files: %q, were %q", cut, got, before)
		}
		aside = l.aside()
		if err := l.stop(); err != nil {
			t.Fatal(err)
		}
		if t.Failed() {
			break
		}
	}
	t.Logf("%d cuts, %d times set aside", cuts, aside)
}

// wantPower starts a daemon after a power cut and checks that it finds the
// content of the files.
func (l *live) wantPower(cut, files int) {
	l.t.Helper()
	l.launch()
	var a api.SearchAnswer
	l.until("it answers", func() bool {
		return l.ask("search", owner.with(fields{"query": "quince", "limit": 1}), &a) == nil
	})
	if a.Total != files {
		l.t.Errorf("cut %d: the first answer has %d of %d: %+v", cut, a.Total, files, a.Index)
	}
	l.wantWell(files)
}

// saveDurably writes a file completely. When it returns, the file is on disk.
func saveDurably(path, text string) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, "*.tmp")
	if err != nil {
		return err
	}
	_, err = bytes.NewBufferString(text).WriteTo(f)
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = f.Close()
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
