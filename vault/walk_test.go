package vault

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/memwatchd/memwatchd/internal/disk"
)

func paths(files []disk.FoundFile) []string {
	var list []string
	for _, f := range files {
		list = append(list, f.Path)
	}
	return list
}

func TestWalk(t *testing.T) {
	long := strings.Repeat("l", 252) + ".md"
	files := map[string]string{
		"a.md": "", "B.MD": "", "2026-02-04/s.md": "", "a/b/c/d.md": "", "a-b.md": "", "new\nline.md": "", "bad\xff.md": "", "..md": "",
		"_longterms/x/_index.md": "", long: "",
		"picture.png": "", ".hidden.md": "", "#x.md#": "", "~x.md": "", ".git/x.md": "", "a/.obsidian/x.md": "",
		"drafts/x.md": "", "a/drafts/y.md": "", "by-list.md": "", "by-func.md": "", "md": "", ".md": "", "large.md": strings.Repeat("x", 11),
		"dir.md/in.md": "", disk.IgnoreFile: "drafts/\n# comment\n",
	}
	v := newVault(t, files)
	v.MaxFileSize = 10
	v.Ignore = []string{"by-list.*"}
	must(t, os.WriteFile(filepath.Join(v.Dir, disk.IgnoreFile), []byte("drafts\n"), 0o600))
	v.Skip = func(path string) string {
		if path == "by-func.md" {
			return "because"
		}
		return (&Vault{}).Skips(path, false)
	}
	must(t, os.Symlink("a.md", v.name("link.md")))
	must(t, os.Symlink("a", v.name("linked")))
	must(t, unix.Mkfifo(v.name("fifo.md"), 0o600))

	var mu sync.Mutex
	var dirs []string
	tree, err := v.Walk(t.Context(), "", func(d disk.Directory) {
		mu.Lock()
		defer mu.Unlock()
		dirs = append(dirs, d.Path)
		if id, ok := v.Directory(d.Path); !ok || id != d.ID {
			t.Errorf("entered %q as %v, it is %v", d.Path, d.ID, id)
		}
	})
	must(t, err)
	slices.Sort(dirs)
	got := map[string]any{"files": paths(tree.Files), "dirs": dirs, "skipped": tree.Skipped}
	want := map[string]any{
		"files": []string{"2026-02-04/s.md", "B.MD", "_longterms/x/_index.md", "a-b.md", "a.md", "a/b/c/d.md", "bad\xff.md", "dir.md/in.md", long, "new\nline.md"},
		"dirs":  []string{"", "2026-02-04", "_longterms", "_longterms/x", "a", "a/b", "a/b/c", "dir.md"},
		"skipped": []disk.Skipped{
			{Path: "..md", Reason: "hidden or temporary file"},
			{Path: ".hidden.md", Reason: "hidden or temporary file"},
			{Path: "by-func.md", Reason: "because"},
			{Path: "by-list.md", Reason: "ignored by pattern"},
			{Path: "dir.md", Reason: "directory"},
			{Path: "fifo.md", Reason: "not a regular file"},
			{Path: "large.md", Reason: "file too large"},
			{Path: "link.md", Reason: "symbolic link"},
			{Path: "linked", Reason: "symbolic link"},
			{Path: "~x.md", Reason: "hidden or temporary file"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("walk (-want +got):\n%s", diff)
	}
	for _, f := range tree.Files {
		if s, err := v.Stat(f.Path); err != nil || s != f.Stamp {
			t.Errorf("stamp of %q: walk %v, stat %v, %v", f.Path, f.Stamp, s, err)
		}
		if s, ok := v.Catalogue.Lookup(f.Path); !ok || s != f.Stamp {
			t.Errorf("%q is not in the catalogue as it was seen", f.Path)
		}
	}
	if diff := cmp.Diff(tree.Skipped, v.Catalogue.Skipped()); diff != "" {
		t.Errorf("skipped in the catalogue (-walk +catalogue):\n%s", diff)
	}
}

func TestWalkFrom(t *testing.T) {
	v := newVault(t, map[string]string{"a/x.md": "", "a/b/y.md": "", "a.md": "", "ab/z.md": "", ".h/x.md": "", "no/x.md": ""})
	v.Ignore = []string{"/no"}
	must(t, os.Symlink("a", v.name("link")))
	for from, want := range map[string][]string{
		"a": {"a/b/y.md", "a/x.md"}, "a/b": {"a/b/y.md"}, "none": nil, "a.md": nil, "link": nil, ".h": nil, "no": nil, "../root/a": nil,
	} {
		tree, err := v.Walk(t.Context(), from, nil)
		if err != nil || tree.From != from {
			t.Errorf("walk from %q: %+v, %v", from, tree, err)
			continue
		}
		if diff := cmp.Diff(want, paths(tree.Files)); diff != "" {
			t.Errorf("walk from %q (-want +got):\n%s", from, diff)
		}
	}
	if got := v.Catalogue.Len(); got != 2 {
		t.Errorf("the catalogue has %d files, want 2", got)
	}
}

// TestEnteredBeforeRead checks that a file created in a directory during the
// call of enter is found.
func TestEnteredBeforeRead(t *testing.T) {
	v := newVault(t, map[string]string{"d/x.md": ""})
	tree, err := v.Walk(t.Context(), "", func(d disk.Directory) {
		if d.Path == "d" {
			writeFile(t, v, "d/new.md", "")
		}
	})
	must(t, err)
	if diff := cmp.Diff([]string{"d/new.md", "d/x.md"}, paths(tree.Files)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestWalkStops(t *testing.T) {
	v := newVault(t, map[string]string{"a/x.md": "", "b/x.md": "", "c/x.md": ""})
	writeFile(t, v, "seen.md", "")
	_, err := v.Observe("seen.md")
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	tree, err := v.Walk(ctx, "", func(disk.Directory) { cancel() })
	if tree != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("walk that was stopped: %v, %v", tree, err)
	}
	if _, ok := v.Catalogue.Lookup("seen.md"); !ok {
		t.Error("a walk that was stopped has changed the catalogue")
	}
}
