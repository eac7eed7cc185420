package app

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

// TestMergeFilesMarks checks that the merge driver writes both values of a key of the
// frontmatter, and both versions if the base cannot be read, between conflict markers.
func TestMergeFilesMarks(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct{ base, ours, theirs, want string }{
		{"---\nsummary: old\n---\n- a\n", "---\nsummary: one\n---\n- a\n", "---\nsummary: two\n---\n- a\n",
			"---\n<<<<<<< ours\nsummary: one\n=======\nsummary: two\n>>>>>>> theirs\n---\n- a\n"},
		{"", "- a\n- one\n", "- a\n- two\n", "<<<<<<< ours\n- a\n- one\n=======\n- a\n- two\n>>>>>>> theirs\n"},
		{"", "- a\n", "- a\n", "- a\n"},
	} {
		base := "missing"
		if c.base != "" {
			base = "base"
		}
		for name, text := range map[string]string{"base": c.base, "ours": c.ours, "theirs": c.theirs} {
			testkit.Must(t, os.WriteFile(name, []byte(text), 0o600))
		}
		if err := mergeFiles(base, "ours", "theirs", "notes/a.md"); err == nil {
			t.Error("no error")
		}
		if got, err := os.ReadFile("ours"); err != nil || string(got) != c.want {
			t.Errorf("%q, %v, want %q", got, err, c.want)
		}
	}
}

// TestOverwrite checks that a link and the mode of a file stay.
func TestOverwrite(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "a.md"), filepath.Join(dir, "link.md")
	testkit.Must(t, os.WriteFile(file, []byte("before"), 0o640))
	testkit.Must(t, os.Symlink("a.md", link))
	testkit.Must(t, overwrite(link, []byte("after")))
	text, err := os.ReadFile(file)
	info, statErr := os.Lstat(file)
	if string(text) != "after" || err != nil || statErr != nil || info.Mode() != 0o640 {
		t.Errorf("%q, %v, %v", text, info.Mode(), err)
	}
}
