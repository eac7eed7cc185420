package e2e

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/cli"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

// again starts the same daemon once more, and returns its output when it ends.
func (l *live) again() (string, error) {
	cmd := exec.Command("memwatchd", "serve", "--config", l.config)
	cmd.Env = l.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestStartedWhileItEnds checks that a second daemon that is started while the
// first one runs or shuts down ends at once and names the process of the first
// one. The first daemon's socket exists as long as the first daemon does. After
// that the next one starts.
func TestStartedWhileItEnds(t *testing.T) {
	t.Parallel()
	l := newLive(t, filepath.Join(t.TempDir(), "root"), "")
	l.env = append(l.env, "MEMWATCHD_IPC_DRAIN=1m", "MEMWATCHD_IPC_READ_BODY=1m")
	l.write("a.md", "- quince\n")
	l.start()
	refused := func(when string) {
		t.Helper()
		began := time.Now()
		out, err := l.again()
		if exit, ok := err.(*exec.ExitError); !ok || exit.ExitCode() != cli.ExitFailed ||
			!strings.Contains(out, fmt.Sprintf("held by process %d, which answers at %s", l.cmd.Process.Pid, l.socket)) {
			t.Errorf("%s, it ends with %v, and says %q", when, err, out)
		}
		if took := time.Since(began); took > 40*time.Second {
			t.Errorf("%s, it takes %s to end", when, took)
		}
	}
	refused("while the first one runs")
	if a := l.search(owner, "quince", nil); a.Total != 1 {
		t.Errorf("the first one does not answer any more: %+v", a)
	}

	// The daemon completes a pending request, and so takes a while to end.
	c, err := net.Dial("unix", l.socket)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	const question = `{"query":"quince","context":"public"}`
	fmt.Fprintf(c, "POST /v1/search HTTP/1.1\r\nHost: m\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", len(question))
	c.SetReadDeadline(time.Now().Add(30 * time.Second))
	if _, err := io.ReadFull(c, make([]byte, len("HTTP/1.1 100 Continue\r\n\r\n"))); err != nil {
		t.Fatal(err)
	}
	l.cmd.Process.Signal(syscall.SIGTERM)
	refused("while the first one ends")
	if _, err := os.Lstat(l.socket); err != nil {
		t.Errorf("the first one's socket: %v", err)
	}
	io.WriteString(c, question)
	if answer, err := io.ReadAll(c); !strings.Contains(string(answer), "200 OK") {
		t.Errorf("the request under way is answered %q, %v", answer, err)
	}
	if err := <-l.done; err != nil {
		t.Errorf("the first one ends with %v", err)
	}
	l.done = nil
	l.start()
	if a := l.search(owner, "quince", nil); a.Total != 1 {
		t.Errorf("the next one answers %+v", a)
	}
}

// TestStartedAfterKill checks that the files of a killed daemon do not keep
// another one from starting, even if another process now has its process ID.
func TestStartedAfterKill(t *testing.T) {
	t.Parallel()
	l := newLive(t, filepath.Join(t.TempDir(), "root"), "")
	l.write("a.md", "- quince\n")
	for round := range 3 {
		l.start()
		l.cmd.Process.Kill()
		<-l.done
		l.done = nil
		if _, err := os.Lstat(l.socket); err != nil {
			t.Fatalf("its socket: %v", err)
		}
		if round == 0 {
			continue
		}
		// As if this process had got that ID.
		locks := 0
		err := filepath.WalkDir(filepath.Dir(l.config), func(path string, d os.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "lock") {
				return err
			}
			locks++
			return os.WriteFile(path, fmt.Appendf(nil, `{"pid":%d,"socket":%q}`, os.Getpid(), l.socket), 0o600)
		})
		if err != nil || locks != 3 {
			t.Errorf("%d locks are left, %v", locks, err)
		}
	}
	l.start()
	if a := l.search(owner, "quince", nil); a.Total != 1 {
		t.Errorf("it answers %+v", a)
	}
}

// TestSocketInBadPlaces checks that if a socket cannot be created, or would
// not be safe, the daemon reports that before it does anything else.
func TestSocketInBadPlaces(t *testing.T) {
	t.Parallel()
	l := newLive(t, filepath.Join(t.TempDir(), "root"), "")
	l.write("a.md", "- quince\n")
	base := filepath.Dir(l.config)
	dir := func(name string, mode os.FileMode) string {
		t.Helper()
		path := filepath.Join(base, name)
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if err := os.Symlink(dir("real", 0o700), filepath.Join(base, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", filepath.Join(base, "dangling")); err != nil {
		t.Fatal(err)
	}
	testkit.WriteFile(t, filepath.Join(base, "file"), "mine\n")
	long := filepath.Join(base, strings.Repeat("x", 108-len(base)-1))
	for socket, want := range map[string]string{
		long:                                    "108 bytes",
		filepath.Join(dir("group", 0o770), "s"): "other users can write",
		filepath.Join(dir("everybody", 0o707), "s"):      "other users can write",
		filepath.Join(base, "link", "s"):                 "symbolic link",
		filepath.Join(base, "dangling"):                  "not a socket",
		filepath.Join(base, "file"):                      "not a socket",
		filepath.Join(base, "file", "s"):                 "not a directory",
		filepath.Join(dir("taken", 0o700), "..", "file"): "not a socket",
	} {
		l.socket = socket
		l.configure("")
		out, err := l.again()
		if exit, ok := err.(*exec.ExitError); !ok || exit.ExitCode() == 0 || !strings.Contains(out, want) || strings.Contains(out, "msg=") {
			t.Errorf("%s: it ends with %v, and says %q, want %q", socket, err, out, want)
		}
		if strings.Count(out, "\n") != 1 {
			t.Errorf("%s: it says more than is of use: %q", socket, out)
		}
	}
	if text, err := os.ReadFile(filepath.Join(base, "file")); string(text) != "mine\n" {
		t.Errorf("the file that was there: %q, %v", text, err)
	}
	// The longest valid path.
	l.socket = long[:107]
	l.configure("")
	l.start()
	if a := l.search(owner, "quince", nil); a.Total != 1 {
		t.Errorf("it answers %+v", a)
	}
}

// TestStartsOnManyFiles checks that a daemon that starts on very many files
// answers from the beginning and reports its progress.
func TestStartsOnManyFiles(t *testing.T) {
	faults(t)
	l := newLive(t, filepath.Join(t.TempDir(), "root"), "")
	const dirs, files = 1001, 100000
	for n := range files {
		l.write(fmt.Sprintf("d%04d/f%d.md", n%dirs, n), fmt.Sprintf("# Note %d\n\n- quince %d\n- [ ] medlar\n", n, n))
	}
	began := time.Now()
	l.launch()
	// The progress it reports.
	first, building, before := time.Duration(0), 0, -1
	var asked time.Time
	l.within(5*time.Minute, "the index is whole", func() bool {
		s, err := l.status()
		if err != nil || s.RootState == "starting" {
			return false
		}
		if first == 0 {
			first = time.Since(began)
		}
		if !s.Index.Degraded {
			return true
		}
		if s.Index.Done < before || s.Index.Done > s.Index.Total || s.Index.Total > files {
			t.Errorf("it says that it has indexed %d of %d, before that %d", s.Index.Done, s.Index.Total, before)
		}
		before = s.Index.Done
		if s.Index.Total == files && s.Index.Done > 0 {
			building++
		}
		if time.Since(asked) < time.Second { // each request reads files, which costs time
			return false
		}
		asked = time.Now()
		a := l.search(owner, "quince", fields{"limit": 1})
		if took := time.Since(asked); took > 30*time.Second {
			t.Errorf("a question takes %s", took)
		}
		if a.Index.Degraded && a.Total == 0 && s.Index.Done > 0 {
			t.Errorf("with %d files indexed nothing is found: %+v", s.Index.Done, a)
		}
		return false
	})
	t.Logf("%d files in %d directories: the first answer after %.1f s, indexed after %.1f s, peak %d MiB", files, dirs, first.Seconds(), time.Since(began).Seconds(), l.peak())
	if building == 0 {
		t.Error("it never said how far it is")
	}
	l.sync()
	s := l.mustStatus()
	if a := l.search(owner, "quince", fields{"limit": 1}); a.Total != files || s.Files != files || s.Watch.Directories+len(s.Watch.Polled) < 1 {
		t.Errorf("%d are found, status says %d files, %+v", a.Total, s.Files, s.Watch)
	}
	// Again, with the existing index.
	if err := l.stop(); err != nil {
		t.Fatal(err)
	}
	began = time.Now()
	l.start()
	t.Logf("started again in %.1f s", time.Since(began).Seconds())
	if a := l.search(owner, "quince", fields{"limit": 1}); a.Total != files {
		t.Errorf("%d are found after that, want %d", a.Total, files)
	}
}
