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

// TestLinksOfKeys checks that a link counts only in a file that belongs to the
// daemon's user and that others cannot write, and that it ends when it is
// removed from the file. A link gives the holder of the key access to the
// memory of the account, and the account access to that of the key.
func TestLinksOfKeys(t *testing.T) {
	root := filepath.Join(t.TempDir(), "m")
	const linked = "links:\n  telegram:1: acct:42\n"
	writeTree(t, root, map[string]string{
		"_longterms/_identities.yaml":       linked,
		"_longterms/acct_42/fact.md":        "- zorbaccount\n",
		"_longterms/ext_telegram_1/fact.md": "- zorbchat\n",
		"_longterms/ext_telegram_2/fact.md": "- zorbother\n",
	}, time.Now().Add(-time.Hour))
	g := startTarget(t, root, func(c *config.Config, base string) {
		c.IPC.Listeners = append(c.IPC.Listeners, config.Listener{Path: filepath.Join(base, "acct"), Mode: "0600", Subject: "acct:42", Context: "private"})
	})
	c, fixed := g.dial("s"), g.dial("acct")
	name := filepath.Join(root, "_longterms/_identities.yaml")
	words := "zorbaccount zorbchat zorbother"
	told := func(key, value string) string {
		t.Helper()
		body := g.mustSend(t, c, "search", object{key: value, "context": "private", "query": words})
		var found []string
		for word := range strings.FieldsSeq(words) {
			if strings.Contains(body, `"text":"- `+word) {
				found = append(found, word)
			}
		}
		return strings.Join(found, " ")
	}
	check := func(when, key, value, want string) {
		t.Helper()
		if got := told(key, value); got != want {
			t.Errorf("%s, %s %q is told %q, want %q", when, key, value, got, want)
		}
	}
	both := func(when string) {
		t.Helper()
		check(when, "external_key", "telegram:1", "zorbaccount zorbchat")
		check(when, "subject", "acct:42", "zorbaccount zorbchat")
		check(when, "subject", "ext:telegram:1", "zorbchat")
		check(when, "external_key", "telegram:2", "zorbother")
		if status, body := g.sendRequest(t, fixed, "search", object{"external_key": "telegram:1", "query": "zorbchat"}); status != http.StatusOK || !strings.Contains(body, "zorbchat") {
			t.Errorf("%s, the listener of the account: %d %s", when, status, body)
		}
	}
	none := func(when string) {
		t.Helper()
		check(when, "external_key", "telegram:1", "zorbchat")
		check(when, "subject", "acct:42", "zorbaccount")
		if status, body := g.sendRequest(t, fixed, "search", object{"external_key": "telegram:1", "query": "zorbchat"}); status != http.StatusForbidden {
			t.Errorf("%s, the listener of the account: %d %s", when, status, body)
		}
	}
	write := func(text string, mode os.FileMode) {
		t.Helper()
		testkit.Must(t, os.WriteFile(name, []byte(text), 0o644))
		testkit.Must(t, os.Chmod(name, mode))
	}
	both("linked")
	// An invalid or foreign file is ignored: the last valid links apply.
	for _, broken := range []string{"links:\n  telegram:2: acct:42\n  x\n", "links: [telegram:2]\n", "links:\n  telegram:2: [acct:42]\n", "lynx:\n  telegram:2: acct:42\n", "links: &a\n  telegram:2: acct:42\nmore: *a\n", "links:\n  telegram:2: ext:telegram:1\n", "links:\n  telegram:2: acct:42\n  telegram:2: acct:43\n"} {
		write(broken, 0o644)
		both(broken)
	}
	for _, mode := range []os.FileMode{0o664, 0o646, 0o666} {
		write("links:\n  telegram:2: acct:42\n", mode)
		both("written by others: " + mode.String())
	}
	if os.Geteuid() == 0 {
		write("links:\n  telegram:2: acct:42\n", 0o644)
		testkit.Must(t, os.Chown(name, 4711, -1))
		both("of another user")
		testkit.Must(t, os.Chown(name, 0, -1))
	}
	elsewhere := filepath.Join(t.TempDir(), "i.yaml")
	testkit.Must(t, os.WriteFile(elsewhere, []byte("links:\n  telegram:2: acct:42\n"), 0o644))
	testkit.Must(t, os.Remove(name))
	testkit.Must(t, os.Symlink(elsewhere, name))
	check("a symbolic link", "external_key", "telegram:2", "zorbother")
	check("a symbolic link", "subject", "ext:telegram:2", "zorbother")
	testkit.Must(t, os.Remove(name))
	none("removed")
	write(linked, 0o644)
	both("linked again")
	write("links:\n", 0o644)
	none("unlinked")
	write("links:\n  telegram:1: acct:43\n", 0o644)
	check("linked to another", "external_key", "telegram:1", "zorbchat")
	check("linked to another", "subject", "acct:42", "zorbaccount")
}
