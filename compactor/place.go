package compactor

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/memory"
)

// A placing is an entry that is put at the end of a section. Its lines end with
// line feeds, and are written as they are, but for the endings.
type placing struct {
	section []string
	lines   []byte
}

// place puts entries into a file, each at the end of its section, and checks
// that they are then what they are meant to be, and that everything else says
// what it said. A section that is missing is made, at the end of what is there
// of the sections around it.
//
// Unlike [memory.Revision], which makes a text fit the list that it is put into,
// it does not touch a byte of the lines: what comes back from an archive is what
// went there.
func place(doc *memory.Document, list []placing, parse func([]byte) *memory.Document) ([]byte, error) {
	if doc.Unsound {
		return nil, errors.New("something in the file cannot be read for sure: see check")
	}
	// Lists may run into each other: then blank lines keep them apart, or, for
	// an item that is indented, a comment. Below what has no end, as a block of
	// code may, there is no place: then it is above everything.
	for _, top := range []bool{false, true} {
		for _, gap := range []spacing{{}, {comment: true}, {blank: true}, {blank: true, comment: true}} {
			gap.top = top
			source, err := placeAll(doc, list, gap)
			if err != nil {
				return nil, err
			}
			if placed(doc, parse(source), list) {
				return source, nil
			}
		}
	}
	return nil, errors.New("it would not be the same there")
}

// spacing is how entries are kept apart from each other and from the rest.
type spacing struct{ blank, comment, top bool }

// placeAll writes the entries, and the sections that are missing, into the file.
func placeAll(doc *memory.Document, list []placing, gap spacing) ([]byte, error) {
	var spots []*spot
	for _, p := range list {
		s, err := spotFor(doc, p.section, gap.top)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(spots, func(o *spot) bool { return o.at == s.at && slices.Equal(o.section, s.section) })
		if i < 0 {
			i, spots = len(spots), append(spots, s)
		}
		spots[i].add(p.section[len(s.section):], p.lines)
	}
	// Where one section ends within another, the inner one comes first.
	slices.SortStableFunc(spots, func(a, b *spot) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(len(b.section), len(a.section)))
	})
	var edits []memory.Edit
	end := ending(doc.Source)
	for n, s := range spots {
		var text []byte
		if s.under {
			text = append(text, '\n')
		}
		text = s.write(text, s.level, s.under || s.at == doc.Front.Span.End, n == 0 && s.at <= len("\ufeff"), gap)
		if rest := doc.Source[s.at:]; len(bytes.TrimLeft(rest, "\r\n")) == len(rest) && len(rest) > 0 && (gap.blank || s.under || s.at == doc.Front.Span.End || len(s.inner) > 0) {
			text = append(text, '\n')
		}
		text = bytes.ReplaceAll(text, []byte("\n"), end)
		if before := doc.Source[:s.at]; s.at > len("\ufeff") && !bytes.ContainsAny(before[len(before)-1:], "\r\n") {
			text = append(bytes.Clone(end), text...)
			if n == len(spots)-1 {
				text = bytes.TrimSuffix(text, end) // a missing last ending stays missing
			}
		}
		edits = append(edits, memory.Edit{Span: memory.Span{Start: s.at, End: s.at}, New: text})
	}
	return memory.Splice(doc.Source, edits)
}

// ending is how the lines of a file end.
func ending(source []byte) []byte {
	switch i := bytes.IndexAny(source, "\r\n"); {
	case i < 0 || source[i] == '\n':
		return []byte("\n")
	case i+1 < len(source) && source[i+1] == '\n':
		return []byte("\r\n")
	}
	return []byte("\r")
}

// placed reports whether a file is another with entries put into it, and nothing
// else.
func placed(old, now *memory.Document, list []placing) bool {
	if now.Unsound || now.Own != old.Own || len(now.Problems) > len(old.Problems)+len(list) {
		return false
	}
	missing := map[string]int{}
	for _, p := range list {
		missing[strings.Join(p.section, "\x1f")+"\x00"+string(p.lines)]++
	}
	left := len(list)
	i := 0
	skip := func() {
		for i < len(old.Entries) && old.Entries[i].Block == memory.EmptyHeading {
			i++
		}
	}
	for j := range now.Entries {
		e := &now.Entries[j]
		if e.Block == memory.EmptyHeading {
			continue
		}
		said := within(e) + "\x00" + string(linesOf(now, e))
		skip()
		if i < len(old.Entries) {
			o := &old.Entries[i]
			if o.Block == e.Block && o.Partition == e.Partition && o.Type == e.Type && within(o)+"\x00"+string(linesOf(old, o)) == said {
				i++
				continue
			}
		}
		if missing[said] == 0 || e.Block != memory.Item {
			return false
		}
		missing[said]--
		left--
	}
	skip()
	return i == len(old.Entries) && left == 0
}
