package ops

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
)

const ownersSession = "---\nsession_id: s1\nsummary: Planned the move\nchannel: chat\ntasks: \"0/1\"\n---\n\n# 2026-02-05 Short-Term Memory\n\n" +
	"## Temporary Facts\n- **Door code**: 1234\n\n## Tasks\n- [ ] Book a van\n"

// hostile is a draft that tries to replace everything in ownersSession.
var hostile = api.Draft{
	Summary: "Nothing to see", Source: "owner", Channel: "mail", ContactID: "c9", ContactNickname: "Eve",
	Facts: []api.DraftItem{{Title: "Door code", Text: "9999"}},
	Tasks: []api.DraftTask{{Text: "Book a van", Done: true}},
}

// TestPublicAddsOnly checks that callers in public, or of another subject, can
// add to a memory but change nothing in it that they did not write.
func TestPublicAddsOnly(t *testing.T) {
	const session, facts, log = "memory/2026-02-05/s1.md", "_longterms/owner/fact.md", "memory/2026-02-05.md"
	files := map[string]string{session: ownersSession, facts: "- **tea**: green <!-- id=k1 visibility=public_ok -->\n",
		log: "# 2026-02-05\n\n## 10:00 AM - Plan\n- [ ] Book a van\n"}
	for name, by := range map[string]api.Caller{
		"a group": guest("groupbot", "owner", "public"), "a program": as("owner", "public"),
		"a group of 42": guest("groupbot", "acct:42", "public"), "42": guest("helper", "acct:42", "private"),
	} {
		t.Run(name, func(t *testing.T) {
			d, shared := newDisk(t, files), by.Fixed == nil // the session of a program of the owner has one file
			m, draft := d.memory, hostile
			a, err := do[api.SessionAnswer](t, m, by, api.SessionRequest{Session: "s1", Day: "2026-02-05", Draft: draft})
			if err != nil || len(a.Added) != 2 || (a.Path == session) != shared || len(a.Todos) > 0 {
				t.Fatalf("the draft: %+v, %v", a, err)
			}
			draft.Facts = []api.DraftItem{{Title: "Door code", Text: "8888"}} // changes what the first draft wrote
			b, err := do[api.SessionAnswer](t, m, by, api.SessionRequest{Session: "s1", Day: "2026-02-05", Draft: draft})
			if err != nil || b.Path != a.Path || len(b.Updated) != 1 {
				t.Errorf("the second draft: %+v, %v", b, err)
			}
			put := api.ItemPutRequest{Namespace: "fact", Key: "tea", Value: new("black"), Visibility: "public_ok"}
			if a, err := do[api.ItemAnswer](t, m, by, put); err != nil || a.Item.Value != "black" {
				t.Errorf("the item: %+v, %v", a, err)
			}
			for name, err := range map[string]error{
				"todo":  errOf(do[api.TodoAnswer](t, m, by, api.TodoRequest{Text: "Book a van", State: "done", Session: "s1"})),
				"edit":  errOf(do[api.EditAnswer](t, m, by, api.EditRequest{Path: session, OldText: "1234", NewText: "9999"})),
				"write": errOf(do[api.EditAnswer](t, m, by, api.WriteRequest{Path: "notes/new.md", Text: "mine\n"})),
			} {
				if code := asError(err).Code; code != api.Forbidden && code != api.Conflict && code != api.NotFound {
					t.Errorf("%s: %v", name, err)
				}
			}
			for _, line := range []string{"summary: Planned the move\n", "channel: chat\n", "- **Door code**: 1234\n", "- [ ] Book a van\n"} {
				if got := d.read(t, session); !strings.Contains(got, line) {
					t.Errorf("%q was changed:\n%s", line, got)
				}
			}
			d.want(t, log, files[log])
			item, err := do[api.ItemAnswer](t, m, owner, api.ItemGetRequest{Namespace: "fact", Key: "tea"})
			if err != nil || item.Item.Value != "green" || !strings.Contains(d.read(t, facts), files[facts]) {
				t.Errorf("the owner's item is %+v, %v", item, err)
			}
			if shared {
				return
			}
			m.Todos.Request(t.Context()) // the completion by another author is no completion of the owner's task
			d.want(t, session, ownersSession)
			doc, err := d.Load(a.Path)
			checkError(t, err)
			authors := []memory.Author{doc.Front.Author()}
			for i := range doc.Entries {
				authors = append(authors, doc.Entries[i].Author())
			}
			for _, author := range authors {
				if !author.Untrusted(memory.View{}) {
					t.Errorf("not marked as untrusted: %+v", author)
				}
			}
		})
	}
}

// TestSessionIsNotTaken checks that a caller in public cannot make another
// caller's draft go to its file by using the id of that caller's session.
func TestSessionIsNotTaken(t *testing.T) {
	for want, files := range map[string]map[string]string{
		"memory/2026-02-05/s1.md":   {"memory/a.md": "a\n"},
		"memory/2026-02-05/talk.md": {"memory/2026-02-05/talk.md": "---\nsession_id: s1\nvisibility: private_only\n---\n"},
	} {
		d := newDisk(t, files)
		draft := func(by api.Caller, text string) string {
			a, err := do[api.SessionAnswer](t, d.memory, by, api.SessionRequest{Session: "s1",
				Draft: api.Draft{Summary: text, Facts: []api.DraftItem{{Title: "Fact", Text: text}}}})
			checkError(t, err)
			return a.Path
		}
		theirs := draft(guest("groupbot", "acct:42", "public"), "green")
		if own := draft(owner, "1234"); own != want || strings.Contains(d.read(t, theirs), "1234") {
			t.Errorf("the owner's draft goes to %s instead of %s; the other caller's file is %s", own, want, theirs)
		}
	}
}

// TestInboxEscapes checks that a guest can neither read nor change a file outside its
// inbox by the name of a path, and that a link in place of its inbox is not followed.
func TestInboxEscapes(t *testing.T) {
	const own, theirs = "inbox/groupbot.acct_42", "inbox/other.acct_42/2026-02-05/s.md"
	const front = "---\nsubject_id: acct:42\nvisibility: public_ok\n---\n"
	files := map[string]string{"MEMORY.md": "- owner's\n", theirs: "---\nvisibility: public_ok\n---\n- theirs\n",
		"inbox/groupbot.acct_42x/fact.md": front + "- **a**: b <!-- id=k1 -->\n", own + "/notes.md": front + "- mine\n"}
	d, by := newDisk(t, files), guest("groupbot", "acct:42", "public")
	m := d.memory
	write := func(r api.WriteRequest) error { return errOf(do[api.EditAnswer](t, m, by, r)) }
	edit := func(path, from, to string) error {
		return errOf(do[api.EditAnswer](t, m, by, api.EditRequest{Path: path, OldText: from, NewText: to}))
	}
	for _, path := range []string{
		own + "/../../MEMORY.md", own + "/../other.acct_42/2026-02-05/s.md", "inbox//groupbot.acct_42/new.md", "/" + own + "/new.md",
		"./" + own + "/new.md", "Inbox/groupbot.acct_42/new.md", "inbox/GROUPBOT.acct_42/new.md", "inbox/groupbot.acct_42\u200b/new.md",
		"inbox/groupbot.acct_42x/new.md", own + ".md", "inbox/ｇroupbot.acct_42/new.md", theirs, "inbox/groupbot.acct_42x/fact.md",
		"MEMORY.md", "inbox/new.md", own + "\\..\\..\\new.md", own + "/%2e%2e/%2e%2e/new.md\x00",
	} {
		if write(api.WriteRequest{Path: path, Text: front + "- mine\n"}) == nil {
			t.Errorf("%q was created", path)
		}
		for _, old := range []string{"owner's", "theirs", "**a**: b"} {
			if edit(path, old, "x") == nil {
				t.Errorf("%q was edited", path)
			}
		}
	}
	known, err := do[api.GetAnswer](t, m, by, api.GetRequest{Path: own + "/notes.md", From: 1})
	checkError(t, err)
	for name, text := range map[string]string{
		"private": front + "- a <!-- visibility=private_only -->\n", "without reader": "- a\n",
		"another's": strings.Replace(front, "acct:42", "bob", 1) + "- a\n",
	} {
		if write(api.WriteRequest{Path: own + "/new.md", Text: text}) == nil ||
			write(api.WriteRequest{Path: own + "/notes.md", Text: text, Hash: known.Hash}) == nil {
			t.Errorf("a text is written that is %s", name)
		}
	}
	for path, text := range files {
		d.want(t, path, text)
	}
	if err := edit(own+"/notes.md", "mine", "ours"); err != nil {
		t.Errorf("in the own inbox: %v", err)
	}

	outside := t.TempDir()
	checkError(t, os.RemoveAll(filepath.Join(d.dir, own)))
	checkError(t, os.Symlink(outside, filepath.Join(d.dir, own)))
	for name, err := range map[string]error{
		"note": errOf(do[api.NoteAnswer](t, m, by, api.NoteRequest{Text: "tea", Visibility: "public_ok"})),
		"item": errOf(do[api.ItemAnswer](t, m, by, api.ItemPutRequest{Namespace: "fact", Key: "a", Value: new("b"), Visibility: "public_ok"})),
		"session": errOf(do[api.SessionAnswer](t, m, by,
			api.SessionRequest{Session: "s", Draft: api.Draft{Summary: "tea"}})),
	} {
		if err == nil || strings.Contains(asError(err).Error(), outside) {
			t.Errorf("%s below a link: %v", name, err)
		}
	}
	if list, err := os.ReadDir(outside); err != nil || len(list) > 0 {
		t.Errorf("the target of the link has %v, %v", list, err)
	}
}

// TestInboxTicks checks that a task that a guest reports as done completes no copy of its
// subject elsewhere, while the subject's own session does.
func TestInboxTicks(t *testing.T) {
	const path, text = "memory/2026-02-04/s1.md", "---\nsubject_id: acct:42\n---\n\n## Tasks\n- [ ] Book a van\n"
	for want, by := range map[string]api.Caller{
		text: guest("helper", "acct:42", "private"), strings.Replace(text, "[ ]", "[x]", 1): as("acct:42", "private"),
	} {
		d := newDisk(t, map[string]string{path: text})
		a, err := do[api.SessionAnswer](t, d.memory, by, api.SessionRequest{Session: "s2",
			Draft: api.Draft{Tasks: []api.DraftTask{{Text: "Book a van", Done: true}, {Text: "Pack"}}}})
		if err != nil || strings.HasPrefix(a.Path, "inbox/helper.acct_42/") != (by.Fixed != nil) {
			t.Fatalf("%+v, %v", a, err)
		}
		d.memory.Todos.Request(t.Context(), a.Path)
		d.want(t, path, want)
	}
}

// TestWipeInboxes checks that a wipe of a subject deletes its files in inboxes, and not
// those of others or without a subject.
func TestWipeInboxes(t *testing.T) {
	const own = "inbox/bot.acct_42/fact.md"
	others := map[string]string{"inbox/bot.bob/fact.md": "---\nsubject_id: bob\n---\n- **a**: b\n",
		"inbox/bot.acct_42/2026-02-05/s.md": "---\nvisibility: public_ok\n---\n- for all\n"}
	files := maps.Clone(others)
	files[own] = "---\nsubject_id: acct:42\n---\n- **a**: b\n"
	d := newDisk(t, files)
	a, err := do[api.WipeAnswer](t, d.memory, as("acct:42", "private"), api.WipeRequest{Confirm: "acct:42"})
	if err != nil || strings.Join(a.Deleted, " ") != own {
		t.Errorf("%+v, %v", a, err)
	}
	for path, text := range others {
		d.want(t, path, text)
	}
}

// TestHiddenLiteralName checks that a readable file is found by the name that
// answers show if a hidden file has this name.
func TestHiddenLiteralName(t *testing.T) {
	for _, hidden := range []string{"notes/b.md", "notes/a\ufffd.md"} {
		m := newDisk(t, map[string]string{hidden: "- hidden\n", "notes/a\xff.md": "- open to all <!-- visibility=public_ok -->\n"}).memory
		a, err := do[api.GetAnswer](t, m, as("owner", "public"), api.GetRequest{Path: "notes/a\ufffd.md", From: 1})
		if err != nil || !strings.Contains(a.Text, "open to all") {
			t.Errorf("beside %q: %+v, %v", hidden, a, err)
		}
	}
}
