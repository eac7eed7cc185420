package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
	"github.com/memwatchd/memwatchd/vault"
)

// wantAgreement checks that files and index agree.
func (l *live) wantAgreement() {
	l.t.Helper()
	if c := l.check(); len(c.Differing) != 0 {
		l.t.Errorf("check says %+v", c.Differing)
	}
}

// TestRestoredBackup checks that a restored backup is found, at once or when
// the daemon starts. It has the time, and may have the size, of the file it
// replaces.
func TestRestoredBackup(t *testing.T) {
	t.Parallel()
	l := newLive(t, t.TempDir(), "")
	when := time.Now().Add(-24 * time.Hour).Truncate(time.Second)
	restore := map[string]func(path, text string){
		"in place": func(path, text string) { l.write(path, text) },
		"renamed": func(path, text string) {
			l.write(path+".part", text)
			if err := os.Chtimes(l.path(path+".part"), when, when); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(l.path(path+".part"), l.path(path)); err != nil {
				t.Fatal(err)
			}
		},
	}
	all := func(text string) {
		t.Helper()
		for name, restored := range restore {
			path := strings.ReplaceAll(name, " ", "-") + ".md"
			restored(path, text+" "+path)
			if err := os.Chtimes(l.path(path), when, when); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := func(text string) {
		t.Helper()
		list := []string{"in-place.md:1-1 " + text + " in-place.md", "renamed.md:1-1 " + text + " renamed.md"}
		if got := texts(l.search(owner, "quince", nil)); fmt.Sprint(got) != fmt.Sprint(list) {
			t.Errorf("found %q, want %q", got, list)
		}
	}
	all("- quince 0")
	l.start()
	want("- quince 0")
	for n := 1; n < 5; n++ {
		text := fmt.Sprint("- quince ", n)
		off := n%2 == 0
		if off {
			if err := l.stop(); err != nil {
				t.Fatal(err)
			}
		}
		all(text)
		if off {
			l.start()
		}
		want(text)
	}
	l.wantAgreement()
}

// TestChangedBeneath checks that content that changes while the daemon is
// stopped, without a trace in the metadata, is found by comparing contents at
// the start.
func TestChangedBeneath(t *testing.T) {
	faults(t)
	needs(t, "mkfs.ext4", "mount", "umount")
	base := t.TempDir()
	disk, at := filepath.Join(base, "disk"), filepath.Join(base, "at")
	if err := os.Mkdir(at, 0o700); err != nil {
		t.Fatal(err)
	}
	testkit.WriteFile(t, disk, "")
	if err := os.Truncate(disk, 16<<20); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mkfs.ext4", "-q", disk).CombinedOutput(); err != nil {
		t.Fatalf("mkfs.ext4: %v %s", err, out)
	}
	mount := func() { mounted(t, at, "-o", "loop", disk, at) }
	mount()
	l := newLive(t, filepath.Join(at, "root"), "")
	l.write("a.md", "- quince before\n"+strings.Repeat("- and more\n", 1000)) // too much to be stored in the inode
	l.write("b.md", "- medlar\n")
	l.start()
	if a := l.search(owner, "before", nil); a.Total != 1 {
		t.Fatalf("at first %+v", a)
	}
	files := &vault.Vault{Dir: l.root}
	before, err := files.Stat("a.md")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.stop(); err != nil {
		t.Fatal(err)
	}
	unmount(t, at)
	image, err := os.ReadFile(disk)
	if err != nil {
		t.Fatal(err)
	}
	changed := bytes.Replace(image, []byte("- quince before\n"), []byte("- quince beside\n"), 1)
	if bytes.Equal(changed, image) {
		t.Fatal("the text is not on the disk")
	}
	if err := os.WriteFile(disk, changed, 0o600); err != nil {
		t.Fatal(err)
	}
	mount()
	if after, err := files.Stat("a.md"); err != nil || after != before {
		t.Errorf("the change has left a trace: %+v, %+v, %v", before, after, err)
	}
	l.start()
	l.until("the change is found", func() bool { return l.search(owner, "beside", nil).Total == 1 })
	if a := l.search(owner, "before", nil); a.Total != 0 {
		t.Errorf("what was there before is found: %q", texts(a))
	}
	l.wantAgreement()
	if err := l.stop(); err != nil {
		t.Fatal(err)
	}
}

// mounted mounts a file system until the test ends. It skips the test if that
// is not possible.
func mounted(t *testing.T, at string, args ...string) {
	t.Helper()
	if out, err := exec.Command("mount", args...).CombinedOutput(); err != nil {
		t.Skipf("mount %q is not possible here: %v %s", args, err, out)
	}
	t.Cleanup(func() { exec.Command("umount", "-l", at).Run() })
}

func unmount(t *testing.T, at string, flags ...string) {
	t.Helper()
	if out, err := exec.Command("umount", append(flags, at)...).CombinedOutput(); err != nil {
		t.Fatalf("umount %s: %v %s", at, err, out)
	}
}

// bound mounts a directory at another path with a FUSE program, and returns the
// process.
func bound(t *testing.T, from, to string) *os.Process {
	t.Helper()
	needs(t, "bindfs", "umount")
	for _, dir := range []string{from, to} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	// The kernel's cache would be stale for a second.
	cmd := exec.Command("bindfs", "-f", "-o", "attr_timeout=0,entry_timeout=0,negative_timeout=0", from, to)
	var out testkit.Output
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { cmd.Wait(); close(ended) }()
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGCONT)
		exec.Command("umount", "-l", to).Run()
		cmd.Process.Kill()
		<-ended
	})
	var parent, st unix.Stat_t
	if err := unix.Stat(filepath.Dir(to), &parent); err != nil {
		t.Fatal(err)
	}
	for unix.Stat(to, &st) != nil || st.Dev == parent.Dev {
		select {
		case <-ended:
			t.Skipf("bindfs does not work here: %s", out.String())
		case <-time.After(10 * time.Millisecond):
		}
	}
	return cmd.Process
}

// TestChangedElsewhere checks that on a file system without events for remote
// changes, polling finds them.
func TestChangedElsewhere(t *testing.T) {
	faults(t)
	base := t.TempDir()
	elsewhere := filepath.Join(base, "elsewhere")
	testkit.WriteFile(t, filepath.Join(elsewhere, "a.md"), "- quince 0\n")
	bound(t, elsewhere, filepath.Join(base, "root"))
	l := startLive(t, filepath.Join(base, "root"), "watch: {poll: 200ms}\n")
	if s := l.mustStatus(); len(s.Watch.Polled) != 1 || !strings.Contains(s.Watch.Problem, "FUSE") || !s.Healthy {
		t.Errorf("status does not say it: %+v", s.Watch)
	}
	for n := 1; n < 20; n++ {
		sync := n%2 == 0
		testkit.WriteFile(t, filepath.Join(elsewhere, "a.md"), fmt.Sprintf("- quince %d\n", n))
		testkit.WriteFile(t, filepath.Join(elsewhere, fmt.Sprintf("d%d/new.md", n)), fmt.Sprintf("- medlar %d\n", n))
		found := func() bool {
			a, b := l.search(owner, fmt.Sprintf(`"quince %d"`, n), fields{"sync": sync}), l.search(owner, "medlar", fields{"sync": sync})
			return a.Total == 1 && b.Total == n
		}
		if sync && !found() {
			t.Errorf("round %d: it is not found with sync", n)
		}
		l.until("it is found", found)
	}
	l.wantAgreement()
	l.wantCalm("everything is polled")
}

// TestDiskHangs checks that while the disk hangs, requests are answered from
// the index, and answers do not claim to be up to date. The daemon still
// responds and can be stopped, and continues by itself when the disk answers
// again.
func TestDiskHangs(t *testing.T) {
	faults(t)
	base := t.TempDir()
	elsewhere := filepath.Join(base, "elsewhere")
	for n := range 40 {
		testkit.WriteFile(t, filepath.Join(elsewhere, fmt.Sprintf("d%d/s%d.md", n%4, n)), fmt.Sprintf("- quince %d\n", n))
	}
	disk := bound(t, elsewhere, filepath.Join(base, "root"))
	l := startLive(t, filepath.Join(base, "root"), quick)
	l.wantWell(40)
	for round := range 2 {
		disk.Signal(syscall.SIGSTOP)
		testkit.WriteFile(t, filepath.Join(elsewhere, "meanwhile.md"), fmt.Sprintf("- quince %d meanwhile\n", round))
		// Until the daemon has detected the hang, a caller waits for a few
		// seconds.
		if err := l.ask("sync", owner.with(fields{"timeout": "1s"}), &struct{}{}); err == nil || !strings.Contains(err.Error(), "unavailable") {
			t.Errorf("sync answers %v, want unavailable", err)
		}
		l.until("it is told", func() bool {
			s, err := l.status()
			return err == nil && !s.Healthy && s.RootState == "missing" && strings.Contains(s.Index.Problem, "does not answer")
		})
		if a := l.search(owner, "quince", nil); a.Total < 40 || a.Index.Synced || !a.Index.Degraded {
			t.Errorf("%d are found, want 40; %+v", a.Total, a.Index)
		}
		if file, err := l.get(owner, "d1/s1.md"); err == nil && !file.Stale {
			t.Errorf("get answers %+v", file)
		}
		if err := l.ask("sync", owner.with(fields{"timeout": "1s"}), &struct{}{}); err == nil || !strings.Contains(err.Error(), "unavailable") {
			t.Errorf("sync answers %v, want unavailable", err)
		}
		l.wantCalm("the disk does not answer")
		if round == 1 {
			break
		}
		disk.Signal(syscall.SIGCONT)
		l.wantWell(41)
	}
	began := time.Now()
	if err := l.stop(); err != nil {
		t.Errorf("it ends with %v", err)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %s to end", took)
	}
	if _, err := net.Dial("unix", l.socket); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its socket: %v", err)
	}
	disk.Signal(syscall.SIGCONT)
}
