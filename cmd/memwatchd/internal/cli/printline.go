package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
)

// styles are the styles of terminals for those of lines.
var styles = [...]term.Style{
	api.Plain: term.AsText, api.Strong: term.AsTitle, api.Muted: term.AsMuted, api.Good: term.AsGood,
	api.Bad:   term.AsBad,
	api.Added: term.AsAdded, api.Removed: term.AsRemoved, api.Changed: term.AsChanged,
}

// rowNames is the width of the names of rows.
const rowNames = 11

// printLine shows one line of an answer.
func (p *Printer) printLine(l *api.Line) {
	switch l.Form {
	case api.Hint:
		p.addHint(styles[l.Style], "%s", l.Text)
	case api.Verbatim:
		p.out.WriteString(term.EscapeText(l.Text))
	case api.Block: // unchanged to a pipe, because it goes into prompts
		if p.terminal {
			l.Text = term.EscapeText(l.Text)
		}
		p.out.WriteString(l.Text)
	case api.Before, api.After, api.Moved, api.Hunk:
		p.printDiff(l)
	case api.Body:
		p.printBody(*l)
	default:
		p.printParts(l)
	}
}

// printBody shows a text of one or more lines.
func (p *Printer) printBody(l api.Line) {
	at, marks := 0, l.Matches // characters before the line
	for line := range strings.SplitSeq(strings.TrimSuffix(l.Text, "\n"), "\n") {
		l.Text, l.Matches = strings.TrimSuffix(line, "\r"), nil
		for _, r := range marks {
			l.Matches = append(l.Matches, [2]int{max(r[0]-at, 0), r[1] - at})
		}
		p.printParts(&l)
		at += utf8.RuneCountInString(line) + 1
	}
}

// printParts shows a line.
func (p *Printer) printParts(l *api.Line) {
	head := p.Style(styles[l.HeadStyle], term.EscapeName(l.Head))
	switch {
	case l.Form == api.Row:
		head += strings.Repeat(" ", max(rowNames-len(l.Head), 1))
	case l.Head != "":
		head += " "
	}
	place, gap := "", "  "
	if l.Path != "" {
		place = p.formatPlace(l.Path, l.Line)
	}
	if l.Form == api.Finding {
		place = cmp.Or(place, "memwatchd") + ":" // without a path, it is about the program
		gap = " "
		l.Section = api.TextIf(l.Untrusted, api.UntrustedMark)
	}
	if strings.HasPrefix(l.Text, "-> ") || strings.HasPrefix(l.Text, "<-") {
		gap = " "
	}
	rest := p.Style(term.AsMuted, term.EscapeLine(l.Section+api.TextIf(l.Section != "" && l.Text+l.Target != "", gap)))
	if l.Target != "" {
		path, heading, cut := strings.Cut(l.Target, "#")
		rest += term.EscapeName("-> " + p.locate(path) + api.TextIf(cut, "#") + heading +
			api.TextIf(l.Text != "", "  "))
		gap = " "
	}
	rest += p.mark(styles[l.Style], l.Text, l.Matches)
	for _, note := range l.Notes {
		switch {
		case note == "":
		case l.Form == api.Finding:
			note = " [" + note + "]"
		default:
			note = api.TextIf(rest != "", "  ") + note
		}
		rest += p.Style(term.AsMuted, term.EscapeLine(note))
	}
	switch {
	case p.output.vimgrep && l.Form == api.Finding:
		gap = fmt.Sprintf("%d:", max(l.Column, 1))
	case place == "" && rest == "":
		head, gap = strings.TrimSuffix(head, " "), ""
	case place == "" || rest == "":
		gap = ""
	}
	p.println(strings.Repeat("  ", l.Depth) + head + place + gap + rest)
}

// mark returns a text in a style with highlighted matches. The ranges count characters.
func (p *Printer) mark(as term.Style, s string, ranges [][2]int) string {
	runes, marked, at := []rune(s), "", 0
	for _, r := range slices.SortedFunc(slices.Values(ranges),
		func(a, b [2]int) int { return cmp.Compare(a[0], b[0]) }) {
		if from, to := max(r[0], at), min(r[1], len(runes)); from < to {
			marked += p.Style(as, term.EscapeLine(string(runes[at:from])))
			marked += p.Style(term.AsMatch, term.EscapeLine(string(runes[from:to])))
			at = to
		}
	}
	return marked + p.Style(as, term.EscapeLine(string(runes[at:])))
}

// Differences have the format of git and patch, for use in the memory
// directory: paths are relative to it, with a/ or b/ before them, and other
// output starts with nothing that these programs recognize. The place of a hunk
// follows its header, for readers.

// printDiff shows a line of a difference. The file before or after the change may be
// missing.
func (p *Printer) printDiff(l *api.Line) {
	switch l.Form {
	case api.Before:
		p.printDiffName("--- ", api.TextIf(l.Text != "", "a/"+l.Text))
	case api.After:
		p.printDiffName("+++ ", api.TextIf(l.Text != "", "b/"+l.Text))
	case api.Moved:
		p.println(p.Style(term.AsTitle, "diff --git a/"+term.EscapeName(l.Path)+" b/"+term.EscapeName(l.Text)))
		p.println("rename from " + term.EscapeName(l.Path) + "\nrename to " + term.EscapeName(l.Text))
	case api.Hunk:
		p.printHunk(l.Text, " "+p.formatPlace(l.Path, l.Line))
	}
}

// printHunk shows a hunk, with its place after the header.
func (p *Printer) printHunk(diff, place string) {
	head, lines, _ := strings.Cut(diff, "\n")
	p.println(p.Style(term.AsHunk, term.EscapeLine(head)) + place)
	for line := range strings.Lines(lines) {
		p.printDiffLine(strings.TrimSuffix(line, "\n"))
	}
}

// printDiffName shows the name of a file. A missing file has the name /dev/null. A tab ends
// a name with a space, where patch could end it otherwise.
func (p *Printer) printDiffName(side, name string) {
	name = term.EscapeName(cmp.Or(name, "/dev/null"))
	p.println(p.Style(term.AsTitle, side+name+api.TextIf(strings.Contains(name, " "), "\t")))
}

// OutsideDiff returns the difference of a file outside the memory, with its full
// path. The output is for reading only, not for patch.
func (p *Printer) OutsideDiff(before, after string, d api.FileDiff) string {
	defer p.out.Reset()
	p.printDiffName("--- ", before)
	p.printDiffName("+++ ", after)
	for _, h := range d.Hunks {
		p.printHunk(h.Diff, "")
	}
	if d.Truncated {
		p.println(p.Style(term.AsMuted, "(more changes than shown)"))
	}
	return p.out.String()
}

// printDiffLine shows one line of a hunk. It omits a final carriage return only on a
// terminal, because elsewhere the character belongs to the line.
func (p *Printer) printDiffLine(line string) {
	text, dos := strings.CutSuffix(line, "\r")
	as := term.AsText
	switch {
	case strings.HasPrefix(line, "-"):
		as = term.AsRemoved
	case strings.HasPrefix(line, "+"):
		as = term.AsAdded
	case strings.HasPrefix(line, `\`):
		as = term.AsMuted
	}
	p.out.WriteString(p.Style(as, term.EscapeText(text)))
	if dos && !p.terminal {
		p.out.WriteByte('\r')
	}
	p.println("")
}
