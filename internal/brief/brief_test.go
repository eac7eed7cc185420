package brief

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/internal/fakes/golden"
	"github.com/memwatchd/memwatchd/memory"
)

// TestGolden compares blocks with golden files. Each archive below testdata
// contains the files of a root and the blocks rendered from them. A section
// named after a format,
//
//	-- full: description --
//
// contains settings, one per line: context, lang, max_items, max_chars
// and max_full. The section after it is the expected block; of a later one, the
// lines that differ from the first, if these are fewer. The path of a file
// determines its role in the block; with relevant, every entry matches, in
// order.
//
// Each rendered block is then put into a file, where it must not be read as
// memory.
func TestGolden(t *testing.T) {
	archives, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, name := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			text := txtar.Format(archive)
			var files []txtar.File
			var first []byte
			for i := 0; i < len(archive.Files); i++ {
				f := archive.Files[i]
				format, _, ask := strings.Cut(f.Name, ": ")
				if !ask {
					files = append(files, f)
					continue
				}
				i++
				if i == len(archive.Files) {
					t.Fatalf("%s has no section with its block", f.Name)
				}
				style := parseSettings(t, string(f.Data))
				block := blockOf(t, style, format, files)
				if block.Text != "" && !strings.HasSuffix(block.Text, "\n") {
					t.Errorf("%s: the block does not end with its line", f.Name)
				}
				checkHidden(t, f.Name, block.Text)
				got := []byte(block.Text + blockStats(t, block))
				archive.Files[i].Data = golden.Changed(first, got)
				if first == nil {
					first = got
				}
			}
			golden.File(t, name, text, txtar.Format(archive))
		})
	}
}

// blockStats returns the counts and the hints of a block.
func blockStats(t *testing.T, b Block) string {
	t.Helper()
	left, err := json.Marshal(b.Omitted)
	if err != nil {
		t.Fatal(err)
	}
	s := fmt.Sprintf("(%d items, %d chars, about %d tokens, left out %s)\n", b.Items, Chars(b.Text), Tokens(b.Text), left)
	return s
}

func parseSettings(t *testing.T, text string) Style {
	t.Helper()
	s := Style{MaxItems: NoLimit, MaxChars: NoLimit, MaxFull: NoLimit}
	context := memory.Private
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		number, err := strconv.Atoi(value)
		switch key {
		case "context":
			context, _ = memory.ParseContext(value)
			err = nil
		case "lang":
			s.Lang, err = Lang(value), nil
		case "max_items":
			s.MaxItems = number
		case "max_chars":
			s.MaxChars = number
		case "max_full":
			s.MaxFull = number
		default:
			t.Fatalf("there is no setting %q", key)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	s.View = testView(t, context)
	return s
}

func testView(t testing.TB, context memory.Context) memory.View {
	t.Helper()
	v, err := (&memory.Directories{}).View(memory.Scope{Subject: "owner", Context: context})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

var testMeta = memory.Meta{ModTime: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}

// blockOf renders files in a format. The path of a file determines its role.
func blockOf(t testing.TB, s Style, format string, files []txtar.File) Block {
	t.Helper()
	var identity, logs, longTerm, whole, sessions, all []*memory.Document
	var items []Item
	layout := &memory.Layout{Daily: memory.PublicOK, Sessions: memory.PublicOK}
	for _, f := range files {
		doc := layout.Parse(f.Name, f.Data, testMeta).For(s.View)
		if doc == nil {
			continue
		}
		all = append(all, doc)
		switch doc.Place.Kind {
		case memory.Identity:
			identity = append(identity, doc)
		case memory.Daily:
			logs = append(logs, doc)
		case memory.Session:
			sessions = append(sessions, doc)
		case memory.Longterm:
			longTerm = append(longTerm, doc)
			if doc.Place.Path == "MEMORY.md" {
				whole = append(whole, doc)
			}
		case memory.Items:
			for i := range doc.Entries {
				if key, value, ok := doc.Entries[i].Item(); ok {
					items = append(items, Item{doc.Place.Namespace, key, value, doc.Entries[i].Author().Untrusted(memory.View{})})
				}
			}
		}
	}
	switch format {
	case "summary":
		return s.Summary(longTerm, append(logs, sessions...))
	case "boot":
		return s.Boot(BootFiles{Identity: identity, Logs: logs, LongTerm: whole})
	case "wake":
		w := BootFiles{Identity: identity, Logs: logs, LongTerm: longTerm, Recent: sessions}
		if len(sessions) > 0 {
			w.Session = sessions[0]
		}
		return s.Boot(w)
	case "start":
		f := StartFiles{BootFiles: BootFiles{Identity: identity, Logs: logs, LongTerm: whole, Recent: sessions}, Items: items,
			Hints: func(lang Lang) []string { return []string{"a hint in " + string(lang)} }}
		for _, doc := range longTerm {
			if doc.Place.Path != "MEMORY.md" {
				f.Index = append(f.Index, doc)
			}
		}
		for _, doc := range all {
			for i := range doc.Entries {
				e := &doc.Entries[i]
				if e.IsSummary() && e.Readable(s.View) {
					f.Summaries = append(f.Summaries, e)
				}
				for _, task := range e.Tasks {
					if task.State == memory.Open {
						f.Tasks = append(f.Tasks, Task{task.Text, doc.Place.Path, task.Line, e.Author().Untrusted(s.View)})
					}
				}
			}
		}
		f.Other = func(_ *memory.Document, e *memory.Entry) bool { return slices.Contains(e.Tags, "project:other") }
		return s.Start(f)
	case "full":
		return s.Full(whole)
	case "items":
		return s.Items(items)
	case "relevant":
		var matches []Match
		for _, doc := range all {
			for i := range doc.Entries {
				e := &doc.Entries[i]
				m := Match{Path: doc.Place.Path, Line: e.Line, Entry: e, Snippet: joinWords(e.Text)}
				if Chars(m.Snippet) > 60 {
					m.Snippet = graphemePrefix(m.Snippet, 60) + "…"
				}
				matches = append(matches, m)
			}
		}
		b, shown := s.Relevant(matches)
		if len(shown) != b.Items {
			t.Errorf("%d matches are said to be shown, of %d", len(shown), b.Items)
		}
		return b
	}
	t.Fatalf("there is no format %q", format)
	return Block{}
}

// checkHidden verifies that a block inside a file is not read as memory.
func checkHidden(t testing.TB, name, block string) {
	t.Helper()
	doc := new(memory.Layout).Parse("note.md", []byte("before\n\n"+block+"\nafter\n"), testMeta)
	var texts []string
	for _, e := range doc.Entries {
		texts = append(texts, e.Text)
	}
	if diff := cmp.Diff([]string{"before", "after"}, texts); diff != "" {
		t.Errorf("%s: a file with the block says (-want +got):\n%s\nblock:\n%s", name, diff, block)
	}
}
