package cli

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
)

// Differences are shown as git and patch read them, when these are run in the
// memory directory: paths are below that, with a/ or b/ before them, and what
// else is printed begins with nothing that they know. Behind the lines that a
// hunk is about, its place is told for whoever wants to look there.

// diff shows what changed in a file. A file that was not there before, or is not
// afterwards, has no name.
func (p *output) diff(b *strings.Builder, before, after string, hunks []api.DiffHunk) {
	if len(hunks) == 0 {
		return
	}
	p.diffHead(b, sided("a/", before), sided("b/", after))
	for _, h := range hunks {
		head, lines, _ := strings.Cut(h.Diff, "\n")
		fmt.Fprintf(b, "%s %s\n", p.Style(term.AsHunk, term.EscapeLine(head)), p.paintedPlace(cmp.Or(after, before), h.Line))
		for line := range strings.Lines(lines) {
			p.diffLine(b, strings.TrimSuffix(line, "\n"))
		}
	}
}

// sided is a path below the memory directory, on one side of a difference.
func sided(side, path string) string {
	if path == "" {
		return ""
	}
	return side + path
}

// maxDiffLine is how many characters of a line are shown of a file that is none of
// memory: settings may be one line.
const maxDiffLine = 400

// OutsideDiff shows what would change in a file that is none of memory, by its
// whole path. It is there to be looked at.
func (p *output) OutsideDiff(b *strings.Builder, before, after string, d api.FileDiff) {
	p.diffHead(b, before, after)
	for _, h := range d.Hunks {
		head, lines, _ := strings.Cut(h.Diff, "\n")
		fmt.Fprintln(b, p.Style(term.AsHunk, head))
		for line := range strings.Lines(lines) {
			line = strings.TrimSuffix(line, "\n")
			if utf8.RuneCountInString(line) > maxDiffLine {
				line = string([]rune(line)[:maxDiffLine]) + "…"
			}
			p.diffLine(b, line)
		}
	}
	if d.Truncated {
		fmt.Fprintln(b, p.Style(term.AsMuted, "(more is changed than is shown)"))
	}
}

// diffHead shows the names of a file on both sides; one that is not there has
// none.
func (p *output) diffHead(b *strings.Builder, before, after string) {
	for _, side := range [][2]string{{"--- ", before}, {"+++ ", after}} {
		name := "/dev/null"
		if side[1] != "" {
			name = diffName(side[1])
		}
		fmt.Fprintln(b, p.Style(term.AsTitle, side[0]+name))
	}
}

// diffLine shows one line of a hunk. A carriage return at its end is a part of
// it, and left out on a terminal only.
func (p *output) diffLine(b *strings.Builder, line string) {
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
	b.WriteString(p.Style(as, term.EscapeText(text)))
	if dos && p.width == 0 {
		b.WriteByte('\r')
	}
	b.WriteByte('\n')
}

// diffName is a name as differences have it: in quotes if it has something odd
// in it, and with a tab behind it if it might be taken to end at a space.
func diffName(name string) string {
	if term.EscapeLine(name) == name && !strings.ContainsAny(name, `"\`) {
		if strings.Contains(name, " ") {
			return name + "\t"
		}
		return name
	}
	var b strings.Builder
	for _, r := range name {
		switch s := string(r); {
		case r == '"', r == '\\':
			b.WriteString(`\` + s)
		case term.EscapeLine(s) == s:
			b.WriteString(s)
		default:
			for _, c := range []byte(s) {
				fmt.Fprintf(&b, `\%03o`, c)
			}
		}
	}
	return `"` + b.String() + `"`
}

// createdBy is the name of a file before its first hunk, which is none if there
// was nothing in it.
func createdBy(path string, hunks []api.DiffHunk) string {
	if len(hunks) > 0 && strings.HasPrefix(hunks[0].Diff, "@@ -0,0 ") {
		return ""
	}
	return path
}
