package index

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/internal/fakes/golden"
	"github.com/memwatchd/memwatchd/memory"
)

// TestResolveGolden compares the targets of links, and the links to each file, with
// the archives in testdata/links, in private and in public. It also compares each
// with those of a memory in which nothing else exists.
func TestResolveGolden(t *testing.T) {
	golden.Run(t, "links", func(t *testing.T, a *txtar.Archive) *txtar.Archive {
		files := map[string]string{}
		for _, f := range a.Files {
			files[f.Name] = string(f.Data)
		}
		for i, name := range []string{"private", "public"} {
			got := linksIn(t, files, contextView(t, []memory.Context{memory.Private, memory.Public}[i]))
			a.Files = append(a.Files, txtar.File{Name: "→ " + name, Data: []byte(got)})
		}
		return a
	})
}

// TestResolveNonInterference checks with random memories that the targets of
// links do not depend on files, or parts of files, that the reader cannot read.
func TestResolveNonInterference(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	memories := 60
	if testing.Short() {
		memories = 6
	}
	for range memories {
		files := map[string]string{}
		for range 2 + r.IntN(8) {
			path := pick("", "", "vault:") + pick("", "a/", "b/", "a/b/", "zz/") + pick("Note", "note", "Plan", "AKA") + pick(".md", ".md", ".markdown")
			text := ""
			if r.IntN(3) > 0 {
				text = "---\nvisibility: " + pick("public_ok", "private_only") + "\naliases: [" + pick("Note", "aka", "Other", "a/Note") + "]\n---\n"
			}
			for range r.IntN(4) {
				text += "- see " + pick("[[Note]]", "[[a/Note]]", "[[aka|x]]", "![[Other]]", "[x](Note.md)", "[[../Plan]]") +
					pick("", " <!-- visibility=public_ok -->", " <!-- visibility=private_only -->") + "\n"
			}
			files[path] = text
		}
		linksIn(t, files, contextView(t, memory.Public))
		if t.Failed() {
			t.Fatalf("%q", files)
		}
	}
}

// linksIn lists the targets of all links that a view can read. It checks that the
// result is the same if the rest of the memory does not exist, and while the index
// is incomplete.
func linksIn(t *testing.T, files map[string]string, view memory.View) string {
	t.Helper()
	s := &mapSource{text: files, layout: memory.Layout{Roots: linkRoots}}
	x := s.complete(t)
	all := s.resolveAll(t, x, view)
	part := &mapSource{text: map[string]string{}, layout: s.layout}
	for path := range files {
		doc, err := s.Load(path)
		must(t, err)
		if readable := doc.For(view); readable != nil {
			part.text[path] = string(readable.Source)
		}
	}
	if alone := part.resolveAll(t, part.complete(t), view); alone != all {
		t.Errorf("unreadable text changes links (-without it +with it):\n%s", cmp.Diff(alone, all))
	}
	return all
}

func (s *mapSource) resolveAll(t *testing.T, x *Index, view memory.View) string {
	t.Helper()
	load := func(path string) *memory.Document {
		doc, err := s.Load(path)
		if err != nil {
			return nil
		}
		return doc.For(view)
	}
	r := &LinkResolver{Index: x, View: view, Layout: &s.layout, Load: load}
	var b strings.Builder
	for _, from := range slices.Sorted(maps.Keys(s.text)) {
		doc := load(from)
		if doc == nil {
			continue
		}
		for i := range doc.Entries {
			for _, l := range doc.Entries[i].Links {
				to, err := r.Resolve(t.Context(), from, &l)
				must(t, err)
				fmt.Fprintf(&b, "%s: %s → %s\n", from, l.Target, to)
			}
		}
		refs, err := x.LinksTo(t.Context(), view, from, doc.NameKeys())
		must(t, err)
		for _, ref := range refs {
			other := load(ref.Path)
			i := slices.IndexFunc(other.Entries, func(e memory.Entry) bool { return e.ID == ref.ID })
			if links, err := r.AnyTo(t.Context(), ref.Path, &other.Entries[i], from); err != nil {
				t.Fatal(err)
			} else if links {
				fmt.Fprintf(&b, "%s ← %s: %s\n", from, ref.Path, other.Entries[i].Text)
			}
		}
	}
	return b.String()
}
