package brief

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"github.com/memwatchd/memwatchd/memory"
)

// Fit adds hints to a block and shortens the block until fits accepts it. It cuts
// between lines, keeps the line that ends generated text, and adds a line with
// the number of omitted lines. If not even one line fits beside the hints, it
// omits the hints. It returns "" if that leaves nothing.
func Fit(text string, hints []string, fits func(string) bool) string {
	if text == "" {
		return ""
	}
	body, generated := strings.CutSuffix(text, memory.GeneratedClose+"\n")
	end := ""
	if generated {
		end = memory.GeneratedClose + "\n"
	}
	if list, n := listText(hintsHeader, hints, NoLimit); n > 0 {
		short := fitLines(body, "\n"+list+end, fits)
		if short != "" {
			return short
		}
	}
	return fitLines(body, end, fits)
}

// fitLines returns as many lines of body as fit before end, or "" if none does.
func fitLines(body, end string, fits func(string) bool) string {
	if fits(body + end) {
		return body + end
	}
	lines := slices.Collect(strings.Lines(body))
	notice := phrasesByLang[LanguageOf(body)].omittedLines
	shortened := func(n int) string {
		return strings.Join(lines[:n], "") + fmt.Sprintf(notice, len(lines)-n) + "\n" + end
	}
	n := sort.Search(len(lines), func(n int) bool { return !fits(shortened(n)) }) - 1
	for n > 0 && (strings.TrimSpace(lines[n-1]) == "" || isHeader(lines[n-1])) {
		n--
	}
	if n <= 0 {
		return ""
	}
	return shortened(n)
}

// isHeader reports whether a line of a block is the header of a part.
func isHeader(line string) bool {
	return strings.HasPrefix(line, "[Memory:") || strings.HasPrefix(line, "# [") ||
		strings.TrimSpace(line) == memory.GeneratedOpen
}

// visibleProse returns the visible lines of the body of a file. If a file contains an
// entry and one that replaces it, both have a mark; a replaced entry of another file is omitted.
func (s Style) visibleProse(doc *memory.Document) (lines []memory.ProseLine) {
	all := doc.Prose(s.View)
	marks := map[string]string{} // of entries, by id; empty for one that is omitted
	if s.Successors != nil {
		for old, by := range s.Successors(doc) {
			marks[old] = ""
			if id, ok := strings.CutPrefix(by, doc.Place.Path+"#"); ok {
				marks[old], marks[id] = replacedMark, replacementMark
			}
		}
	}
	for i := range doc.Entries {
		e := &doc.Entries[i]
		since := doc.UncheckedSince(e, s.Today)
		if mark, ok := marks[e.ID]; since != "" && (!ok || mark != "") {
			marks[e.ID] = strings.TrimSpace(mark + " " + uncheckedNote(since))
		}
	}
	if len(marks) == 0 {
		return all
	}
	last := -1
	for _, l := range all {
		isFirst := l.Entry >= 0 && l.Entry != last
		last = l.Entry
		if l.Entry >= 0 {
			switch mark, ok := marks[doc.Entries[l.Entry].ID]; {
			case ok && mark == "":
				continue
			case ok && isFirst:
				l.Text = insertText(l.Text, mark)
			}
		}
		if l.Text == "" && (len(lines) == 0 || lines[len(lines)-1].Text == "") {
			continue
		}
		lines = append(lines, l)
	}
	for n := len(lines); n > 0 && lines[n-1].Text == ""; n-- {
		lines = lines[:n-1]
	}
	return lines
}

// renderLine returns a line in its form within a block.
func renderLine(l memory.ProseLine) string { return quoteLine(l.Text, l.Untrusted) }

// renderedChars returns the number of characters of lines in their form within a block,
// without the last line feed.
func renderedChars(lines []memory.ProseLine) int {
	n := -1
	for _, l := range lines {
		n += Chars(renderLine(l)) + 1
	}
	return max(n, 0)
}

// A cut describes the part of a text that remains if the text is too long.
type cut struct {
	head, tail int // percentages of the limit, for the beginning and the end

	// added returns the day on which an entry was added, or "". If it is set, the
	// newest entries between the two ends remain too, as far as there is space.
	added func(entry int) string
}

var (
	cutMiddle    = cut{head: 70, tail: 20}
	cutBeginning = cut{tail: 90}
	cutEnd       = cut{head: 90}
)

// shortenText shortens a text to at most the given number of code points. Of a
// longer text it keeps both ends, with a mark between them. It cuts between
// lines if that keeps at least half of either end, otherwise within a line, but
// never within a grapheme cluster. It returns the number of code points left
// out. If not even the mark fits, the text is empty.
func shortenText(lines []memory.ProseLine, most int, c cut, w phrases) (text string, left int) {
	out := make([]string, len(lines))
	total := -1 // without the last line feed
	for i, l := range lines {
		out[i] = renderLine(l)
		total += Chars(l.Text) + 1
	}
	if renderedChars(lines) <= most {
		return strings.Join(out, "\n"), 0
	}
	head, tail := most*c.head/100, most*c.tail/100
	mark := fmt.Sprintf(w.cut, total)
	if Chars(mark)+2 > most-head-tail { // on a line of its own
		mark = shortCutMark
	}
	if Chars(mark)+2 > most-head-tail {
		return "", total
	}
	before, keptBefore := takeEnds(lines, out, head, true)
	after, keptAfter := takeEnds(lines, out, tail, false)
	var newest []string
	keptNewest := 0
	if c.added != nil {
		from, to := len(before), len(lines)-len(after)
		room := most - Chars(strings.Join(before, "\n")+strings.Join(after, "\n")+mark+shortCutMark) - 4
		newest, keptNewest = takeNewest(lines, out, from, to, room, c.added)
	}
	left = total - keptBefore - keptNewest - keptAfter
	if mark != shortCutMark {
		mark = fmt.Sprintf(w.cut, left)
	}
	return strings.Join(slices.Concat(before, []string{mark}, newest, after), "\n"), left
}

// takeNewest returns those entries of the lines from, inclusive, to to,
// exclusive, that were added last, in their order in the text and followed by a
// mark. It takes as many complete entries as have space. It also returns the
// number of their code points in the original text.
func takeNewest(lines []memory.ProseLine, out []string, from, to, room int, added func(int) string) (kept []string,
	chars int) {
	type span struct {
		day      string
		from, to int
	}
	var entries []span
	for i := from; i < to; {
		e, end := lines[i].Entry, i+1
		for e >= 0 && end < len(lines) && lines[end].Entry == e {
			end++
		}
		complete := end <= to && (i == 0 || lines[i-1].Entry != e)
		if e >= 0 && complete && added(e) != "" {
			entries = append(entries, span{added(e), i, end})
		}
		i = end
	}
	slices.SortStableFunc(entries, func(a, b span) int {
		return cmp.Or(strings.Compare(b.day, a.day), cmp.Compare(b.from, a.from))
	})
	for i, e := range entries {
		room -= Chars(strings.Join(out[e.from:e.to], "\n")) + 1
		if room < 0 {
			entries = entries[:i]
			break
		}
	}
	slices.SortFunc(entries, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	for _, e := range entries {
		kept = append(kept, out[e.from:e.to]...)
		for _, l := range lines[e.from:e.to] {
			chars += Chars(l.Text) + 1
		}
	}
	if kept != nil {
		kept = append(kept, shortCutMark)
	}
	return kept, chars
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
	// Whole lines fill less than half of the space: add a part of the next line, whose form
	// in a block adds at most as much as that of the line.
	room := most - used - 2 - (Chars(out[n]) - Chars(lines[n].Text))
	text, before, after := graphemeSuffix(lines[n].Text, room), "…", ""
	if first {
		text, before, after = graphemePrefix(lines[n].Text, room), "", "…"
	}
	if text == "" {
		return kept, chars
	}
	shown := renderLine(memory.ProseLine{Text: before + text + after, Untrusted: lines[n].Untrusted})
	return append(kept, shown), chars + Chars(text)
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
	over := utf8.RuneCountInString(s) - most
	for n := max(over, 0); ; n++ {
		if cut := graphemePrefix(s, n); utf8.RuneCountInString(cut) >= over || cut == s {
			return s[len(cut):]
		}
	}
}
