package memory

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// errMismatch reports that an edited document differs from the intended result.
var errMismatch = errors.New("not changed")

// newMismatch returns an errMismatch for a line of the original document, 0 for none.
func newMismatch(line int, problem string) error {
	if line > 0 {
		problem = fmt.Sprintf("the text at line %d %s", line, problem)
	}
	return fmt.Errorf("%w: %s", errMismatch, problem)
}

// checkResult compares the parsed result with the intended one. Each piece of the
// original must exist unchanged or changed as requested, each new piece must be
// at its insertion point, and there must be no other pieces.
func (w *passAttempt) checkResult(next *Document) error {
	if next.Unsound {
		return newMismatch(0, "the file would be damaged: "+next.WhyUnsound())
	}
	if err := w.checkFront(next); err != nil {
		return err
	}
	if err := w.checkHidden(next); err != nil {
		return err
	}
	list := next.outline()
	take := func() *outlineNode {
		if len(list) == 0 {
			return &outlineNode{entry: -1, heading: -1, path: []string{""}}
		}
		defer func() { list = list[1:] }()
		return &list[0]
	}
	spots := slices.Clone(w.insertPoints)
	slices.SortStableFunc(spots, func(a, b insertionPoint) int { return a.line - b.line })
	end := outlineNode{from: w.d.lines.count() + 1, entry: -1, heading: -1}
	for _, p := range append(w.d.outline(), end) {
		for ; len(spots) > 0 && spots[0].line < p.from; spots = spots[1:] {
			for _, h := range spots[0].headings {
				if q := take(); q.level != h.Level || q.path[len(q.path)-1] != h.Text {
					return newMismatch(0, fmt.Sprintf("%q cannot be a heading", h.Text))
				}
			}
			for _, one := range spots[0].texts {
				if err := checkInsertedEntry(&one.Entries[0], next, take(), spots[0].path); err != nil {
					return err
				}
			}
		}
		if p.entry < 0 && (p.heading < 0 || w.droppedHeadings[p.heading]) ||
			p.entry >= 0 && w.entries[p.entry] != nil && w.entries[p.entry].remove {
			continue
		}
		if err := w.checkNode(&p, next, take()); err != nil {
			return err
		}
	}
	if len(list) > 0 {
		return newMismatch(0, "an extra entry would appear at line "+fmt.Sprint(list[0].from))
	}
	return nil
}

// checkInsertedEntry compares an entry with the text that was inserted for it.
func checkInsertedEntry(want *Entry, next *Document, q *outlineNode, path []string) error {
	if q.entry < 0 {
		return newMismatch(0, "the new text would not be a separate entry")
	}
	e := &next.Entries[q.entry]
	switch {
	case e.Block != want.Block || e.Norm != want.Norm || !maps.Equal(e.Attributes, want.Attributes):
		return newMismatch(0, "the new text would merge with other text, or be parsed differently here")
	case len(e.Sections) < len(path) ||
		!slices.EqualFunc(e.Sections[len(e.Sections)-len(path):], path, SameSection):
		return newMismatch(0, "the new text would be in another section")
	}
	for i, t := range want.Tasks {
		if i >= len(e.Tasks) || e.Tasks[i].State != t.State || e.Tasks[i].Norm != t.Norm {
			return newMismatch(0, "the tasks of the new text would be parsed differently here")
		}
	}
	return nil
}

// checkNode compares a heading or an entry with its original.
func (w *passAttempt) checkNode(p *outlineNode, next *Document, q *outlineNode) error {
	d := w.d
	if p.level != q.level {
		return newMismatch(p.from, "would merge with other text")
	}
	if p.level > 0 && (p.entry < 0 || q.entry < 0) {
		return w.checkHeading(p, next, q)
	}
	if q.entry < 0 {
		return newMismatch(p.from, "would be lost")
	}
	a, b, c := &d.Entries[p.entry], &next.Entries[q.entry], cmp.Or(w.entries[p.entry], &unchanged)
	if one := w.replacements[p.entry]; one != nil {
		return checkInsertedEntry(&one.Entries[0], next, q, a.Sections)
	}
	return w.checkEntry(a, b, c)
}

// unchanged stands for the change of an entry that has none. It is not modified.
var unchanged entryChange

// checkHeading compares a heading with its original. Each of the two may be an
// empty heading, which is an entry.
func (w *passAttempt) checkHeading(p *outlineNode, next *Document, q *outlineNode) error {
	if !slices.Equal(p.path, q.path) {
		return newMismatch(p.from, "would be parsed differently")
	}
	return nil
}

// checkEntry compares an entry with its original, apart from the requested
// changes. The title, the links and the added date follow from the text.
func (w *passAttempt) checkEntry(a, b *Entry, c *entryChange) error {
	attributes := a.Attributes
	if len(c.attributes) > 0 {
		attributes = map[string]string{}
		maps.Copy(attributes, a.Attributes)
		for _, x := range c.attributes {
			attributes[x.Key] = x.Value
			if x.Value == "" {
				delete(attributes, x.Key)
			}
		}
	}
	same := len(a.Tasks) == len(b.Tasks)
	for i := 0; same && i < len(a.Tasks); i++ {
		want, got := a.Tasks[i], b.Tasks[i]
		if state, ok := c.tasks[i]; ok {
			want.State = state
		}
		if want.isEntry && a.Attributes["id"] != b.Attributes["id"] {
			want.ID = got.ID
		}
		want.Line, want.Box = got.Line, got.Box
		same = want == got
	}
	changed := len(c.tasks)+len(c.attributes) > 0
	if !same || a.Block != b.Block || !changed && a.Text != b.Text || withoutMark(a.Norm) != withoutMark(b.Norm) ||
		!slices.Equal(a.Sections, b.Sections) || !w.changesField("tags") && !slices.Equal(a.Tags, b.Tags) ||
		!maps.Equal(attributes, b.Attributes) {
		return newMismatch(a.Line, "would have another meaning")
	}
	return nil
}

// withoutMark returns a normalized text without the check mark of a task that has no box.
func withoutMark(norm string) string {
	return strings.TrimLeft(strings.TrimPrefix(strings.TrimPrefix(norm, checkMark), emojiStyle), " ")
}

func (w *passAttempt) changesField(key string) bool {
	return slices.ContainsFunc(w.fields, func(f fieldChange) bool { return f.key == key })
}

func (w *passAttempt) changesReaders() bool {
	return w.changesField("visibility") || w.changesField("subject_id")
}

// narrowsReaders reports whether every reader of to is also a reader of from.
func narrowsReaders(from, to Partition) bool {
	return from.Visibility == PublicOK && (from.Owner == "" || from.Owner == to.Owner)
}

// checkFront compares the frontmatter with the intended one, field by field.
func (w *passAttempt) checkFront(next *Document) error {
	d := w.d
	want := slices.Clone(d.Front.Fields)
	for _, c := range w.fields {
		i := slices.IndexFunc(want, func(f Field) bool { return f.Key == c.key })
		if i < 0 {
			i, want = len(want), append(want, Field{Key: c.key})
		}
		want[i].Value = c.value
	}
	same := slices.EqualFunc(want, next.Front.Fields, func(a, b Field) bool {
		return a.Key == b.Key && reflect.DeepEqual(a.Value, b.Value)
	})
	switch {
	case !same || next.Front.Present != (d.Front.Present || len(w.fields) > 0):
		return newMismatch(0, "the frontmatter would have wrong values")
	case next.Partition != d.Partition && !(w.changesReaders() && narrowsReaders(d.Partition, next.Partition)),
		next.Claim != d.Claim && d.Claim != "":
		return newMismatch(0, "the file would have different readers")
	}
	return nil
}

// checkHidden verifies that the text that is not indexed is unchanged, apart
// from that of removed and replaced entries.
func (w *passAttempt) checkHidden(next *Document) error {
	texts := func(d *Document, removed []lineRange) (list []string) {
		for _, s := range d.Hidden {
			from, to := d.lines.at(s.Start), d.lines.at(s.End-1)
			text := string(trimEnding(d.Source[s.Start:s.End]))
			gone := slices.ContainsFunc(removed, func(r lineRange) bool { return r.overlaps(from, to) })
			if text != emptyComment && !gone {
				list = append(list, text)
			}
		}
		return list
	}
	removed := slices.Clone(w.removedLines)
	for i := range w.replacements {
		removed = append(removed, lineRange{w.d.Entries[i].Line, w.d.Entries[i].EndLine})
	}
	if !slices.Equal(texts(w.d, removed), texts(next, nil)) {
		return newMismatch(0, "comments or generated text would be parsed differently")
	}
	return nil
}
