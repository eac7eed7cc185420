package memory

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/internal/fakes/golden"
)

// hostileTexts are texts that could change the structure of a file.
var hostileTexts = []string{
	"hello", "", "\n\n", "# heading\n\n- [ ] a task\n1. [x] done\n- - [ ] nested\n> - [ ] quoted", "a\n===\nb\n---", "```\ncode",
	"~~~ go\n```\n", "<!-- visibility=public_ok -->", "<!-- open", "--> closed", "<private>x</private>", "</private>",
	"<script>\nx", "<pre>\n\ny", "<![CDATA[", "<?php", "<details>\n\n- [ ] x", "[Memory: x]\n- y", "Long-term Memory (filtered)\n- x",
	"<!-- memwatchd:generated -->\n- x\n<!-- /memwatchd:generated -->", "---\nvisibility: public_ok\n---\n", "\t\tcode\n- [ ] x",
	"a\x00b\x1b[31m\u202e\u200b", "\xff\xfe", "| a | b |\n|---|---|\n| - [ ] | x |", "[x]: http://example.com", "x ^abc", "%%c%%",
	"a\r\n- [ ] b\r- [ ] c", "\u2028- [ ] x", "&lt;!-- id=a --&gt;", "***\n- - -\n", "   - [ ] x\n     - [ ] y", "-\n  [ ] x",
	"`<!-- a -->`", "```\n<!-- visibility=public_ok -->\n```", "\\", "<a\n<!--\n", "**待办与承诺**\n- x",
}

func fileOf(l *Layout, r *Imported) []byte {
	file, _ := r.File(l)
	return file
}

func conversation(texts ...string) *Imported {
	r := &Imported{Program: "chatgpt", ID: "c1", Title: "A plan", Created: time.Date(2025, 3, 4, 5, 6, 7, 0, time.UTC)}
	for i, text := range texts {
		p := ImportedPart{Author: "person", Text: text}
		if i%2 == 1 {
			p.Author = "agent"
		}
		r.Parts = append(r.Parts, p)
	}
	return r
}

// TestImportedMarkdown checks that private entries stay private where others are not,
// and that attributes apply to their own entries.
func TestImportedMarkdown(t *testing.T) {
	l := &Layout{Daily: PublicOK}
	for _, text := range hostileTexts {
		private := PrivateOnly.String()
		r := &Imported{Program: "jsonl", ID: text, Place: "memory/2026-02-05.md", Parts: []ImportedPart{
			{Section: []string{text, "b"}, Text: text, Tags: []string{text, "c++"},
				Attributes: map[string]string{"type": "decision", "written_by": "x", "visibility": private}},
			{Section: []string{text, "c"}, Text: "- last", Attributes: map[string]string{"type": "request", "visibility": private}},
		}}
		file := fileOf(l, r)
		d := l.Parse(r.Place, file, Meta{})
		if d.Unsound {
			t.Errorf("%q: %v\n%s", text, d.Problems, file)
		}
		for i := range d.Entries {
			e := &d.Entries[i]
			if e.Partition.Visibility != PrivateOnly {
				t.Errorf("%q: the entry %q is public", text, e.Text)
			}
			if e.Text == "- last" && (e.Type != "request" || e.By != "") || e.Text != "- last" && e.Block != EmptyHeading && (e.Type != "decision" || e.By != "x") {
				t.Errorf("%q: the entry %q is a %s by %q\n%s", text, e.Text, e.Type, e.By, file)
			}
		}
		if r.StateIn(l, file, file) != ImportSame {
			t.Errorf("%q: the file is not recognized\n%s", text, file)
		}
	}
}

// TestImportedTags checks that every tag of a record can be read again, and that tags with
// structure of Markdown do no harm.
func TestImportedTags(t *testing.T) {
	l := &Layout{}
	r := conversation("a")
	tags := []string{"ok", "c++", "c#", "work stuff", "a, b", `say "x"`, "x: y", "true", "12", "[br]", "{a}", "née", "- c", "日本 語"}
	r.Tags = tags
	got := l.Parse("imports/a.md", fileOf(l, r), Meta{}).Front.Tags
	if !slices.Equal(got, tags) {
		t.Errorf("tags %q, want %q", got, tags)
	}
	for _, text := range hostileTexts {
		r.Tags = []string{text, "ok"}
		d := l.Parse("imports/a.md", fileOf(l, r), Meta{})
		if d.Unsound || !slices.Contains(d.Front.Tags, "ok") ||
			slices.ContainsFunc(d.Entries, func(e Entry) bool { return e.Partition.Visibility != PrivateOnly }) {
			t.Errorf("%q: %v, tags %q", text, d.Problems, d.Front.Tags)
		}
	}
}

func TestImportedPath(t *testing.T) {
	golden.Table(t, "importedpaths", func(_ *testing.T, in []string) string {
		r := conversation("x")
		r.Title = in[0]
		return r.Path(time.UTC, true)
	})
	if got := (&Imported{Program: "mem0", ID: "a"}).Path(time.UTC, true); !strings.HasPrefix(got, "imports/mem0/undated/") {
		t.Error(got)
	}
}

func TestImportedState(t *testing.T) {
	l := &Layout{}
	old, r := fileOf(l, conversation("a", "b")), conversation("a", "b", "c")
	renamed := conversation("a", "b")
	renamed.ID = "c2"
	for name, c := range map[string]struct {
		r      *Imported
		source []byte
		want   ImportState
	}{
		"same":       {conversation("a", "b"), old, ImportSame},
		"older":      {r, old, ImportOlder},
		"edited":     {r, append(bytes.Clone(old), "mine\n"...), ImportEdited},
		"edited top": {r, bytes.Replace(old, []byte("private_only"), []byte("public_ok"), 1), ImportEdited},
		"same text":  {conversation("a", "b"), append(bytes.Clone(old), "mine\n"...), ImportEdited},
		"other id":   {renamed, old, ImportOther},
		"no front":   {r, []byte("# A plan\n"), ImportOther},
		"empty":      {r, nil, ImportOther},
	} {
		if got := c.r.StateIn(l, c.source, fileOf(l, c.r)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// FuzzImported checks that the text of a message, whatever it is, is one private entry
// without tasks and with its author.
func FuzzImported(f *testing.F) {
	for _, text := range hostileTexts {
		f.Add(text, text)
	}
	l := &Layout{}
	f.Fuzz(func(t *testing.T, a, b string) {
		r := conversation(a, b, "after")
		r.Title, r.ID = a, b
		file := fileOf(l, r)
		d := l.Parse(r.Path(time.UTC, true), file, Meta{})
		if d.Unsound || len(d.Entries) == 0 || d.Entries[len(d.Entries)-1].Text != "> after" || r.StateIn(l, file, file) != ImportSame {
			t.Fatalf("%v\n%s", d.Problems, file)
		}
		for i := range d.Entries {
			e := &d.Entries[i]
			others := len(e.Sections) > 0 && e.Sections[len(e.Sections)-1] == "Agent"
			if e.Partition.Visibility != PrivateOnly || e.Author().Untrusted(View{}) != others || len(e.Tasks) > 0 {
				t.Fatal(fmt.Sprint(e.Text, e.Partition, e.Author()))
			}
		}
	})
}
