package cli

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
)

// Differences have the format of git and patch, for use in the memory
// directory: paths are relative to it, with a/ or b/ before them, and other
// output starts with nothing that these programs recognize. The place of a hunk
// follows its header, for readers.

// printDiff shows the difference of a file. An empty name stands for a missing file,
// before or after the change.
func (p *Printer) printDiff(before, after string, hunks []api.DiffHunk) {
	if len(hunks) == 0 {
		return
	}
	p.printDiffHeader(textIf(before != "", "a/"+before), textIf(after != "", "b/"+after))
	for _, h := range hunks {
		head, lines, _ := strings.Cut(h.Diff, "\n")
		p.printf("%s %s\n", p.Style(term.AsHunk, term.EscapeLine(head)),
			p.paintPlace(cmp.Or(after, before), h.Line))
		for line := range strings.Lines(lines) {
			line = strings.TrimSuffix(line, "\n")
			if p.width > 0 { // on a terminal, where no program reads the difference
				line = cutDiffLine(line)
			}
			p.printDiffLine(line)
		}
	}
}

// maxDiffLine bounds a line for readers, in characters. A file may consist of one line.
const maxDiffLine = 400

func cutDiffLine(line string) string {
	if n := utf8.RuneCountInString(line); n > maxDiffLine {
		return string([]rune(line)[:maxDiffLine]) + fmt.Sprintf("… (%d more characters)", n-maxDiffLine)
	}
	return line
}

// OutsideDiff returns the difference of a file outside the memory, with its full
// path. The output is for reading only, not for patch.
func (p *Printer) OutsideDiff(before, after string, d api.FileDiff) string {
	defer p.out.Reset()
	p.printDiffHeader(before, after)
	for _, h := range d.Hunks {
		head, lines, _ := strings.Cut(h.Diff, "\n")
		p.println(p.Style(term.AsHunk, head))
		for line := range strings.Lines(lines) {
			p.printDiffLine(cutDiffLine(strings.TrimSuffix(line, "\n")))
		}
	}
	if d.Truncated {
		p.println(p.Style(term.AsMuted, "(more changes than shown)"))
	}
	return p.out.String()
}

// printDiffHeader shows the names of a file on both sides. A missing file has the name
// /dev/null.
func (p *Printer) printDiffHeader(before, after string) {
	for _, side := range [][2]string{{"--- ", before}, {"+++ ", after}} {
		name := "/dev/null"
		if side[1] != "" {
			name = quoteDiffName(side[1])
		}
		p.println(p.Style(term.AsTitle, side[0]+name))
	}
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
	if dos && p.width == 0 {
		p.out.WriteByte('\r')
	}
	p.println("")
}

// quoteDiffName returns a name in the format of git: quoted if it contains special
// characters, and followed by a tab if it contains a space, because patch could
// end the name there.
func quoteDiffName(name string) string {
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

// pathBefore returns the name of a file before its first hunk, or "" if the file
// was empty or missing.
func pathBefore(path string, hunks []api.DiffHunk) string {
	if len(hunks) > 0 && strings.HasPrefix(hunks[0].Diff, "@@ -0,0 ") {
		return ""
	}
	return path
}
