package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

// TestBelowRoot checks that each shown form of a place can be typed as a path,
// from any working directory.
func TestBelowRoot(t *testing.T) {
	home := t.TempDir()
	root := filepath.Join(home, "root")
	for _, name := range []string{"root/notes/a.md", "root/notes/odd:12", "root/a.md", "root/notes/sub/a.md", "outside.md"} {
		path := filepath.Join(home, name)
		testkit.Must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		testkit.Must(t, os.WriteFile(path, nil, 0o644))
	}
	testkit.Must(t, os.Symlink(root, filepath.Join(home, "link")))
	for _, tt := range []struct{ in, typed, want string }{
		{"", "notes/a.md", "notes/a.md"},
		{"", "root/notes/a.md", "notes/a.md"},
		{"", "./root/notes/a.md", "notes/a.md"},
		{"", "root/notes/a.md:12", "notes/a.md"},
		{"", "notes/a.md:12", "notes/a.md"},
		{"", "notes/a.md:12-14", "notes/a.md"},
		{"", "notes/odd:12", "notes/odd:12"},
		{"", "root/notes/a.md#~x7:3", "notes/a.md#~x7:3"},
		{"", filepath.Join(root, "notes/a.md"), "notes/a.md"},
		{"", "link/notes/a.md", "notes/a.md"},
		{"", "root/notes", "notes"},
		{"", "root/notes/", "notes"},
		{"root/notes", "a.md", "a.md"}, // the name below the root has priority
		{"root/notes", "sub/a.md", "notes/sub/a.md"},
		{"root/notes", "notes/a.md", "notes/a.md"},
		{"root/notes", "../a.md", "a.md"},
		{"", "outside.md", "outside.md"},
		{"", "root", "root"},
		{"", "root/none.md", "root/none.md"},
		{"", "notes/*.md", "notes/*.md"},
		{"", "#~x7", "#~x7"},
		{"", "", ""},
	} {
		t.Chdir(filepath.Join(home, tt.in))
		for _, dir := range []string{root, filepath.Join(home, "link")} {
			if got, _, _ := resolvePlace(testRoot(dir), tt.typed); got != tt.want {
				t.Errorf("below %s, in %q: %q is %q, want %q", dir, tt.in, tt.typed, got, tt.want)
			}
		}
	}
	gone := testRoot(filepath.Join(home, "gone"))
	if got, _, _ := resolvePlace(gone, "root/a.md"); got != "root/a.md" {
		t.Errorf("without a root it is %q", got)
	}
}

// TestBelowFolder checks that links are resolved last, and in the memory first.
func TestBelowFolder(t *testing.T) {
	home := t.TempDir()
	for _, name := range []string{"m/a", "v/a", "x"} {
		testkit.Must(t, os.MkdirAll(filepath.Join(home, name), 0o755))
	}
	for link, to := range map[string]string{"l": "m", "x/m": "m", "x/v": "v"} {
		testkit.Must(t, os.Symlink(filepath.Join(home, to), filepath.Join(home, link)))
	}
	root := &Root{Dir: filepath.Join(home, "m"), Folders: map[string]string{
		"vault:": filepath.Join(home, "v"), "link:": filepath.Join(home, "l"), "gone:": filepath.Join(home, "gone")},
		Has: func(path string) (exists, known bool) { return strings.HasSuffix(path, "f.md"), true }}
	for typed, want := range map[string]string{
		"m/a/f.md": "a/f.md", "v/a/f.md": "vault:a/f.md", "l/a/f.md": "link:a/f.md", "gone/f.md": "gone:f.md",
		"x/m/a/f.md": "a/f.md", "x/v/a/f.md:3": "vault:a/f.md", "x/other.md": filepath.Join(home, "x/other.md"),
	} {
		if got, _, _ := resolvePlace(root, filepath.Join(home, typed)); got != want {
			t.Errorf("%s is %s, want %s", typed, got, want)
		}
	}
}

// testRoot returns a memory directory without failures.
func testRoot(dir string) *Root {
	return &Root{Dir: dir, Has: func(path string) (there, known bool) {
		if _, err := os.Stat(dir); err != nil {
			return false, false
		}
		_, err := os.Lstat(filepath.Join(dir, path))
		return err == nil, true
	}}
}
