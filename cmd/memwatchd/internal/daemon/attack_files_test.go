package daemon

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
	"github.com/memwatchd/memwatchd/ipc"
)

// canary is a word found only outside the memory, or in text that must not be
// reachable by another path.
const canary = "zorbcanary"

// checkCanary fails the test if the canary is in an answer to any subject, or in a
// file that the daemon keeps.
func (g *target) checkCanary(t *testing.T) {
	t.Helper()
	c := g.dial("s")
	for _, subject := range []string{"", "owner", "acct:42", "bob"} {
		scope := object{"subject": subject, "context": "private"}
		for op, request := range map[string]object{
			"search": {"query": canary, "include_archived": true, "limit": 100}, "recent": {"hours": 876000, "limit": 100}, "load": {"days": 3650}, "context": {"days": 3650}, "todos": {"state": "all"}, "check": {},
		} {
			if _, body := g.sendRequest(t, c, op, mergeObjects(scope, request)); strings.Contains(withoutEcho(body), canary) {
				t.Errorf("%s by %q: %s", op, subject, body)
			}
		}
	}
	err := filepath.WalkDir(g.base, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil // it may vanish during the walk
		}
		if data, err := os.ReadFile(path); err == nil && bytes.Contains(data, []byte(canary)) {
			t.Errorf("%s holds the canary", path)
		}
		return nil
	})
	testkit.Must(t, err)
	if strings.Contains(g.log.String(), canary) {
		t.Errorf("the log holds the canary:\n%s", g.log.String())
	}
}

// tooLong returns the status of a request with a path that exceeds its bound, or 0.
func tooLong(path string) int {
	if len(path) > 4096 {
		return http.StatusBadRequest
	}
	return 0
}

// TestLinksAndOddFiles checks that the daemon reads only regular files that lie below the
// root by their own names.
func TestLinksAndOddFiles(t *testing.T) {
	dir := t.TempDir()
	root, outside := filepath.Join(dir, "m"), filepath.Join(dir, "outside")
	writeTree(t, root, map[string]string{"2026-02-04/s.md": "- tea\n", "MEMORY.md": "- private tea\n"}, time.Now().Add(-time.Hour))
	writeTree(t, outside, map[string]string{"s.md": "- " + canary + "\n", "day/s.md": "- " + canary + "\n"}, time.Now().Add(-time.Hour))
	link := func(to, name string) {
		t.Helper()
		name = filepath.Join(root, name)
		testkit.Must(t, os.MkdirAll(filepath.Dir(name), 0o755))
		testkit.Must(t, os.Symlink(to, name))
	}
	link(filepath.Join(outside, "s.md"), "2026-02-04/absolute.md")
	link("../../outside/s.md", "2026-02-04/relative.md")
	link(filepath.Join(outside, "day"), "2026-02-05")
	link("../outside", "memory")
	link(".", "loop")
	link("..", "2026-02-04/up")
	link("self.md", "self.md")
	link("/proc/self/environ", "2026-02-04/proc.md")
	link("/dev/zero", "2026-02-04/zero.md")
	link("../MEMORY.md", "2026-02-04/inner.md") // would make private text public
	link("notes", "2026-02-06")
	link(outside, "_longterms")
	testkit.Must(t, syscall.Mkfifo(filepath.Join(root, "2026-02-04/fifo.md"), 0o644))
	testkit.Must(t, os.Mkdir(filepath.Join(root, "2026-02-04/dir.md"), 0o755))
	socket, err := ipc.Endpoint{Path: filepath.Join(shortDir(t), "x.md")}.Listen()
	testkit.Must(t, err)
	defer socket.Close()
	if err := os.Rename(socket.Path, filepath.Join(root, "2026-02-04/socket.md")); err != nil {
		t.Logf("no socket in the memory: %v", err) // another file system
	}
	testkit.WriteFile(t, filepath.Join(root, "sparse.md"), "")
	testkit.Must(t, os.Truncate(filepath.Join(root, "sparse.md"), 4<<20+1))
	g := startTarget(t, root, publicDays)
	g.checkCanary(t)
	c := g.dial("s")
	list := g.mustSend(t, c, "check", ownerInPrivate)
	for path, reason := range map[string]string{"self.md": "symbolic link", "2026-02-04/fifo.md": "not a regular file",
		"2026-02-04/dir.md": "directory", "sparse.md": "too large"} {
		if !regexp.MustCompile(`"path":"` + path + `","reason":"[^"]*` + reason).MatchString(list) {
			t.Errorf("%s is not listed as %s: %s", path, reason, list)
		}
	}
	owner := ownerInPrivate
	for _, path := range []string{
		"2026-02-04/absolute.md", "2026-02-04/relative.md", "2026-02-05/s.md", "memory/s.md", "loop/MEMORY.md", "2026-02-04/up/MEMORY.md", "self.md", "2026-02-04/proc.md", "2026-02-04/zero.md", "2026-02-04/inner.md",
		"_longterms/s.md", "2026-02-04/fifo.md", "2026-02-04/dir.md", "2026-02-04/socket.md", "2026-02-04",
		"../outside/s.md", "2026-02-04/../MEMORY.md", "./MEMORY.md", "/MEMORY.md", "//MEMORY.md", root + "/MEMORY.md", filepath.Join(outside, "s.md"), "MEMORY.md/", "MEMORY.md/.", "memory/../MEMORY.md", "2026-02-04//s.md",
		"MEMORY.md\x00", "\x00", "MEMORY.md\x00.md", "2026-02-04\\s.md", "C:\\MEMORY.md", "~/MEMORY.md", "%2e%2e/outside/s.md", "file:///etc/passwd", strings.Repeat("a/", 3000) + "b.md", strings.Repeat("a", 300) + ".md", "#", "#x", "..", ".", " ", "\xff.md",
	} {
		for _, request := range []object{{"path": path}, {"id": path + "#x"}} {
			if status, body := g.sendRequest(t, c, "get", mergeObjects(owner, request)); status != http.StatusNotFound && status != tooLong(path) {
				t.Errorf("%.200q: %d %.200s", path, status, body)
			}
		}
		if status, _ := g.sendRequest(t, c, "related", mergeObjects(owner, object{"path": path})); status != http.StatusNotFound && status != tooLong(path) {
			t.Errorf("related to %.200q: %d", path, status)
		}
		if status, body := g.sendRequest(t, c, "search", mergeObjects(owner, object{"path": path, "query": "tea"})); status != http.StatusOK && status != http.StatusBadRequest {
			t.Errorf("search below %q: %d %.200s", path, status, body)
		}
	}
	if strings.Contains(g.log.String(), "level=ERROR") {
		t.Errorf("a path in a request is taken for more than that:\n%s", g.log.String())
	}
	// A hard link to a file outside is a file like any other: a user with write
	// access to the memory put it there.
	testkit.Must(t, os.WriteFile(filepath.Join(outside, "shared.md"), []byte("- zorbshared\n"), 0o644))
	testkit.Must(t, os.Link(filepath.Join(outside, "shared.md"), filepath.Join(root, "2026-02-04/hard.md")))
	if body := g.mustSend(t, c, "search", object{"query": "zorbshared"}); !strings.Contains(body, "hard.md") {
		t.Errorf("a hard link is not read: %s", body)
	}
}

// TestVisibilityFlips checks that when a file's visibility changes, its text
// disappears from every answer at once, or appears in it.
func TestVisibilityFlips(t *testing.T) {
	root := filepath.Join(t.TempDir(), "m")
	now := testkit.DaysAgo(0)
	open := "---\nsummary: the zorbword story\ntags: [zorbtag]\n---\n\n## Tasks\n\n- [ ] zorbtask [to](MEMORY.md) <!-- id=zorbid -->\n- zorbword #zorbtag\n"
	paths := map[string]string{now + "/s.md": open, "MEMORY.md": "- home\n", now + "/other.md": "- see [it](" + now + "/s.md)\n"}
	writeTree(t, root, paths, time.Now().Add(-time.Hour))
	g := startTarget(t, root, publicDays)
	c := g.dial("s")
	name := filepath.Join(root, now, "s.md")
	told := func() string {
		var all strings.Builder
		for _, p := range []probe{
			{"search", object{"query": "zorbword"}}, {"search", object{"query": `"zorbtask"`}}, {"search", object{"tags": []string{"zorbtag"}, "mode": "overlap", "all": true}},
			{"search", object{"path": now}}, {"get", object{"path": now + "/s.md"}}, {"get", object{"id": "zorbid"}}, {"recent", object{"hours": 1000}}, {"related", object{"path": now + "/other.md"}},
			{"load", object{"session": "s"}}, {"context", object{}}, {"todos", object{}},
		} {
			_, body := g.sendRequest(t, c, p.operation, p.request)
			// Errors quote the request.
			all.WriteString(strings.NewReplacer(`\"zorbid\" not found`, "", "[it]("+now+"/s.md)", "").Replace(body))
		}
		return all.String()
	}
	if n := strings.Count(told(), "zorb"); n < 20 {
		t.Fatalf("only %d mentions of what is public: %s", n, told())
	}
	replace := func(text string) {
		t.Helper()
		testkit.Must(t, os.WriteFile(name, []byte(text), 0o644))
	}
	for i, closed := range []string{
		strings.Replace(open, "---\n\n##", "visibility: private_only\n---\n\n##", 1),
		strings.Replace(open, "summary", "subject_id: bob\nsummary", 1),
		strings.Replace(open, "tags:", "tags", 1), // broken
		"---\nvisibility: nonsense\n" + open[4:],  // not understood
		"\n" + open,                               // misplaced, and so broken
		"<private>\n\n" + open,                    // to the end
		"---\nsummary: x\n---\n\n- y\n- z <!-- visibility=private_only -->\n",
		"",
	} {
		replace(closed)
		if body := told(); strings.Contains(withoutEcho(body), "zorb") {
			t.Errorf("%d: %q is told:\n%s", i, closed, body)
		}
		replace(open)
		if n := strings.Count(told(), "zorb"); n < 20 {
			t.Errorf("%d: only %d mentions of what is public again", i, n)
		}
	}
	// The same size and the same time: only the change time differs.
	open = "- zorbword <!-- visibility=public_ok -->\n"
	replace(open)
	when := time.Now().Add(-time.Minute).Truncate(time.Second)
	for i := range 20 {
		for _, v := range []string{"public_ok", "public_no"} {
			f, err := os.OpenFile(name, os.O_WRONLY, 0)
			testkit.Must(t, err)
			if _, err := f.WriteAt([]byte(strings.Replace(open, "public_ok", v, 1)), 0); err != nil {
				t.Fatal(err)
			}
			testkit.Must(t, f.Close())
			testkit.Must(t, os.Chtimes(name, when, when))
			if body := told(); strings.Contains(withoutEcho(body), "zorb") != (v == "public_ok") {
				t.Fatalf("%d: it is %s, and told:\n%s", i, v, body)
			}
		}
	}
	// Deleted here, and at the new path the owner's.
	testkit.Must(t, os.Rename(name, filepath.Join(root, "MEMORY.md")))
	waitUntil(t, "a file that has gone is told of no more", func() bool {
		body := told()
		return !strings.Contains(strings.ReplaceAll(body, "MEMORY.md", ""), "/s.md#")
	})
}

// TestWrittenSlowly checks that while a file is being written, only its owner
// may see its new text.
func TestWrittenSlowly(t *testing.T) {
	g := serveTree(t, map[string]string{"2026-02-04/a.md": "- tea\n"}, func(c *config.Config, base string) {
		publicDays(c, base)
		c.Tuning.MaxWait = 100 * time.Millisecond
	})
	c := g.dial("s")
	f, err := os.Create(filepath.Join(g.root, "2026-02-04/new.md"))
	testkit.Must(t, err)
	defer f.Close()
	owner := object{"subject": "owner", "context": "private", "query": "zorbhalf", "sync": false}
	public := object{"query": "zorbhalf", "sync": false}
	seen := func(scope object) bool { return strings.Contains(g.mustSend(t, c, "search", scope), "new.md#") }
	for i := range 60 {
		if _, err := fmt.Fprintf(f, "- zorbhalf %d\n", i); err != nil {
			t.Fatal(err)
		}
		if seen(public) {
			t.Fatalf("half of a file is public: %s", g.mustSend(t, c, "search", public))
		}
		if _, body := g.sendRequest(t, c, "get", object{"path": "2026-02-04/new.md", "sync": false}); strings.Contains(body, "zorbhalf") {
			t.Fatalf("half of a file is public: %s", body)
		}
	}
	waitUntil(t, "a file that is written without pause is found by its owner", func() bool {
		fmt.Fprintln(f, "- more")
		return seen(owner)
	})
	if seen(public) {
		t.Error("half of a file is public")
	}
	testkit.Must(t, f.Close())
	waitUntil(t, "the whole of it is public", func() bool { return seen(public) })
}
