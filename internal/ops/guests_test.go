package ops

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/memwatchd/memwatchd/api"
)

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
