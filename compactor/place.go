package compactor

import (
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
	for len(list) > 0 {
		n := 1 // entries of one section
		for n < len(list) && slices.Equal(list[n].section, list[0].section) {
			n++
		}
		next, err := insertTogether(doc, list[:n], parse)
		if err != nil {
			return nil, err
		}
		doc, list = next, list[n:]
	}
	return doc.Source, nil
}

// insertTogether appends entries to one section.
func insertTogether(doc *memory.Document, list []insertion, parse func([]byte) *memory.Document) (*memory.Document,
	error) {
	// Adjacent lists may merge. Separate them with blank lines or, for an
	// indented item, a comment. If nothing can follow the content, as with an
	// unterminated code block, insert at the top.
	for _, top := range []bool{false, true} {
		at, err := findInsertionPoint(doc, list[0].section, top)
		if err != nil {
			return nil, err
		}
		for _, gap := range []spacing{{}, {comment: true}, {blank: true}, {blank: true, comment: true}} {
			if now := parse(at.insert(doc, list, gap)); verifyInserted(doc, now, list) {
				return now, nil
			}
		}
	}
	return nil, errors.New("no position keeps both the entry and the rest of the file unchanged")
}

// spacing describes how inserted entries are separated from the surrounding
// text.
type spacing struct{ blank, comment bool }

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
