package compactor

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/memory"
)

// An insertion is an entry to append to a section. Its lines end with line feeds;
// only the line endings are adapted to the file.
type insertion struct {
	section []string
	lines   []byte
}

// insertEntries appends entries to their sections in a file and checks the
// result: each entry keeps its meaning, and the rest of the file is unchanged.
// It creates a missing section at the end of its innermost existing parent.
//
// Unlike [memory.Revision], which adapts text to the surrounding list,
// insertEntries keeps every byte of the lines, so that a restored entry equals
// the archived one.
func insertEntries(doc *memory.Document, list []insertion, parse func([]byte) *memory.Document) ([]byte, error) {
	if doc.Unsound {
		return nil, errors.New("the structure of the file is ambiguous; run `memwatchd check`")
	}
	// Adjacent lists may merge. Separate them with blank lines or, for an
	// indented item, a comment. If nothing can follow the content, as with an
	// unterminated code block, insert at the top.
	for _, top := range []bool{false, true} {
		for _, gap := range []spacing{{}, {comment: true}, {blank: true}, {blank: true, comment: true}} {
			gap.top = top
			source, err := insertAll(doc, list, gap)
			if err != nil {
				return nil, err
			}
			if verifyInserted(doc, parse(source), list) {
				return source, nil
			}
		}
	}
	return nil, errors.New("no position keeps both the entry and the rest of the file unchanged")
}

// spacing describes how inserted entries are separated from the surrounding
// text.
type spacing struct{ blank, comment, top bool }

// insertAll returns the file with the entries and missing sections inserted.
func insertAll(doc *memory.Document, list []insertion, gap spacing) ([]byte, error) {
	var spots []*insertionPoint
	for _, p := range list {
		s, err := findInsertionPoint(doc, p.section, gap.top)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(spots,
			func(o *insertionPoint) bool { return o.at == s.at && slices.Equal(o.section, s.section) })
		if i < 0 {
			i, spots = len(spots), append(spots, s)
		}
		spots[i].add(p.section[len(s.section):], p.lines)
	}
	// If a nested section ends where its parent ends, the nested one comes
	// first.
	slices.SortStableFunc(spots, func(a, b *insertionPoint) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(len(b.section), len(a.section)))
	})
	var edits []memory.Edit
	end := lineEnding(doc.Source)
	for n, s := range spots {
		var text []byte
		if s.belowHeading {
			text = append(text, '\n')
		}
		text = s.appendText(text, s.level, s.belowHeading || s.at == doc.Front.Span.End,
			n == 0 && s.at <= len("\ufeff"), gap)
		if rest := doc.Source[s.at:]; len(bytes.TrimLeft(rest, "\r\n")) == len(rest) && len(rest) > 0 &&
			(gap.blank || s.belowHeading || s.at == doc.Front.Span.End || len(s.inner) > 0) {
			text = append(text, '\n')
		}
		text = bytes.ReplaceAll(text, []byte("\n"), end)
		if before := doc.Source[:s.at]; s.at > len("\ufeff") && !bytes.ContainsAny(before[len(before)-1:], "\r\n") {
			text = append(bytes.Clone(end), text...)
			if n == len(spots)-1 {
				text = bytes.TrimSuffix(text, end) // keep a missing final line ending
			}
		}
		edits = append(edits, memory.Edit{Span: memory.Span{Start: s.at, End: s.at}, New: text})
	}
	return memory.Splice(doc.Source, edits)
}

// lineEnding returns the line ending of a file.
func lineEnding(source []byte) []byte {
	switch i := bytes.IndexAny(source, "\r\n"); {
	case i < 0 || source[i] == '\n':
		return []byte("\n")
	case i+1 < len(source) && source[i+1] == '\n':
		return []byte("\r\n")
	}
	return []byte("\r")
}

// verifyInserted reports whether now equals old with exactly the listed entries
// inserted.
func verifyInserted(old, now *memory.Document, list []insertion) bool {
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
		said := sectionKey(e) + "\x00" + string(linesOf(now, e))
		skip()
		if i < len(old.Entries) {
			o := &old.Entries[i]
			if o.Block == e.Block && o.Partition == e.Partition && o.Type == e.Type &&
				sectionKey(o)+"\x00"+string(linesOf(old, o)) == said {
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
