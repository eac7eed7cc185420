package vault

import (
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memwatchd/memwatchd/internal/disk"
)

// listContents lists the entries of a catalogue, known files first.
func listContents(c *Catalogue) []string {
	list := c.Files()
	if c.Len() != len(list) {
		list = append(list, fmt.Sprintf("but Len is %d", c.Len()))
	}
	for _, s := range c.Skipped() {
		list = append(list, s.Path+": "+s.Reason)
	}
	return list
}

func checkContents(t *testing.T, c *Catalogue, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, listContents(c)); diff != "" {
		t.Errorf("catalogue (-want +got):\n%s", diff)
	}
}

func TestObserve(t *testing.T) {
	v := newVault(t, map[string]string{"a.md": "a", ".b.md": "b", "c.txt": "c"})
	look := func(path string) {
		t.Helper()
		stamp, err := v.Observe(path)
		if got, ok := v.Catalogue.Lookup(path); ok != (err == nil) || got != stamp {
			t.Errorf("looked at %s: %v, %v; the catalogue has %v, %v", path, stamp, err, got, ok)
		}
	}
	for _, path := range []string{"a.md", ".b.md", "c.txt", "none.md", "../x.md"} {
		look(path)
	}
	checkContents(t, &v.Catalogue, "a.md", "../x.md: not a path", ".b.md: hidden or temporary file")
	must(t, os.Remove(v.name("a.md")))
	must(t, os.Symlink("c.txt", v.name("a.md")))
	look("a.md")
	checkContents(t, &v.Catalogue, "../x.md: not a path", ".b.md: hidden or temporary file", "a.md: symbolic link")
	must(t, os.Remove(v.name("a.md")))
	look("a.md")
	checkContents(t, &v.Catalogue, "../x.md: not a path", ".b.md: hidden or temporary file")
	if v.Catalogue.walks != 0 || len(v.Catalogue.entries) != 2 {
		t.Errorf("%d entries stay", len(v.Catalogue.entries))
	}
}

// TestCatalogueWithoutRoot checks that a vault keeps its entries while the root
// is missing.
func TestCatalogueWithoutRoot(t *testing.T) {
	v := newVault(t, map[string]string{"a.md": "a"})
	_, err := v.Walk(t.Context(), "", nil)
	must(t, err)
	must(t, os.Rename(v.Dir, v.Dir+".away"))
	if _, err := v.Observe("a.md"); err == nil {
		t.Error("looked without a root")
	}
	if _, err := v.Walk(t.Context(), "", nil); err == nil {
		t.Error("walked without a root")
	}
	checkContents(t, &v.Catalogue, "a.md")
}

// TestObserveDuringWalk checks that a look during a walk takes precedence over the
// walk's observation.
func TestObserveDuringWalk(t *testing.T) {
	v := newVault(t, map[string]string{"d/stays.md": "", "d/goes.md": "", "d/early.md": ""})
	_, err := v.Walk(t.Context(), "", nil)
	must(t, err)
	stale := &disk.Tree{Files: []disk.FoundFile{{Path: "d/goes.md"}, {Path: "d/stays.md"}}}

	began := v.Catalogue.beginWalk()
	must(t, os.Remove(v.name("d/goes.md")))
	writeFile(t, v, "d/comes.md", "")
	for _, path := range []string{"d/goes.md", "d/comes.md"} {
		v.Observe(path)
	}
	v.Catalogue.endWalk(began, stale)
	checkContents(t, &v.Catalogue, "d/comes.md", "d/stays.md")
	if n := len(v.Catalogue.entries); n != 2 {
		t.Errorf("%d entries stay, want 2", n)
	}
}

// TestUnseenStays checks that paths that could not be examined keep their
// entries.
func TestUnseenStays(t *testing.T) {
	c := new(Catalogue)
	c.endWalk(c.beginWalk(), &disk.Tree{Files: []disk.FoundFile{
		{Path: "a/b/x.md"}, {Path: "a/x.md"}, {Path: "ab.md"}, {Path: "x.md"},
	}})
	c.endWalk(c.beginWalk(), &disk.Tree{Skipped: []disk.Skipped{
		{Path: "a", Reason: "permission denied", Unseen: true}, {Path: "x.md", Reason: "input/output error", Unseen: true},
	}})
	checkContents(t, c, "a/b/x.md", "a/x.md", "x.md", "a: permission denied", "x.md: input/output error")
	if s := c.Skipped(); s[0].Unseen || !s[1].Unseen {
		t.Errorf("only a known file is skipped for the moment: %v", s)
	}
	// A walk of that directory alone observes the path again.
	c.endWalk(c.beginWalk(), &disk.Tree{From: "a", Files: []disk.FoundFile{{Path: "a/x.md"}}})
	checkContents(t, c, "a/x.md", "x.md", "x.md: input/output error")
	c.endWalk(c.beginWalk(), &disk.Tree{})
	checkContents(t, c)
}
