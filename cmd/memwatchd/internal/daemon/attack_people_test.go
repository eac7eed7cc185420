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

// TestClaimOfABrokenFile checks that a claim is not lost while the file that
// makes it is broken.
func TestClaimOfABrokenFile(t *testing.T) {
	g := serveTree(t, map[string]string{
		"_longterms/acct_42/fact.md":   "- zorb\n",
		"_longterms/acct_42/_index.md": "---\nsubject_id: acct:42\n---\n- x\n",
	}, nil)
	c := g.dial("s")
	twin := object{"subject": "acct_42", "context": "private", "path": "_longterms/acct_42/fact.md"}
	name := filepath.Join(g.root, "_longterms/acct_42/_index.md")
	for _, text := range []string{"---\nsubject_id: acct:42\n- x\n", "---\nsubject_id: [acct:42\n---\n- x\n", "---\nsubj"} {
		testkit.Must(t, os.WriteFile(name, []byte(text), 0o644))
		g.mustSend(t, c, "sync", object{"timeout": "2m"})
		if status, body := g.sendRequest(t, c, "get", twin); status != http.StatusNotFound {
			t.Errorf("%q opens the directory to another: %s", text, body)
		}
	}
	// Removing the name from a valid file ends the claim.
	testkit.Must(t, os.WriteFile(name, []byte("- x\n"), 0o644))
	if status, body := g.sendRequest(t, c, "get", twin); status != http.StatusOK {
		t.Errorf("a directory that names nobody is not opened: %s", body)
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
