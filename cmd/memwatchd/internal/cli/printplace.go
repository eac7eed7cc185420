package cli

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rivo/uniseg"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
)

// place is path:line, as terminals and editors open it: below the root if the
// file is there, from the working directory if it lies below that; else as the
// daemon names it. It is never cut: what is cut cannot be opened.
func (p *output) place(path string, line int) string {
	return p.placeText(path, line).s
}

// placeText is place in its styles.
func (p *output) placeText(path string, line int) text {
	t := plainText(term.AsPath, p.locate(path))
	if line > 0 {
		t.add(term.AsText, ":")
		t.add(term.AsLine, fmt.Sprint(line))
	}
	return t
}

// paintedPlace is place in its colours.
func (p *output) paintedPlace(path string, line int) string {
	t := p.placeText(path, line)
	return p.painted(t, 0, len(t.s))
}

// locate is where a file of the memory is found from here.
func (p *output) locate(path string) string {
	if p.memory == nil || path == "" {
		return path
	}
	if there, _ := p.memory.Has(path); !there {
		return path
	}
	return FromHere(filepath.Join(p.memory.Dir(), filepath.FromSlash(path)))
}

// FromHere is a path from the working directory, if it lies below that.
func FromHere(path string) string {
	if dir, err := os.Getwd(); err == nil && config.Within(path, dir) {
		if rel, err := filepath.Rel(dir, path); err == nil {
			return rel
		}
	}
	return path
}

// roomy is how many columns are enough for something that may be shortened.
const roomy = 16

// titled is a place with what is to be said of it: the headings above it, which
// are shortened where a terminal is too narrow, and a few facts. What does not
// fit goes to the next line.
func (p *output) titled(b *strings.Builder, before, path string, line int, section string, facts ...string) {
	place, section, rest := before+p.place(path, line), term.EscapeLine(section), term.EscapeLine(joined("  ", facts...))
	room := p.width - uniseg.StringWidth(place)
	b.WriteString(before + p.paintedPlace(path, line))
	switch whole := joined("  ", section) + rest; {
	case p.width == 0 || uniseg.StringWidth(whole) <= room:
		b.WriteString(p.Style(term.AsMuted, whole) + "\n")
	case section != "" && room-uniseg.StringWidth(rest)-2 >= roomy:
		section = term.CutPath(section, sectionMark, room-uniseg.StringWidth(rest)-2)
		b.WriteString(p.Style(term.AsMuted, "  "+section+rest) + "\n")
	case section != "" && uniseg.StringWidth(rest) <= room:
		section = term.CutPath(section, sectionMark, p.width-len(before+indent))
		fmt.Fprintf(b, "%s\n%s%s\n", p.Style(term.AsMuted, rest), before+indent, p.Style(term.AsMuted, section))
	default:
		b.WriteByte('\n')
		p.hanging(b, before+indent, "", maxSnippet, plainText(term.AsMuted, strings.TrimLeft(whole, " ")))
	}
}

const (
	// indent is before what belongs to the line above it.
	indent = "    "
	// sectionMark is between a heading and the one below it.
	sectionMark = " > "
)

// zone is the one in which days and times are told.
func (p *output) zone() *time.Location { return cmp.Or(p.location, time.Local) }

// age is how long ago something was, in one unit; where nobody looks at it now,
// its day.
func (p *output) age(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	const day = 24 * time.Hour
	if p.width == 0 {
		return t.In(p.zone()).Format(time.DateOnly)
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
