package daemon

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

// TestFilesAreMadeInPlacesOfOnesOwn checks that creating files never gives a
// subject read access to the text of others: neither by making a directory its
// own, nor by writing where other subjects' files are read.
func TestFilesAreMadeInPlacesOfOnesOwn(t *testing.T) {
	root := filepath.Join(t.TempDir(), "m")
	private := map[string]string{
		"proj/memory/2026-01-01.md": "- zorb one\n", "proj/memory/plan.md": "- zorb two\n", "proj/USER.md": "- zorb three\n", "proj/SOUL.md": "- zorb four\n",
		"kept/MEMORY.md": "- zorb five\n",
	}
	writeTree(t, root, private, time.Now().Add(-time.Hour))
	g := startTarget(t, root, publicDays)
	c := g.dial("s")
	write := func(subject, path, text string) (int, string) {
		return g.sendRequest(t, c, "write", object{"path": path, "text": text, "subject": subject, "context": "private"})
	}
	for _, subject := range []string{"proj", "kept", "eve"} {
		for _, path := range []string{
			"proj/MEMORY.md", "proj/memory/mine.md", "kept/memory/mine.md", "kept/memory/2026-01-01.md", "kept/memory/2026-01-01/s.md",
			"_longterms/_host.md", "_longterms/_identities.md", "MEMORY.md", "USER.md", "SOUL.md", "memory/" + testkit.DaysAgo(0) + ".md", "notes.md",
		} {
			for _, front := range []string{"subject_id: " + subject, "visibility: public_ok", "visibility: public_ok\nsubject_id: " + subject} {
				if status, body := write(subject, path, "---\n"+front+"\n---\n- mine\n"); status == http.StatusOK {
					t.Errorf("%s makes %s with %q", subject, path, front)
				} else if got := errorCode(t, body); got != "not_found" {
					t.Errorf("%s makes %s with %q: %s", subject, path, front, body)
				}
			}
		}
		body := g.mustSend(t, c, "search", object{"query": "zorb", "subject": subject, "context": "private"})
		if strings.Contains(body, "zorb ") {
			t.Errorf("%s finds %s", subject, body)
		}
	}
	for _, path := range []string{testkit.DaysAgo(0) + "/s.md", "2026-01-01/new.md"} { // shared by all subjects
		if status, body := write("proj", path, "- mine\n"); status != http.StatusForbidden {
			t.Errorf("proj makes %s: %s", path, body)
		}
	}
	for path, who := range map[string]string{
		testkit.DaysAgo(0) + "/s.md": rootOwner, "_longterms/eve/fact.md": "eve", "_longterms/kept/note.md": "kept", "notes.md": rootOwner, "new/MEMORY.md": rootOwner,
	} {
		if status, body := write(who, path, "- mine\n"); status != http.StatusOK {
			t.Errorf("%s cannot make %s: %s", who, path, body)
		}
	}
	for _, path := range []string{
		"_longterms/_identities.yaml", ".memwatchdignore", "notes.txt", "_longterms/owner/.hidden.md", ".hidden/a.md", "../out.md", "a/../b.md", "/abs.md", "a//b.md",
		"a\nb.md", "a\x00.md", "a/./b.md", "a.md/", "", "#a.md#", ".#a.md", "a.sync-conflict-20260101-120000-ABCDEFG.md", "notes.md/a.md", strings.Repeat("a", 300) + ".md",
	} {
		if status, body := write(rootOwner, path, "- mine\n"); status == http.StatusOK || errorCode(t, body) != "invalid" {
			t.Errorf("%q is made: %d %s", path, status, body)
		}
	}
}

// TestClaimsBeforeAnythingIsRead checks that a subject whose name only maps to
// another subject's directory never gains access to it, not even while the
// daemon starts and has not read the claims.
func TestClaimsBeforeAnythingIsRead(t *testing.T) {
	root := filepath.Join(t.TempDir(), "m")
	files := map[string]string{
		"_longterms/acct_42/fact.md":    "- the safe is behind the zorbpicture\n",
		"_longterms/acct_42/profile.md": "- **zorbname**: Ann <!-- visibility=public_ok -->\n",
		// The last of all files to be read.
		"_longterms/acct_42/zz.md":  "---\nsubject_id: acct:42\n---\n- mine\n",
		"_longterms/owner/fact.md":  "- zorbowner\n",
		"_longterms/plain/fact.md":  "- zorbplain\n",
		"_longterms/plain/other.md": "- more\n",
	}
	for i := range 300 {
		files["2026-02-04/s"+strings.Repeat("x", i%50)+string(rune('a'+i%26))+".md"] = "- filler\n"
	}
	writeTree(t, root, files, time.Now().Add(-time.Hour))
	configure := func(c *config.Config, base string) {
		c.Tuning.SyncTimeout = 0 // answer at once, from the data read so far
	}
	probe := func(g *target, c *http.Client) {
		t.Helper()
		twin := object{"subject": "acct_42", "context": "private"}
		for _, path := range []string{"_longterms/acct_42/fact.md", "_longterms/acct_42/profile.md"} {
			if status, body := g.sendRequest(t, c, "get", mergeObjects(twin, object{"path": path})); status != http.StatusNotFound {
				t.Fatalf("another's file is opened: %s", body)
			}
		}
		for _, query := range []string{"zorbpicture", "zorbname", ""} {
			if body := g.mustSend(t, c, "search", mergeObjects(twin, object{"query": query, "limit": 100})); strings.Contains(body, "acct_42/") {
				t.Fatalf("another's entry is found: %s", body)
			}
		}
		if body := g.mustSend(t, c, "load", twin); strings.Contains(body, "zorb") {
			t.Fatalf("another's file is loaded: %s", body)
		}
	}
	g := openTarget(t, root, configure)
	c := g.dial("s")
	asked := 0
	for g.daemon.Report().Index.Degraded {
		probe(g, c)
		asked++
	}
	probe(g, c)
	t.Logf("asked %d times while the first index was built", asked)
	mine := object{"subject": "acct:42", "context": "private", "path": "_longterms/acct_42/fact.md"}
	if body := g.mustSend(t, c, "get", mine); !strings.Contains(body, "zorbpicture") {
		t.Errorf("its own subject does not read it: %s", body)
	}
	if body := g.mustSend(t, c, "get", object{"subject": "plain", "context": "private", "path": "_longterms/plain/fact.md"}); !strings.Contains(body, "zorbplain") {
		t.Errorf("a directory that names nobody is not opened: %s", body)
	}
	testkit.Must(t, g.stop())

	// After a restart the claim is known from the index and holds at once,
	// unless the file that made it has changed.
	g.startDaemon(configure)
	c = g.dial("s")
	waitUntil(t, "its own subject reads it after a restart", func() bool {
		probe(g, c)
		status, _ := g.sendRequest(t, c, "get", mine)
		return status == http.StatusOK
	})
	for g.daemon.Report().Index.Degraded {
		probe(g, c)
	}
	probe(g, c)
	testkit.Must(t, g.stop())
	testkit.Must(t, os.WriteFile(filepath.Join(root, "_longterms/acct_42/zz.md"), []byte("---\nsubject_id: acct_42\n---\n- theirs\n"), 0o644))
	g.startDaemon(configure)
	g.waitComplete()
	if status, _ := g.sendRequest(t, g.dial("s"), "get", mine); status != http.StatusNotFound {
		t.Errorf("a claim that has gone still opens the directory: %d", status)
	}
}

// mergeObjects returns the fields of a and of b. Those of b take precedence.
func mergeObjects(a, b object) object {
	all := object{}
	for _, o := range []object{a, b} {
		for k, v := range o {
			all[k] = v
		}
	}
	return all
}
