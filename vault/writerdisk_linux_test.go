package vault

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/memwatchd/memwatchd/vault/journal"
)

// runCommand runs a command that must succeed.
func runCommand(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v %s", strings.Join(args, " "), err, out)
	}
}

// mountTemp mounts a file system at a new directory until the test ends.
func mountTemp(t *testing.T, args ...string) (dir string) {
	t.Helper()
	requireFaults(t)
	dir = filepath.Join(t.TempDir(), "mounted")
	must(t, os.Mkdir(dir, 0o700))
	if out, err := exec.Command(args[0], append(args[1:], dir)...).CombinedOutput(); err != nil {
		t.Skipf("%s: not possible here: %v %s", strings.Join(args, " "), err, out)
	}
	t.Cleanup(func() {
		if exec.Command("umount", dir).Run() != nil {
			exec.Command("umount", "-l", dir).Run()
		}
	})
	return dir
}

func requireFaults(t *testing.T) {
	t.Helper()
	if os.Getenv("FAULTS") == "" {
		t.Skip("takes long, or mounts disks; FAULTS=1 runs it")
	}
}

func newDiskWriter(t *testing.T, dir string, files map[string]string) *Writer {
	v := &Vault{Dir: filepath.Join(dir, "root")}
	for path, text := range files {
		writeFile(t, v, path, text)
	}
	return writerOn(t, v, filepath.Join(t.TempDir(), "journal"))
}

// fillDisk fills a disk with a file, or extends this file, and returns its path.
func fillDisk(t *testing.T, disk string) string {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(disk, "filler"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	must(t, err)
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
	return f.Name()
}

// TestWriteToAFullDisk checks that on a full disk no change is made until there
// is space again.
func TestWriteToAFullDisk(t *testing.T) {
	disk := mountTemp(t, "mount", "-t", "tmpfs", "-o", "mode=700,size=256k", "tmpfs")
	long := strings.Repeat("- [ ] one\n", 8000)
	w := newDiskWriter(t, disk, map[string]string{"d/a.md": long})
	filler := fillDisk(t, disk)
	for _, c := range []Change{newChange("d/a.md", "[ ]", "[x]"), newChange("d/b.md", "", long), newChange("e/f/b.md", "", long)} {
		if _, err := w.Write(t.Context(), c); !errors.Is(err, unix.ENOSPC) {
			t.Errorf("%s: %v", c.Path, err)
		}
	}
	wantFiles(t, w, map[string]string{"d/a.md": long})
	if s := w.Status(); !strings.Contains(s.Unable, "no space left") {
		t.Errorf("%+v", s)
	}
	if _, ok := w.Vault.Directory("e"); ok {
		t.Error("a directory was left")
	}
	must(t, os.Remove(filler))
	w.mustWrite(t, newChange("d/a.md", "[ ]", "[x]"))
	wantFiles(t, w, map[string]string{"d/a.md": strings.Replace(long, "[ ]", "[x]", 1)})
	if s := w.Status(); s.Unable != "" {
		t.Errorf("%+v", s)
	}
}

// wantRefused checks that every kind of change is refused without a trace.
func wantRefused(t *testing.T, w *Writer, files map[string]string, what string) {
	t.Helper()
	for _, c := range []Change{newChange("d/a.md", "old", "new"), unrequestedChange("d/a.md", "old", "new"),
		newChange("d/b.md", "", "new"), removalChange("d/a.md")} {
		w.wantRefused(t, c, what)
	}
	wantRefusal(t, second(w.Move(t.Context(), "d/a.md", "d/c.md", Change{Requested: true})), what)
	wantFiles(t, w, files)
	if s := w.Status(); len(s.Refused) != 2 {
		t.Errorf("refused: %v", s.Refused)
	}
	wantRecords(t, w, 0)
}

func TestReadOnlyDisk(t *testing.T) {
	disk := mountTemp(t, "mount", "-t", "tmpfs", "-o", "mode=700,size=256k", "tmpfs")
	files := map[string]string{"d/a.md": "old"}
	w := newDiskWriter(t, disk, files)
	runCommand(t, "mount", "-o", "remount,ro", disk)
	wantRefused(t, w, files, "read-only")
	runCommand(t, "mount", "-o", "remount,rw", disk)
	w.mustWrite(t, newChange("d/a.md", "old", "new"))
}

// TestNoExchange checks that without atomic exchange nothing is written and the
// status contains the reason.
func TestNoExchange(t *testing.T) {
	if _, err := exec.LookPath("bindfs"); err != nil {
		t.Skip("bindfs is not installed")
	}
	back := t.TempDir()
	front := mountTemp(t, "bindfs", "--no-allow-other", back)
	files := map[string]string{"d/a.md": "old"}
	w := newDiskWriter(t, front, files)
	wantRefused(t, w, files, "cannot exchange two files")
	if s := w.Status(); !strings.Contains(s.Unable, "cannot exchange two files") {
		t.Errorf("%+v", s)
	}
}

// TestFileSystems changes, creates, moves and removes a file on every file
// system that supports it.
func TestFileSystems(t *testing.T) {
	requireFaults(t)
	for _, kind := range []string{"ext4", "xfs", "btrfs", "tmpfs", "overlay"} {
		t.Run(kind, func(t *testing.T) {
			var disk string
			switch kind {
			case "tmpfs":
				disk = mountTemp(t, "mount", "-t", "tmpfs", "tmpfs")
			case "overlay":
				dirs := t.TempDir()
				for _, dir := range []string{"lower", "upper", "work"} {
					must(t, os.Mkdir(filepath.Join(dirs, dir), 0o700))
				}
				disk = mountTemp(t, "mount", "-t", "overlay", "overlay",
					"-o", fmt.Sprintf("lowerdir=%s/lower,upperdir=%s/upper,workdir=%s/work", dirs, dirs, dirs))
			default:
				if _, err := exec.LookPath("mkfs." + kind); err != nil {
					t.Skipf("mkfs.%s is not installed", kind)
				}
				disk = mountTemp(t, "mount", "-o", "loop", newImage(t, kind, 400<<20))
			}
			for _, deed := range changeKinds {
				w := newDiskWriter(t, disk, deed.before)
				got, err := deed.do(t.Context(), w)
				if err != nil || !got.Changed {
					t.Errorf("%s: %+v, %v", deed.name, got, err)
				}
				wantFiles(t, w, deed.after)
				must(t, os.RemoveAll(w.Vault.Dir))
			}
		})
	}
}

// newImage creates a disk image in a file.
func newImage(t *testing.T, kind string, size int64) string {
	image := filepath.Join(t.TempDir(), "image")
	f, err := os.Create(image)
	must(t, err)
	must(t, errors.Join(f.Truncate(size), f.Close()))
	runCommand(t, "mkfs."+kind, "-q", image)
	return image
}

// TestPowerCutWhileWriting cuts the power during changes, by copying the disk
// image. After the cut each file must be one of its versions, none older than
// the last acknowledged one, and the journal must agree.
func TestPowerCutWhileWriting(t *testing.T) {
	requireFaults(t)
	const cuts, files = 25, 20
	image := newImage(t, "ext4", 64<<20)
	cutOff := 0
	for cut := range cuts {
		func() {
			disk := filepath.Join(t.TempDir(), "disk")
			must(t, os.Mkdir(disk, 0o700))
			if out, err := exec.Command("mount", "-o", "loop", image, disk).CombinedOutput(); err != nil {
				t.Skipf("a disk in a file cannot be mounted here: %v %s", err, out)
			}
			defer exec.Command("umount", "-l", disk).Run()
			v := &Vault{Dir: filepath.Join(disk, "root")}
			dir := filepath.Join(disk, "journal")
			if cut == 0 {
				for n := range files {
					writeFile(t, v, fmt.Sprintf("d/%d.md", n), "count: 0\nend\n")
				}
				runCommand(t, "sync", "-f", disk)
			} else {
				cutOff += repairAfterCut(t, cut, v, dir, files, nil)
			}
			acked := make([]atomic.Int64, files)
			cmd := writerCommand(t, v.Dir, dir, fmt.Sprintf("VAULT_TEST_FILES=%d", files))
			out, err := cmd.StdoutPipe()
			must(t, err)
			must(t, cmd.Start())
			read := make(chan struct{})
			go func() {
				defer close(read)
				for lines := bufio.NewReader(out); ; {
					var file int
					var n int64
					if _, err := fmt.Fscanf(lines, "%d %d\n", &file, &n); err == io.EOF {
						return
					} else if err == nil {
						acked[file].Store(n)
					}
				}
			}()
			time.Sleep(time.Duration(50+rand.IntN(500)) * time.Millisecond) // a random moment
			must(t, cmd.Process.Signal(unix.SIGSTOP))
			certain := make([]int64, files)
			for i := range acked {
				certain[i] = acked[i].Load()
			}
			runCommand(t, "cp", "--sparse=always", image, image+".cut")
			must(t, cmd.Process.Kill())
			<-read
			cmd.Wait()
			runCommand(t, "umount", disk)
			must(t, os.Rename(image+".cut", image))
			runCommand(t, "mount", "-o", "loop", image, disk)
			cutOff += repairAfterCut(t, cut, v, dir, files, certain)
		}()
		if t.Failed() {
			return
		}
	}
	t.Logf("%d cuts, %d changes settled", cuts, cutOff)
}

// repairAfterCut repairs as a daemon does at its start and checks the files.
func repairAfterCut(t *testing.T, cut int, v *Vault, dir string, files int, certain []int64) (settled int) {
	t.Helper()
	w := writerOn(t, v, dir)
	settled = len(w.Journal.Pending())
	must(t, w.Repair(t.Context()))
	tree := w.readTestTree(t)
	for n := range files {
		path := fmt.Sprintf("d/%d.md", n)
		var count int64
		text := tree[path]
		if _, err := fmt.Sscanf(text, "count: %d\nend\n", &count); err != nil || text != fmt.Sprintf("count: %d\nend\n", count) {
			t.Errorf("cut %d: %s is %q", cut, path, text)
		}
		if certain != nil && count < certain[n] {
			t.Errorf("cut %d: %s has %d, and %d was answered", cut, path, count, certain[n])
		}
		if made := w.Journal.List(time.Time{}, path, 1); (len(made) == 0) != (count == 0) || len(made) > 0 && made[0].After != journal.Digest([]byte(text)) {
			t.Errorf("cut %d: the journal has %+v for %q", cut, made, text)
		}
	}
	if len(tree) != files || len(w.Journal.Pending()) > 0 || len(w.Journal.Problems()) > 0 {
		t.Errorf("cut %d: left are %d files, %v, %v", cut, len(tree), w.Journal.Pending(), w.Journal.Problems())
	}
	return settled
}

// TestJournalOnAFullDisk checks that on a full disk no change begins, that
// pending changes can be completed, and that pruning old changes makes room.
func TestJournalOnAFullDisk(t *testing.T) {
	disk := mountTemp(t, "mount", "-t", "tmpfs", "-o", "mode=700,size=256k", "tmpfs")
	before := map[string]string{"a.md": "- [ ] one\n"}
	v := newVault(t, before)
	w := writerOn(t, v, filepath.Join(disk, "journal"))
	now := time.Now()
	w.Journal.Retention = time.Hour
	w.Journal.Now = func() time.Time { return now }

	must(t, w.Journal.Done(w.begin(t, "c.md", "", []byte("5\n"), []byte("6\n")).ID))
	first := w.begin(t, "b.md", "", []byte("1\n"), []byte("2\n"))
	now = now.Add(2 * time.Hour)
	second := w.begin(t, "b.md", "", []byte("2\n"), []byte("3\n"))
	third := w.begin(t, "b.md", "", []byte("3\n"), []byte("4\n"))
	fillDisk(t, disk)
	must(t, w.Journal.Done(first.ID))
	must(t, w.Journal.Done(second.ID))
	must(t, w.Journal.Abandon(third.ID))
	fillDisk(t, disk)
	names, err := os.ReadDir(w.Journal.Dir)
	must(t, err)
	for _, c := range []Change{newChange("a.md", "[ ]", "[x]"), removalChange("a.md")} {
		if _, err := w.Write(t.Context(), c); !errors.Is(err, unix.ENOSPC) {
			t.Errorf("got %v", err)
		}
		wantFiles(t, w, before)
		if got, err := os.ReadDir(w.Journal.Dir); err != nil || len(got) != len(names) || len(w.Journal.Pending()) > 0 {
			t.Errorf("left in the journal: %v, pending %v", got, w.Journal.Pending())
		}
	}

	must(t, w.Journal.Prune(now, false)) // removes the first changes
	written := w.mustWrite(t, newChange("a.md", "[ ]", "[x]"))
	again := writerOn(t, v, w.Journal.Dir)
	if got := again.Journal.List(time.Time{}, "", 0); len(got) != 2 || got[0].ID != written.ID || got[1].ID != second.ID || len(again.Journal.Problems()) > 0 {
		t.Errorf("opened again: %+v, %q", got, again.Journal.Problems())
	}
}
