package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rivo/uniseg"

	"github.com/memwatchd/memwatchd/vault"
)

// place is path:line, as terminals and editors open it: below the root if the
// file is there, from the working directory if it lies below that; else as the
// daemon names it. It is never cut: what is cut cannot be opened.
func (p *printer) place(path string, line int) string {
	return p.placeText(path, line).s
}

// placeText is place in its styles.
func (p *printer) placeText(path string, line int) text {
	t := plainText(asPath, p.locate(path))
	if line > 0 {
		t.add(asText, ":")
		t.add(asLine, fmt.Sprint(line))
	}
	return t
}

// paintedPlace is place in its colours.
func (p *printer) paintedPlace(path string, line int) string {
	t := p.placeText(path, line)
	return p.painted(t, 0, len(t.s))
}

// locate is where a file of the memory is found from here.
func (p *printer) locate(path string) string {
	if p.memory == nil || path == "" {
		return path
	}
	// Through the vault, which does not wait for ever for a disk.
	if _, err := p.memory.Stat(path); errors.Is(err, fs.ErrNotExist) || errors.Is(err, vault.ErrRoot) {
		return path
	}
	return fromHere(filepath.Join(p.memory.Dir, filepath.FromSlash(path)))
}

// fromHere is a path from the working directory, if it lies below that.
func fromHere(path string) string {
	if dir, err := os.Getwd(); err == nil && within(path, dir) {
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
func (p *printer) titled(b *strings.Builder, before, path string, line int, section string, facts ...string) {
	place, section, rest := before+p.place(path, line), escapeLine(section), escapeLine(joined("  ", facts...))
	room := p.width - uniseg.StringWidth(place)
	b.WriteString(before + p.paintedPlace(path, line))
	switch whole := joined("  ", section) + rest; {
	case p.width == 0 || uniseg.StringWidth(whole) <= room:
		b.WriteString(p.style(asMuted, whole) + "\n")
	case section != "" && room-uniseg.StringWidth(rest)-2 >= roomy:
		section = cutPath(section, sectionMark, room-uniseg.StringWidth(rest)-2)
		b.WriteString(p.style(asMuted, "  "+section+rest) + "\n")
	case section != "" && uniseg.StringWidth(rest) <= room:
		section = cutPath(section, sectionMark, p.width-len(before+indent))
		fmt.Fprintf(b, "%s\n%s%s\n", p.style(asMuted, rest), before+indent, p.style(asMuted, section))
	default:
		b.WriteByte('\n')
		p.hanging(b, before+indent, "", maxSnippet, plainText(asMuted, strings.TrimLeft(whole, " ")))
	}
}

const (
	// indent is before what belongs to the line above it.
	indent = "    "
	// sectionMark is between a heading and the one below it.
	sectionMark = " > "
)

// zone is the one in which days and times are told.
func (p *printer) zone() *time.Location { return cmp.Or(p.location, time.Local) }

// age is how long ago something was, in one unit; where nobody looks at it now,
// its day.
func (p *printer) age(t time.Time) string {
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
