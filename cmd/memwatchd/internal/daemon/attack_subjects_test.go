package daemon

import (
	"fmt"
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

// TestRestoreTellsNothingOfOthersFiles checks that restoring an entry whose marker names
// another subject's file reveals neither the content nor the existence of that file.
func TestRestoreTellsNothingOfOthersFiles(t *testing.T) {
	files, archived := map[string]string{}, ""
	for i, text := range []string{"", "- a\n", "- a\n<<<<<<< a\n=======\n>>>>>>> b\n", "- a\xff\n"} {
		for j, dir := range []string{"_longterms/alice/", "notes/"} {
			path := fmt.Sprintf("%s%d.md", dir, i)
			if i > 0 {
				files[path] = text
			}
			archived += fmt.Sprintf("- zorb <!-- id=k%d from=%s section=A archived=2026-01-01T00:00:00Z -->\n", 2*i+j, path)
		}
	}
	const archive = "_longterms/bob/_archive/2026-01.md"
	files[archive] = archived
	g := serveTree(t, files, nil)
	answers := map[string]bool{}
	for n := range 8 {
		id := fmt.Sprintf("%s#k%d", archive, n)
		status, body := g.sendRequest(t, g.dial("s"), "restore", object{"id": id, "subject": "bob", "context": "private"})
		path := fmt.Sprintf("%s%d.md", []string{"_longterms/alice/", "notes/"}[n%2], n/2)
		answers[strings.NewReplacer(id, "ID", path, "PATH").Replace(fmt.Sprint(status, " ", body))] = true
		if status == http.StatusOK {
			t.Errorf("%s: %s", path, body)
		}
	}
	if len(answers) != 1 {
		t.Errorf("the answers differ: %v", answers)
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
	check := func(when, key, value, want string) {
		t.Helper()
		body := g.mustSend(t, c, "search", object{key: value, "context": "private", "query": words})
		var found []string
		for word := range strings.FieldsSeq(words) {
			if strings.Contains(body, `"text":"- `+word) {
				found = append(found, word)
			}
		}
		if got := strings.Join(found, " "); got != want {
			t.Errorf("%s, %s %q is told %q, want %q", when, key, value, got, want)
		}
	}
	linkedTo := func(when string, linked bool) {
		t.Helper()
		key, account, status := "zorbchat", "zorbaccount", http.StatusForbidden
		if linked {
			key, account, status = "zorbaccount zorbchat", "zorbaccount zorbchat", http.StatusOK
		}
		check(when, "external_key", "telegram:1", key)
		check(when, "subject", "acct:42", account)
		check(when, "subject", "ext:telegram:1", "zorbchat")
		check(when, "external_key", "telegram:2", "zorbother")
		if got, body := g.sendRequest(t, fixed, "search", object{"external_key": "telegram:1", "query": "zorbchat"}); got != status {
			t.Errorf("%s, the listener of the account: %d %s", when, got, body)
		}
	}
	both, none := func(when string) { linkedTo(when, true) }, func(when string) { linkedTo(when, false) }
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

// TestCopiesOfPrivateFiles checks that a conflict copy reveals nothing that its
// file restricts: whatever the copy says about itself, in whatever directory.
func TestCopiesOfPrivateFiles(t *testing.T) {
	root := filepath.Join(t.TempDir(), "m")
	const suffix = ".sync-conflict-20260205-120000-ABCDEFG.md"
	front := func(lines string) string { return "---\n" + lines + "\n---\n" }
	public := front("visibility: public_ok")
	files := map[string]string{
		"notes/private.md":                   front("visibility: private_only") + "- shared\n",
		"notes/private" + suffix:             public + "- canary of a private file <!-- visibility=public_ok -->\n",
		"notes/mixed.md":                     public + "- shared\n- hidden <!-- visibility=private_only -->\n",
		"notes/mixed" + suffix:               public + "- canary of a mixed file\n",
		"2026-02-05/chat.md":                 front("subject_id: acct:42\nvisibility: private_only") + "- shared\n",
		"2026-02-05/chat" + suffix:           front("subject_id: acct:7\nvisibility: public_ok") + "- canary of another subject\n",
		"_longterms/acct_42/_index.md":       front("subject_id: acct:42") + "- shared\n",
		"_longterms/acct_42/_index" + suffix: front("subject_id: acct:7\nvisibility: public_ok") + "- canary in the directory of acct:42\n",
		"_longterms/acct_9/_index" + suffix:  front("subject_id: acct:7\nvisibility: public_ok") + "- canary in a directory without a claim\n",
		"notes/ignored.md":                   "- shared\n",
		"notes/ignored" + suffix:             public + "- canary of an ignored file\n",
		"notes/gone" + suffix:                public + "- canary of a file that is gone\n",
		"notes/broken.md":                    public + "- shared\n<private>\n- secret\n",
		"notes/broken" + suffix:              public + "- canary of a broken file\n",
		"notes/open.md":                      public + "- shared\n",
		"notes/open" + suffix:                public + "- canary for everybody\n",
		".memwatchdignore":                   "ignored.md\n",
	}
	writeTree(t, root, files, time.Now().Add(-time.Hour))
	g := startTarget(t, root, nil)
	c := g.dial("s")
	for _, who := range []object{{"subject": "acct:7", "context": "private"}, {"subject": "owner", "context": "public"}, {"context": "public"}, {}} {
		for _, p := range []probe{
			{"search", object{"query": "canary", "limit": 100}}, {"recent", object{"hours": 100000, "limit": 100}}, {"load", object{}},
			{"context", object{}}, {"todos", object{}}, {"complete", object{"what": "path", "prefix": "notes/"}},
		} {
			body := g.mustSend(t, c, p.operation, mergeObjects(p.request, who))
			text := strings.ReplaceAll(body, "canary for everybody", "")
			for _, secret := range []string{"canary of", "canary in", "private.sync", "mixed.sync", "gone.sync", "broken.sync", `"total":2`} {
				if strings.Contains(text, secret) {
					t.Errorf("%v: %s has %q: %s", who, p.operation, secret, body)
				}
			}
		}
		for path := range files {
			if !strings.HasSuffix(path, suffix) || strings.Contains(path, "open") {
				continue
			}
			if status, body := g.sendRequest(t, c, "get", mergeObjects(object{"path": path}, who)); status != http.StatusNotFound {
				t.Errorf("%v reads %s: %d %s", who, path, status, body)
			}
		}
	}
	// The owner finds the copies of the owner's files.
	body := g.mustSend(t, c, "search", mergeObjects(object{"query": "canary", "limit": 100}, ownerInPrivate))
	for _, found := range []string{"private file", "mixed file", "gone", "broken file", "everybody"} {
		if !strings.Contains(body, found) {
			t.Errorf("the owner does not find the copy with %q: %s", found, body)
		}
	}
	if strings.Contains(body, "another subject") || strings.Contains(body, "ignored file") {
		t.Errorf("the owner finds %s", body)
	}
	for _, p := range []probe{{"edit", object{"old_text": "canary", "new_text": "changed"}}, {"write", object{"text": "changed\n"}}} {
		request := mergeObjects(mergeObjects(p.request, object{"path": "notes/open" + suffix}), ownerInPrivate)
		if status, body := g.sendRequest(t, c, p.operation, request); status == http.StatusOK {
			t.Errorf("%s changes a conflict copy: %s", p.operation, body)
		}
	}
}
