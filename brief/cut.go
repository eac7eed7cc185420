package brief

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"github.com/memwatchd/memwatchd/memory"
)

// visibleProse returns the visible lines of the body of a file and the number of
// untrusted entries that it omitted.
func (s Style) visibleProse(doc *memory.Document) (lines []memory.ProseLine, untrusted int) {
	all := doc.Prose(s.View)
	if !s.Omit {
		return all, 0
	}
	last := -1
	for _, l := range all {
		if l.Untrusted {
			if l.Entry >= 0 && l.Entry != last {
				untrusted++
			}
			last = l.Entry
			continue
		}
		if l.Text == "" && (len(lines) == 0 || lines[len(lines)-1].Text == "") {
			continue
		}
		lines = append(lines, l)
	}
	for n := len(lines); n > 0 && lines[n-1].Text == ""; n-- {
		lines = lines[:n-1]
	}
	return lines, untrusted
}

// renderLine returns a line in its form within a block.
func renderLine(l memory.ProseLine) string {
	if l.Untrusted {
		return insertMark(escapeStructure(l.Text))
	}
	return escapeStructure(l.Text)
}

// shortenText shortens a text to at most the given number of code points. Of a longer
// text it keeps the first 70 % and the last 20 %, with a mark between them. It
// cuts between lines if that keeps at least half of either part, otherwise
// within a line, but never within a grapheme cluster. It returns the number of
// code points left out. If not even the mark fits, the text is empty.
func shortenText(lines []memory.ProseLine, most int, w phrases) (text string, left int) {
	out := make([]string, len(lines))
	total, rendered := -1, -1 // without the last line feed
	for i, l := range lines {
		out[i] = renderLine(l)
		total, rendered = total+Chars(l.Text)+1, rendered+Chars(out[i])+1
	}
	if withinLimit(rendered, most) {
		return strings.Join(out, "\n"), 0
	}
	head, tail := most*7/10, most*2/10
	mark := fmt.Sprintf(w.cut, total)
	if Chars(mark)+2 > most-head-tail { // on a line of its own
		mark = shortCutMark
	}
	if Chars(mark)+2 > most-head-tail {
		return "", total
	}
	before, keptBefore := takeEnds(lines, out, head, true)
	after, keptAfter := takeEnds(lines, out, tail, false)
	left = total - keptBefore - keptAfter
	if mark != shortCutMark {
		mark = fmt.Sprintf(w.cut, left)
	}
	return strings.Join(slices.Concat(before, []string{mark}, after), "\n"), left
}

// takeEnds returns the first or the last lines of a text in their form within a
// block, with at most the given number of code points. It also returns the
// number of code points of the original text in these lines, including line
// feeds.
func takeEnds(lines []memory.ProseLine, out []string, most int, first bool) (kept []string, chars int) {
	if !first {
		lines, out = slices.Clone(lines), slices.Clone(out)
		slices.Reverse(lines)
		slices.Reverse(out)
		defer func() { slices.Reverse(kept) }()
	}
	n, used := 0, 0
	for n < len(lines) && used+Chars(out[n])+1 <= most {
		used += Chars(out[n]) + 1
		chars += Chars(lines[n].Text) + 1
		n++
	}
	kept = slices.Clone(out[:n])
	if 2*used >= most || n == len(lines) {
		return kept, chars
	}
	// Whole lines fill less than half of the space: add a part of the next
	// line.
	for room := most - used - 1; room > 0; {
		text, before, after := trimFirstWord(graphemeSuffix(lines[n].Text, room)), "…", ""
		if first {
			text, before, after = trimLastWord(graphemePrefix(lines[n].Text, room)), "", "…"
		}
		if text == "" {
			break
		}
		shown := renderLine(memory.ProseLine{Text: before + text + after, Untrusted: lines[n].Untrusted})
		over := used + Chars(shown) + 1 - most
		if over <= 0 {
			return append(kept, shown), chars + Chars(text)
		}
		room -= over
	}
	return kept, chars
}

// trimLastWord removes a possibly incomplete word from the end of s, unless the word
// is long.
func trimLastWord(s string) string {
	if i := strings.LastIndexByte(s, ' '); i > len(s)*3/4 {
		return s[:i]
	}
	return s
}

// trimFirstWord removes a possibly incomplete word from the beginning of s, unless
// the word is long.
func trimFirstWord(s string) string {
	if i := strings.IndexByte(s, ' '); i >= 0 && i < len(s)/4 {
		return s[i+1:]
	}
	return s
}

// graphemePrefix returns the longest prefix of at most the given number of code points
// that ends between two grapheme clusters.
func graphemePrefix(s string, most int) string {
	end, state := 0, -1
	for rest := s; rest != ""; {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		most -= utf8.RuneCountInString(cluster)
		if most < 0 {
			break
		}
		end += len(cluster)
	}
	return s[:end]
}

// graphemeSuffix returns the longest suffix of at most the given number of code points
// that begins between two grapheme clusters.
func graphemeSuffix(s string, most int) string {
	over, at, state := utf8.RuneCountInString(s)-most, 0, -1
	for rest := s; rest != "" && over > 0; {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		over -= utf8.RuneCountInString(cluster)
		at += len(cluster)
	}
	return s[at:]
}
