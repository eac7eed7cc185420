package cli

import (
	"os"
	"path/filepath"
	"testing"
)

// TestBelowRoot checks that each shown form of a place can be typed as a path,
// from any working directory.
func TestBelowRoot(t *testing.T) {
	home := t.TempDir()
	root := filepath.Join(home, "root")
	for _, name := range []string{"root/notes/a.md", "root/notes/odd:12", "root/a.md", "root/notes/sub/a.md", "outside.md"} {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(root, filepath.Join(home, "link")); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ in, typed, want string }{
		{"", "notes/a.md", "notes/a.md"},
		{"", "root/notes/a.md", "notes/a.md"},
		{"", "./root/notes/a.md", "notes/a.md"},
		{"", "root/notes/a.md:12", "notes/a.md"},
		{"", "notes/a.md:12", "notes/a.md"},
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
			if got, _ := resolvePlace(testRoot(dir), tt.typed); got != tt.want {
				t.Errorf("below %s, in %q: %q is %q, want %q", dir, tt.in, tt.typed, got, tt.want)
			}
		}
	}
	gone := testRoot(filepath.Join(home, "gone"))
	if got, _ := resolvePlace(gone, "root/a.md"); got != "root/a.md" {
		t.Errorf("without a root it is %q", got)
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
