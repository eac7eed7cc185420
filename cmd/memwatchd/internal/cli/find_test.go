package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/rivo/uniseg"
	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
	"github.com/memwatchd/memwatchd/ipc/client"
)

// newFinder returns a finder without a daemon on a terminal of the given size.
func newFinder(t *testing.T, width, height int) *finder {
	t.Helper()
	f := &finder{ctx: t.Context(), client: &client.Client{Socket: "/nonexistent"}, started: true,
		out: &Printer{width: width, color: true, reader: api.Reader{Location: time.UTC}}}
	f.Update(tea.WindowSizeMsg{Width: width, Height: height})
	return f
}

func typeText(f *finder, text string) (last tea.Cmd) {
	for _, r := range text {
		_, last = f.Update(tea.KeyPressMsg{Text: string(r), Code: r})
	}
	return last
}

// TestFinderKeepsUp checks that keys during a search cancel the search and start
// only one for the last query.
func TestFinderKeepsUp(t *testing.T) {
	f := newFinder(t, 80, 24)
	first := typeText(f, "q")
	if first == nil || typeText(f, "uin") != nil {
		t.Fatal("not exactly one search is under way")
	}
	obsolete := first().(found)
	if obsolete.query != "q" || obsolete.err == nil {
		t.Errorf("the first search, which was canceled, returns %+v", obsolete)
	}
	_, next := f.Update(obsolete)
	if next == nil || next().(found).query != "quin" || len(f.hits) > 0 || f.status != "" {
		t.Errorf("the obsolete result has the effect %q, %d hits", f.status, len(f.hits))
	}
	f.Update(found{query: "quin", answer: &api.SearchAnswer{Hits: []api.Hit{{Path: "a.md", Line: 1}, {Path: "b.md", Line: 2}}, Total: 2}})
	if len(f.hits) != 2 || f.status != "2 of 2 entries" {
		t.Errorf("%d hits, status %q", len(f.hits), f.status)
	}
	f.Update(tea.KeyPressMsg{Code: tea.KeyDown})
	f.Update(tea.KeyPressMsg{Code: tea.KeyDown})
	if _, cmd := f.Update(tea.KeyPressMsg{Code: tea.KeyEnter}); cmd == nil || f.chosen == nil || f.chosen.Path != "b.md" {
		t.Errorf("Enter chooses %+v", f.chosen)
	}
}

// TestFinderEdits checks the keys that change the query.
func TestFinderEdits(t *testing.T) {
	f := newFinder(t, 80, 24)
	typeText(f, "one 音乐e\u0301")
	for _, step := range []struct {
		key  tea.KeyPressMsg
		want string
	}{
		{tea.KeyPressMsg{Code: tea.KeyBackspace}, "one 音乐"}, {tea.KeyPressMsg{Code: tea.KeyBackspace}, "one 音"},
		{tea.KeyPressMsg{Code: tea.KeySpace, Text: " "}, "one 音 "}, {tea.KeyPressMsg{Code: 'w', Mod: tea.ModCtrl}, "one "},
		{tea.KeyPressMsg{Code: tea.KeyLeft}, "one "}, {tea.KeyPressMsg{Code: 'u', Mod: tea.ModCtrl}, ""},
		{tea.KeyPressMsg{Code: tea.KeyBackspace}, ""},
	} {
		f.Update(step.key)
		if f.query != step.want {
			t.Errorf("after %s the query is %q, want %q", step.key, f.query, step.want)
		}
	}
	f.Update(tea.PasteMsg{Content: "two\nlines\t"})
	if f.query != "two lines" {
		t.Errorf("a pasted text becomes %q", f.query)
	}
}

// TestFinderView checks that the screen fits every terminal and that no text of an
// answer or of the query has an effect on it.
func TestFinderView(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/print/search-zh.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var wild any
	if err := json.Unmarshal(archive.Files[0].Data, &wild); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(injectSequences(wild))
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range [][2]int{{200, 50}, {120, 10}, {80, 24}, {40, 5}, {20, 3}, {10, 1}} {
		answer := new(api.SearchAnswer)
		if err := json.Unmarshal(text, answer); err != nil {
			t.Fatal(err)
		}
		f := newFinder(t, size[0], size[1])
		f.query = "音乐\x1b[2J\u202e" + strings.Repeat("very long ", 30)
		f.Init()
		f.Update(found{answer: answer})
		f.shown = previewed{place: f.places[0], from: answer.Hits[0].Line, lines: []string{"\x1b[2J\towned 音乐", "\u202e", strings.Repeat("音", 300)}}
		v := f.View()
		lines := strings.Split(term.StyleSequence().ReplaceAllString(v.Content, ""), "\n")
		if len(lines) > size[1] || v.Cursor.X >= size[0] {
			t.Errorf("%v: %d lines, the cursor is in column %d", size, len(lines), v.Cursor.X)
		}
		for _, line := range lines {
			if line != term.EscapeLine(line) || uniseg.StringWidth(line) > size[0] {
				t.Errorf("%v: %d columns: %q", size, uniseg.StringWidth(line), line)
			}
		}
	}
}
