package cli

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/rivo/uniseg"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
)

// A findLayout divides the screen below the query and the status.
type findLayout struct {
	rows, columns               int // of the list
	previewRows, previewColumns int
	beside                      bool // the preview is right of the list, not below it
}

// sideWidth is the width from which the preview is beside the list, in columns.
const sideWidth = 120

func (f *finder) layout() findLayout {
	rest := max(f.height-2, 1) // below the query and the status
	if f.width >= sideWidth {
		left := f.width * 2 / 5
		return findLayout{rows: rest, columns: left, previewRows: rest, previewColumns: f.width - left - 3, beside: true}
	}
	rows := max(rest*2/5, 1)
	return findLayout{rows: rows, columns: f.width, previewRows: max(rest-rows-1, 0), previewColumns: f.width}
}

// View returns the screen: the query, the status, the hits and the preview.
func (f *finder) View() tea.View {
	v := tea.View{AltScreen: true}
	if f.width == 0 {
		return v
	}
	const prompt = "> "
	query := term.EscapeLine(f.query)
	for uniseg.StringWidth(query) > max(f.width-len(prompt)-1, 1) {
		_, query, _, _ = uniseg.FirstGraphemeClusterInString(query, -1) // shows the end of a long query
	}
	v.Cursor = tea.NewCursor(len(prompt)+uniseg.StringWidth(query), 0)
	as := term.AsMuted
	if f.bad {
		as = term.AsBad
	}
	lines := []string{
		f.out.Style(term.AsTitle, prompt) + query,
		f.cell(plainText(as, f.status+"; Enter opens, Esc leaves"), f.width),
	}
	at := f.layout()
	list, preview := f.listLines(at), f.previewLines(at)
	if at.beside {
		bar := " " + f.out.Style(term.AsMuted, "│") + " "
		for i := range list {
			lines = append(lines, list[i]+bar+preview[i])
		}
	} else {
		lines = append(lines, list...)
		lines = append(lines, f.out.Style(term.AsMuted, strings.Repeat("─", f.width)))
		lines = append(lines, preview...)
	}
	v.Content = strings.Join(lines[:min(len(lines), f.height)], "\n")
	return v
}

// listLines returns the visible hits, one a line, and empty lines below them.
func (f *finder) listLines(at findLayout) []string {
	var lines []string
	for i := f.top; i < len(f.places) && len(lines) < at.rows; i++ {
		place := f.places[i]
		mark := "  "
		if i == f.selected {
			mark = f.out.Style(term.AsMatch, "> ")
		}
		room := at.columns - 2
		suffix := fmt.Sprintf(":%d", place.Line)
		path, width := f.out.locate(place.Path), max(room*2/5, 8)
		if uniseg.StringWidth(path) > width {
			path = place.Path // all hits share the directory of the memory
		}
		path = term.CutPath(term.EscapeLine(path), "/", width)
		head := min(uniseg.StringWidth(path)+len(suffix)+2, room)
		t := plainText(term.AsPath, path)
		t.add(term.AsText, suffix+"  ")
		_, match := f.hits[i].FirstMatch()
		lines = append(lines, mark+f.cell(t, head)+f.cell(markWords(place.Text, match, room-head), room-head))
	}
	for len(lines) < at.rows {
		lines = append(lines, strings.Repeat(" ", at.columns))
	}
	return lines
}

// previewLines returns the part of a file around the selected place, with its
// matches.
func (f *finder) previewLines(at findLayout) []string {
	var words []string
	if len(f.hits) > 0 {
		runes := []rune(f.hits[f.selected].Snippet)
		for _, r := range f.hits[f.selected].Highlights {
			if 0 <= r[0] && r[0] < r[1] && r[1] <= len(runes) {
				words = append(words, string(runes[r[0]:r[1]]))
			}
		}
	}
	var lines []string
	for i, line := range f.shown.lines {
		if len(lines) == at.previewRows {
			break
		}
		line = strings.ReplaceAll(strings.TrimSuffix(line, "\r"), "\t", "    ")
		t := plainText(term.AsText, line)
		if h := f.hits; len(h) > 0 && h[f.selected].Line <= f.shown.from+i && f.shown.from+i <= h[f.selected].EndLine {
			t = text{}
			t.addMarked(term.AsText, line, findWords(line, words))
		}
		lines = append(lines, f.cell(t, at.previewColumns))
	}
	for len(lines) < at.previewRows {
		lines = append(lines, "")
	}
	return lines
}

// cell returns a text in exactly width columns.
func (f *finder) cell(t text, width int) string {
	shown := term.CutEnd(t.s, max(width, 1))
	kept, rest := len(shown), ""
	if shown != t.s {
		kept, rest = len(shown)-len("…"), "…"
	}
	return f.out.paintText(t, 0, kept) + rest + strings.Repeat(" ", max(width-uniseg.StringWidth(shown), 0))
}

// markWords returns a line with its first match marked. If the match would be cut
// off at width columns, the line begins shortly before it.
func markWords(line, match string, width int) text {
	if at := strings.Index(line, match); match != "" && at > 0 && uniseg.StringWidth(line[:at+len(match)]) > width {
		from := at
		for rest := line[:at]; rest != "" && uniseg.StringWidth(line[from:at]) < width/3; rest = line[:from] {
			from = len(dropLastCharacter(rest))
		}
		line = "…" + line[from:]
	}
	var t text
	t.addMarked(term.AsText, line, findWords(line, []string{match}))
	return t
}

// findWords returns the ranges of the words in a line, in characters.
func findWords(line string, words []string) (ranges [][2]int) {
	for _, word := range words {
		for from := 0; word != ""; {
			i := strings.Index(line[from:], word)
			if i < 0 {
				break
			}
			start := len([]rune(line[:from+i]))
			ranges = append(ranges, [2]int{start, start + len([]rune(word))})
			from += i + len(word)
		}
	}
	return ranges
}
