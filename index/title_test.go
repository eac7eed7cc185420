package index

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memwatchd/memwatchd/memory"
)

// TestNotesWithoutText checks that a note without text is found by its names, by those who
// can read it, until it has text.
func TestNotesWithoutText(t *testing.T) {
	const open = "visibility: public_ok\n"
	s := &mapSource{text: map[string]string{
		"title.md":             "---\ntitle: Zebra plan\n" + open + "---\n",
		"private.md":           "---\ntitle: A private zebra\n---\n",
		"alias.md":             "---\naliases: [Okapi]\n---\n",
		"description.md":       "---\ndescription: a quokka list\n---\n\n\n",
		"tags.md":              "---\ntags: [wombat]\n---\n",
		"notes/Numbat list.md": "",
		"comment/tapir.md":     "<!-- capybara -->\n",
		"heading.md":           "# Gnu\n## Eland\n",
		"2026-02-01.md":        "",
		"token ghp_" + "k7Qz0mXw3RtV9bLp2NcJ5sYhF8gDaE4uKoT1.md": "",
		"a name of many more words.md":                           "",
	}}
	x := s.complete(t)
	long, err := s.Load("a name of many more words.md")
	must(t, err)
	ask := func(view memory.View, q Query, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, placesOf(x.mustSearch(t, view, q))); diff != "" {
			t.Errorf("%q (-want +got):\n%s", q.Text, diff)
		}
	}
	for range 2 { // as built and as stored
		ask(ownerView(t), Query{Text: "zebra"}, "title.md:0", "private.md:0")
		ask(contextView(t, memory.Public), Query{Text: "zebra"}, "title.md:0")
		ask(ownerView(t), Query{Text: "okap", Typing: true}, "alias.md:0")
		ask(ownerView(t), Query{Text: "quokka list"}, "description.md:0", "notes/Numbat list.md:0")
		ask(ownerView(t), Query{Text: "wombat"}, "tags.md:0")
		ask(ownerView(t), Query{Filter: Filter{Tags: []string{"wombat"}}}, "tags.md:0")
		ask(ownerView(t), Query{Text: `"numbat list"`, Exact: true}, "notes/Numbat list.md:0")
		ask(ownerView(t), Query{Text: "tapir"}, "comment/tapir.md:0")
		ask(ownerView(t), Query{Text: "capybara"})
		ask(ownerView(t), Query{Text: "gnu"}, "heading.md:2")
		ask(ownerView(t), Query{Text: "token"})
		ask(ownerView(t), Query{Mode: Recent, Filter: Filter{Path: "title.md"}})
		x = s.reopen(t, x)
	}
	if texts := x.FilesLacking(func(text TextRef) bool {
		return slices.ContainsFunc(slices.Collect(Texts(long)), func(t Text) bool { return t.TextRef == text })
	}); len(texts) > 0 {
		t.Errorf("texts that are not embedded: %q", texts)
	}
	s.text["title.md"] += "- text\n"
	s.apply(t, x, "title.md")
	ask(ownerView(t), Query{Text: "zebra plan"}, "title.md:5", "private.md:0")
}
