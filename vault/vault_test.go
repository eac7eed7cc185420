package vault

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// newRefusedFiles returns a root with one path of each excluded kind, and the expected
// errors.
func newRefusedFiles(t *testing.T) (*Vault, map[string]error) {
	v := newVault(t, map[string]string{
		"ok.md": "ok", "d/ok.md": "ok", "large.md": strings.Repeat("x", 101), "edge.md": strings.Repeat("x", 100),
	})
	v.MaxFileSize = 100
	outside := v.name("../outside")
	writeFile(t, v, "../outside/secret.md", "secret")
	for link, target := range map[string]string{
		"in.md": "ok.md", "out.md": "../outside/secret.md", "abs.md": filepath.Join(outside, "secret.md"),
		"dangling.md": "nothing", "loop.md": "loop.md", "din": "d", "dout": "../outside", "d/up": "..",
	} {
		must(t, os.Symlink(target, v.name(link)))
	}
	must(t, os.Mkdir(v.name("dir.md"), 0o700))
	must(t, unix.Mkfifo(v.name("fifo.md"), 0o600))
	// The socket is bound by a short relative name, because the path of a test
	// directory is too long.
	t.Chdir(v.Dir)
	l, err := net.Listen("unix", "socket.md")
	must(t, err)
	t.Cleanup(func() { l.Close() })
	writeFile(t, v, "sparse.md", "")
	must(t, os.Truncate(v.name("sparse.md"), 100<<30))

	want := map[string]error{
		"in.md": ErrSymlink, "out.md": ErrSymlink, "abs.md": ErrSymlink, "dangling.md": ErrSymlink, "loop.md": ErrSymlink,
		"din": ErrSymlink, "din/ok.md": ErrSymlink, "dout/secret.md": ErrSymlink, "d/up/ok.md": ErrSymlink,
		"d/up/d/ok.md": ErrSymlink, "loop.md/x.md": ErrSymlink,
		"dir.md": ErrNotRegular, "fifo.md": ErrNotRegular, "socket.md": ErrNotRegular, "d": ErrNotRegular,
		"large.md": ErrTooLarge, "sparse.md": ErrTooLarge,
		"none.md": fs.ErrNotExist, "none/x.md": fs.ErrNotExist, "ok.md/x.md": fs.ErrNotExist,
		"": fs.ErrNotExist, ".": fs.ErrNotExist, "..": fs.ErrNotExist, "/ok.md": fs.ErrNotExist, "d/": fs.ErrNotExist,
		"../outside/secret.md": fs.ErrNotExist, "d/../ok.md": fs.ErrNotExist, "d/./ok.md": fs.ErrNotExist,
		"d//ok.md": fs.ErrNotExist, "ok.md\x00": fs.ErrNotExist, outside + "/secret.md": fs.ErrNotExist,
		strings.Repeat("n", 300) + ".md": fs.ErrNotExist,
	}
	if err := unix.Mknod(v.name("device.md"), unix.S_IFCHR|0o600, int(unix.Mkdev(1, 5))); err == nil {
		want["device.md"] = ErrNotRegular
	}
	return v, want
}

func TestRefused(t *testing.T) {
	v, want := newRefusedFiles(t)
	for path, want := range want {
		if _, err := v.Read(path); !errors.Is(err, want) || !Absent(err) {
			t.Errorf("Read(%q): %v, want %v", path, err, want)
		}
		if _, err := v.Stat(path); !errors.Is(err, want) {
			t.Errorf("Stat(%q): %v, want %v", path, err, want)
		}
		if writing, _ := v.Writing(path); writing {
			t.Errorf("Writing(%q) is true", path)
		}
	}
	for _, path := range []string{"ok.md", "d/ok.md", "edge.md"} {
		f, err := v.Read(path)
		if err != nil {
			t.Errorf("Read(%q): %v", path, err)
		}
		if s, err := v.Stat(path); err != nil || s != f.Stamp || s.Size != int64(len(f.Data)) || s.Inode == 0 || s.MTime != f.ModTime.UnixNano() {
			t.Errorf("Stat(%q) = %+v, %v; Read saw %+v", path, s, err, f.Stamp)
		}
	}
}

func TestDirectory(t *testing.T) {
	v, _ := newRefusedFiles(t)
	root, err := v.Root()
	must(t, err)
	if id, ok := v.Directory(""); !ok || id != root {
		t.Errorf("the root is %v, %v, want %v", id, ok, root)
	}
	for path, want := range map[string]bool{"d": true, "dir.md": true, "din": false, "dout": false, "d/up": false, "ok.md": false, "none": false, "..": false} {
		if id, ok := v.Directory(path); ok != want || ok && id == root {
			t.Errorf("Directory(%q) = %v, %v", path, id, ok)
		}
	}
}

// TestRootComesAndGoes checks that the root is the present directory at its
// path, and that a missing root does not make files absent.
func TestRootComesAndGoes(t *testing.T) {
	v := newVault(t, map[string]string{"a.md": "one"})
	first, err := v.Root()
	must(t, err)
	away := v.Dir + ".away"
	must(t, os.Rename(v.Dir, away))
	for op, err := range map[string]error{
		"root": second(v.Root()), "stat": second(v.Stat("a.md")), "read": second(v.Read("a.md")), "look": second(v.Observe("a.md")),
		"walk": second(v.Walk(t.Context(), "", nil)),
	} {
		if !errors.Is(err, ErrRoot) || errors.Is(err, fs.ErrNotExist) || Absent(err) {
			t.Errorf("%s without a root: %v", op, err)
		}
	}
	// The root is replaced by a file, another directory, and a link to the
	// first directory.
	must(t, os.WriteFile(v.Dir, nil, 0o600))
	if _, err := v.Read("a.md"); !errors.Is(err, ErrRoot) {
		t.Errorf("read below a file: %v", err)
	}
	must(t, os.Remove(v.Dir))
	writeFile(t, v, "a.md", "two")
	if f, err := v.Read("a.md"); err != nil || string(f.Data) != "two" {
		t.Errorf("read from the new root: %q, %v", f.Data, err)
	}
	if id, err := v.Root(); err != nil || id == first {
		t.Errorf("the new root is %v, %v; the old one was %v", id, err, first)
	}
	must(t, os.RemoveAll(v.Dir))
	must(t, os.Symlink(away, v.Dir))
	if f, err := v.Read("a.md"); err != nil || string(f.Data) != "one" {
		t.Errorf("read through the root's own link: %q, %v", f.Data, err)
	}
	if id, err := v.Root(); err != nil || id != first {
		t.Errorf("the root is %v, %v, want %v", id, err, first)
	}
}

// TestSwappedForLink checks that continuously replacing a directory by a link
// never makes the vault read through the link.
func TestSwappedForLink(t *testing.T) {
	v := newVault(t, map[string]string{"d/x.md": "inside"})
	outside, link, dir := v.name("../outside"), v.name("link"), v.name("d")
	writeFile(t, v, "../outside/x.md", "canary")
	secret, err := os.Stat(outside + "/x.md")
	must(t, err)
	must(t, os.Symlink(outside, link))
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
				exchange(unix.AT_FDCWD, link, dir)
			}
		}
	}()
	read := 0
	for i := 0; i < 20000 && (i < 2000 || read < 100); i++ {
		f, err := v.Read("d/x.md")
		if err == nil {
			read++
		}
		if strings.Contains(string(f.Data), "canary") {
			t.Fatal("read through a link")
		}
		tree, err := v.Walk(t.Context(), "", nil)
		must(t, err)
		for _, f := range tree.Files {
			if f.Stamp.Inode == secret.Sys().(*syscall.Stat_t).Ino {
				t.Fatal("walked through a link")
			}
		}
	}
	close(stop)
	<-done
	if read == 0 {
		t.Error("nothing was read at all")
	}
}

func TestErrorsNameOperationAndPathOnce(t *testing.T) {
	v := newVault(t, nil)
	for want, err := range map[string]error{
		"read a/b.md: file does not exist":                                          second(v.Read("a/../b.md")),
		"stat .x.md: skipped: hidden or temporary file":                             second(v.Observe(".x.md")),
		"stat none.md: no such file or directory":                                   second(v.Stat("none.md")),
		"open /none/x: cannot open the memory directory: no such file or directory": second((&Vault{Dir: "/none/x"}).Read("a.md")),
	} {
		want = strings.Replace(want, "a/b.md", "a/../b.md", 1)
		if err == nil || err.Error() != want {
			t.Errorf("error is %q, want %q", err, want)
		}
	}
}
