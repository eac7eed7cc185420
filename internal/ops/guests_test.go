package ops

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/memwatchd/memwatchd/api"
)

// TestInboxLink checks that a link in place of an inbox is not followed.
func TestInboxLink(t *testing.T) {
	d, by, outside := newDisk(t, nil), guest("groupbot", "acct:42", "public"), t.TempDir()
	m, own := d.memory, filepath.Join(d.dir, "inbox/groupbot.acct_42")
	checkError(t, os.MkdirAll(filepath.Dir(own), 0o700))
	checkError(t, os.Symlink(outside, own))
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
