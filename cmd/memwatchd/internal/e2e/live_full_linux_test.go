package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/cli"
)

// wantFailing checks that everything works while nothing can be written, and
// that the status reports it in these words.
func (l *live) wantFailing(round, files int, words string) {
	l.t.Helper()
	for n := range 40 {
		l.write(fmt.Sprintf("2026-03-%02d/n%d.md", n%20+1, n), fmt.Sprintf("- quince\n- medlar %s\n", letters(round*100+n)))
		if n%10 == 0 {
			if a := l.search(owner, "medlar "+letters(round*100+n), nil); a.Total == 0 || a.Hits[0].Path != fmt.Sprintf("2026-03-%02d/n%d.md", n%20+1, n) {
				l.t.Errorf("what was saved is found as %q; %+v", texts(a), a.Index)
			}
		}
	}
	files += 40
	l.until("status says it", func() bool {
		s := l.mustStatus()
		return !s.Healthy && s.Index.Degraded && strings.Contains(s.Index.Problem, words)
	})
	out, err := l.command("status").CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != cli.ExitUnhealthy || !strings.Contains(string(out), words) {
		l.t.Errorf("the command ends with %v, and prints:\n%s", err, out)
	}
	for _, who := range []fields{owner, public} {
		if a := l.search(who, "quince", fields{"limit": 1}); a.Total != files || !a.Index.Synced {
			l.t.Errorf("%v finds %d of %d: %+v", who, a.Total, files, a.Index)
		}
	}
}

// limitFiles makes writes beyond a file size fail.
func (l *live) limitFiles(most uint64) {
	l.t.Helper()
	limit := unix.Rlimit{Cur: most, Max: unix.RLIM_INFINITY}
	if err := unix.Prlimit(l.cmd.Process.Pid, unix.RLIMIT_FSIZE, &limit, nil); err != nil {
		l.t.Skipf("the size of files cannot be limited here: %v", err)
	}
}

// TestNoRoomToMerge checks that with enough space for new segments, but not
// for the result of a merge, merging is retried, but not continuously.
func TestNoRoomToMerge(t *testing.T) {
	t.Parallel()
	const files = 20
	l := newLive(t, t.TempDir(), "")
	l.fill(files)
	l.start()
	l.limitFiles(128 << 10)
	written := 0
	l.until("segments cannot be merged", func() bool {
		s := l.mustStatus()
		if strings.Contains(s.Index.Problem, "merging err") {
			return true
		}
		text := "- quince"
		for k := range 1500 {
			text += " " + letters(1500*written+k)
		}
		l.write(fmt.Sprintf("2026-03-%02d/n%d.md", written%20+1, written), text+"\n")
		written++
		l.until("it is on disk", func() bool { return l.mustStatus().Index.Size != s.Index.Size })
		return false
	})
	l.wantCalm("nothing can be written")
	if a := l.search(owner, "quince", fields{"limit": 1}); a.Total != files+written {
		t.Errorf("it finds %d of %d; %+v", a.Total, files+written, a.Index)
	}
	l.limitFiles(unix.RLIM_INFINITY)
	l.wantWell(files + written)
}

// TestNothingCanBeWritten checks that if no file can be written, the daemon
// continues, reports it, and recovers afterwards.
func TestNothingCanBeWritten(t *testing.T) {
	t.Parallel()
	const files = 60
	l := newLive(t, t.TempDir(), "")
	l.fill(files)
	l.start()
	l.limitFiles(0)
	l.wantFailing(0, files, "file too large")
	l.wantCalm("nothing can be written")
	l.limitFiles(unix.RLIM_INFINITY)
	l.wantWell(files + 40)
	l.until("the log says that it is over", func() bool {
		return strings.Contains(l.log.String(), "index is saved to disk again")
	})
	// It was written to disk.
	l.kill()
	l.wantFirst(files + 40)
	l.wantWell(files + 40)
	l.limitFiles(0)
	l.wantFailing(1, files, "file too large")
	if err := l.stop(); err != nil { // it tries, but not for long
		t.Errorf("it ended with: %v", err)
	}
	l.wantFirst(files + 40)
	l.wantWell(files + 40)
	if l.aside() != 0 {
		t.Error("an index that could not be written is not damaged")
	}
}

// mountSmall mounts a disk of a size on a directory, which it creates if
// necessary.
func mountSmall(t *testing.T, dir, size string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "mode=700,size="+size, "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("tmpfs cannot be mounted here: %v %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("%v %s", err, out)
			exec.Command("umount", "-l", dir).Run()
		}
	})
}

// fillDisk fills a disk except for spare bytes.
func fillDisk(t *testing.T, dir string, spare int64) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var size int64
	for _, block := range []int{64 << 10, 1 << 10, 1} {
		for err == nil {
			var n int
			n, err = f.Write(make([]byte, block))
			size += int64(n)
		}
		if !errors.Is(err, unix.ENOSPC) {
			t.Fatal(err)
		}
		err = nil
	}
	if err := f.Truncate(max(0, size-spare)); err != nil {
		t.Fatal(err)
	}
}

func emptyDisk(t *testing.T, dir string) {
	t.Helper()
	if err := os.Remove(filepath.Join(dir, "filler")); err != nil {
		t.Fatal(err)
	}
}

// TestFullDisk fills the disk of the index, the state, or both.
func TestFullDisk(t *testing.T) {
	faults(t)
	const files = 300
	for _, full := range [][]string{{"cache"}, {"state"}, {"cache", "state"}} {
		t.Run(strings.Join(full, " and "), func(t *testing.T) {
			l := newLive(t, t.TempDir(), "")
			base := filepath.Dir(l.config)
			for _, dir := range full {
				mountSmall(t, filepath.Join(base, dir), "3m")
			}
			fillAll := func() {
				for _, dir := range full {
					fillDisk(t, filepath.Join(base, dir), 0)
				}
			}
			index := full[0] == "cache"
			l.fill(files)
			l.start()
			fillAll()
			if index {
				l.wantFailing(0, files, "disk full, free space on the disk of "+l.indexDir())
			} else {
				l.write("2026-03-01/n.md", "- quince\n")
				l.wantWell(files + 1)
				remove(t, l.path("2026-03-01/n.md"))
			}
			l.wantCalm("nothing can be written")
			// It can be stopped and started, and killed and started.
			all := files
			if index {
				all += 40
			}
			if err := l.stop(); err != nil {
				t.Errorf("it ended with: %v", err)
			}
			l.wantFirst(all)
			if index {
				l.wantFailing(1, files, "disk full")
			}
			l.kill()
			l.wantFirst(all)
			l.until("it says that it is whole", func() bool {
				var a api.SearchAnswer
				err := l.ask("search", owner.with(fields{"query": "quince"}), &a)
				return err == nil && !a.Index.Degraded
			})
			for _, dir := range full {
				emptyDisk(t, filepath.Join(base, dir))
			}
			l.wantWell(all)
			// An index cannot be created without free space, and is created
			// once there is some.
			if err := l.stop(); err != nil {
				t.Errorf("it ended with: %v", err)
			}
			remove(t, l.store())
			fillAll()
			l.launch()
			l.until("it answers", func() bool {
				var a api.SearchAnswer
				err := l.ask("search", owner.with(fields{"query": "quince", "limit": 1}), &a)
				return err == nil && a.Total == all
			})
			if index {
				l.until("status says it", func() bool {
					s := l.mustStatus()
					return !s.Healthy && s.Index.Degraded && strings.Contains(s.Index.Problem, "disk full")
				})
				l.wantCalm("nothing can be written")
			}
			for _, dir := range full {
				emptyDisk(t, filepath.Join(base, dir))
			}
			l.wantWell(all)
		})
	}
}

// TestReadOnlyDisk makes a disk read-only for a while.
func TestReadOnlyDisk(t *testing.T) {
	faults(t)
	const files = 100
	l := newLive(t, t.TempDir(), "")
	l.fill(files)
	l.start()
	run := func(args ...string) {
		t.Helper()
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Skipf("%s: %v %s", strings.Join(args, " "), err, out)
		}
	}
	// The disk itself cannot be made read-only, because the daemon's files are
	// open. A bind mount on its path can.
	dir := l.indexDir()
	run("mount", "--bind", dir, dir)
	t.Cleanup(func() { exec.Command("umount", "-l", dir).Run() })
	run("mount", "-o", "remount,bind,ro", dir)
	l.wantFailing(0, files, "read-only file system")
	l.wantCalm("nothing can be written")
	run("umount", "-l", dir)
	l.wantWell(files + 40)
	if l.aside() != 0 {
		t.Error("an index that could not be written is not damaged")
	}
}
