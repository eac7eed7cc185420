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

func fileOf(l *Layout, r *Imported) []byte { return r.File(l) }

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

// TestImportedEntry checks that the text of a line, whatever it is, is one entry with its
// attributes, and that it does not change when it is written again.
func TestImportedEntry(t *testing.T) {
	l := &Layout{}
	const path = "memory/2026-02-05.md"
	for _, text := range append(slices.Clone(hostileTexts), "- a\n  - b", "one\n\ntwo", "* star", "**Loan**: Bob (added 2026-02-05)") {
		fit := func(text string) (*Put, error) {
			p := &Put{Text: text, Attributes: map[string]string{"id": "k1", "type": "decision", "written_by": "x y"},
				Evidence: []string{"a.md#1"}}
			return p, l.FitImported(path, p)
		}
		p, err := fit(text)
		if err != nil || strings.TrimSpace(text) == "" {
			if strings.TrimSpace(text) != "" {
				t.Errorf("%q: %v", text, err)
			}
			continue
		}
		source := string(p.alone.Source)
		d := l.Parse(path, []byte("- before\n\n## Section\n\n"+source+"\n\n## After\n\n- last\n"), Meta{})
		n := len(d.Entries)
		if n != 3 || d.Unsound || d.Entries[1].Type != "decision" || d.Entries[1].By != "x y" || d.Entries[2].By != "" ||
			d.Entries[1].Norm != p.Entry().Norm || !slices.Equal(p.Entry().Evidence, []string{"a.md#1"}) {
			t.Errorf("%q: %v\n%s", text, d.Problems, d.Source)
		}
		again, err := fit(p.Entry().Text)
		if err != nil || string(again.alone.Source) != source && !strings.Contains(text, "<!--") {
			t.Errorf("%q becomes %q, and then %q, %v", text, source, again.alone.Source, err)
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
		return r.Path(time.UTC)
	})
	if got := (&Imported{Program: "mem0", ID: "a"}).Path(time.UTC); !strings.HasPrefix(got, "imports/mem0/undated/") {
		t.Error(got)
	}
}

func TestEditedImport(t *testing.T) {
	file := fileOf(&Layout{}, conversation("a", "b"))
	for name, c := range map[string]struct {
		source []byte
		want   bool
	}{
		"same":       {file, false},
		"edited":     {append(bytes.Clone(file), "mine\n"...), true},
		"edited top": {bytes.Replace(file, []byte("private_only"), []byte("public_ok"), 1), true},
		"no front":   {[]byte("# A plan\n"), true},
		"empty":      {nil, true},
	} {
		if got := EditedImport(c.source); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
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
		d := l.Parse(r.Path(time.UTC), file, Meta{})
		if d.Unsound || len(d.Entries) == 0 || d.Entries[len(d.Entries)-1].Text != "> after" || EditedImport(file) {
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
