package setup

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
	"github.com/memwatchd/memwatchd/memory"
)

// TestFindGroups checks which files show that a memory serves groups, and that
// links out of the memory directory are not followed.
func TestFindGroups(t *testing.T) {
	const contact, user = "---\ncontact_id: c1\n---\n- tea\n", "- tea\n"
	outside := t.TempDir()
	testkit.WriteFile(t, filepath.Join(outside, "s.md"), contact)
	testkit.WriteFile(t, filepath.Join(outside, "MEMORY.md"), user)
	testkit.WriteFile(t, filepath.Join(outside, "memory", "2026-02-04.md"), user)
	for name, test := range map[string]struct {
		path, text string // of a file
		link       string // to the directory outside
		want       string
	}{
		"nothing":     {path: "2026-02-04/s.md", text: "- tea\n"},
		"contact":     {path: "2026-02-04/s.md", text: contact, want: "sessions: 2026-02-04/s.md has a contact"},
		"below":       {path: "memory/2026-02-04/s.md", text: contact, want: "sessions: memory/2026-02-04/s.md has a contact"},
		"channel":     {path: "2026-02-04/s.md", text: "---\nchannel: Telegram Group\n---\n", want: "sessions: 2026-02-04/s.md is of a group"},
		"user":        {path: "alice/memory/2026-02-04.md", text: user, want: "daily: alice is the directory of a user"},
		"linked day":  {path: "2026-02-03/s.md", text: user, link: "2026-02-04"},
		"linked user": {path: "2026-02-03/s.md", text: user, link: "alice"},
	} {
		t.Run(name, func(t *testing.T) {
			root := filepath.Join(t.TempDir(), "a[b]*")
			testkit.WriteFile(t, filepath.Join(root, filepath.FromSlash(test.path)), test.text)
			if name == "user" {
				testkit.WriteFile(t, filepath.Join(root, "alice", "MEMORY.md"), user)
			}
			if test.link != "" {
				err := os.Symlink(outside, filepath.Join(root, test.link))
				if err != nil {
					t.Fatal(err)
				}
			}
			got := ""
			for _, k := range recognizeLayout(root, &memory.Layout{}).groups {
				got += k.key + ": " + k.reason
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
