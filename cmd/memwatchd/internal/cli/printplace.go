package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
	"github.com/rivo/uniseg"
)

// formatPlace returns path:line in the form that terminals and editors open. A
// place is never cut, because a cut path cannot be opened.
func (p *Printer) formatPlace(path string, line int) string {
	return p.placeText(path, line).s
}

func (p *Printer) placeText(path string, line int) text {
	t := plainText(term.AsPath, p.locate(path))
	if line > 0 {
		t.add(term.AsText, ":")
		t.add(term.AsLine, fmt.Sprint(line))
	}
	return t
}

func (p *Printer) paintPlace(path string, line int) string {
	t := p.placeText(path, line)
	return p.paintText(t, 0, len(t.s))
}

// locate returns the path of a memory file for use on this machine: relative to
// the working directory if the file lies below that, else absolute.
func (p *Printer) locate(path string) string {
	if p.memory == nil || path == "" {
		return path
	}
	// --socket may reach the daemon of another memory, and the name of another
	// machine and a colon precede a path there.
	top, _, _ := strings.Cut(path, "/")
	if p.remote {
		return path
	}
	if exists, _ := p.memory.Has(path); !exists && (!p.sameMemory || strings.Contains(top, ":")) {
		return path
	}
	dir, below := p.memory.Locate(path)
	return RelativePath(filepath.Join(dir, filepath.FromSlash(below)))
}

// RelativePath returns path relative to the working directory if it lies below
// that, else path.
func RelativePath(path string) string {
	if dir, err := os.Getwd(); err == nil && config.IsWithin(path, dir) {
		if rel, err := filepath.Rel(dir, path); err == nil {
			return rel
		}
	}
	return path
}

// minTextWidth is the minimum width for text that may be shortened, in columns.
const minTextWidth = 16

// printTitle shows a place followed by the headings above it and a few facts. It
// shortens the headings if the terminal is too narrow, and moves text that
// still does not fit to the next line.
func (p *Printer) printTitle(before, path string, line int, section string, facts ...string) {
	place, section, rest := before+p.formatPlace(path, line), term.EscapeLine(section),
		term.EscapeLine(joinNonEmpty(facts...))
	room := p.width - uniseg.StringWidth(place)
	p.out.WriteString(before + p.paintPlace(path, line))
	switch title := joinNonEmpty(section) + rest; {
	case p.width == 0 || uniseg.StringWidth(title) <= room:
		p.println(p.Style(term.AsMuted, title))
	case section != "" && room-uniseg.StringWidth(rest)-2 >= minTextWidth:
		section = term.CutPath(section, sectionMark, room-uniseg.StringWidth(rest)-2)
		p.println(p.Style(term.AsMuted, "  "+section+rest))
	case section != "" && uniseg.StringWidth(rest) <= room:
		section = term.CutPath(section, sectionMark, p.width-len(before+indent))
		p.printf("%s\n%s%s\n", p.Style(term.AsMuted, rest), before+indent, p.Style(term.AsMuted, section))
	default:
		p.println("")
		p.printHanging(before+indent, "", maxSnippet, plainText(term.AsMuted, strings.TrimLeft(title, " ")))
	}
}

const (
	// indent precedes text that belongs to the line above it.
	indent = "    "
	// sectionMark separates a heading from its subheading.
	sectionMark = " > "
)

// formatAge returns the time since t in one unit, or the date if the output is not a
// terminal.
func (p *Printer) formatAge(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	const day = 24 * time.Hour
	if p.width == 0 {
		return t.In(p.location).Format(time.DateOnly)
	}
	switch d := p.now.Sub(t); {
	case d < time.Minute:
		return "now"
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 2*day:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d < 60*day:
		return fmt.Sprintf("%dd", d/day)
	case d < 730*day:
		return fmt.Sprintf("%dmo", d/(day*365/12))
	default:
		return fmt.Sprintf("%dy", d/(day*365))
	}
}

// printRelated shows links in both directions: the place, the target or "<-", and
// the text.
func (p *Printer) printRelated(a *api.RelatedAnswer) {
	var paths []string
	for _, l := range a.To {
		target := l.Target
		if l.Path != "" {
			target = p.locate(l.Path)
		}
		paths = append(paths, l.Path)
		target += textIf(l.Anchor != "", "#"+l.Anchor) + textIf(l.Missing, " [missing]")
		p.printLink(a.Path, l.Line, "-> "+target, strings.Join(strings.Fields(l.Text), " "))
	}
	for _, l := range a.From {
		first, _, _ := strings.Cut(strings.TrimSpace(l.Text), "\n")
		paths = append(paths, l.Path)
		p.printLink(l.Path, l.Line, "<-", first)
	}
	if p.output.files {
		p.printFiles(paths)
	}
	if len(a.To)+len(a.From) == 0 {
		p.addEmptyHint("no links")
	}
}

// printLink shows one link, on one line if it fits.
func (p *Printer) printLink(path string, line int, arrow, words string) {
	switch {
	case p.output.files:
		return
	case p.forPrograms():
		p.printPlaces([]listed{{path: path, line: line, text: strings.TrimSpace(arrow + "  " + words)}})
		return
	}
	arrow = term.EscapeLine(arrow)
	p.out.WriteString(p.paintPlace(path, line) + " " + arrow)
	if t := term.EscapeLine(words); uniseg.StringWidth(p.formatPlace(path, line)+arrow+t)+3 <= p.width {
		p.println(p.Style(term.AsMuted, joinNonEmpty(t)))
		return
	}
	p.println("")
	p.printIndented(maxSnippet, plainText(term.AsMuted, words))
}
