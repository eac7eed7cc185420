package ops

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault/journal"
)

// Needles are what is looked for where there are no entries: a text, and the lines
// of the entries that go. The zero value finds nothing.
type needles struct {
	match string
	lines map[string]bool // as bare gives them
	raw   map[string]bool // as they were written
	norms map[string]bool // of whole entries
	all   bool            // every entry that has the text goes
}

func newNeedles(match string, chosen []trace) *needles {
	n := &needles{match: match}
	for _, t := range chosen {
		if t.What == "entry" {
			n.add(t.source, t.norm)
		}
	}
	return n
}

// add adds the lines of an entry.
func (n *needles) add(source, norm string) {
	if n.lines == nil {
		n.lines, n.raw, n.norms = map[string]bool{}, map[string]bool{}, map[string]bool{}
	}
	if norm != "" {
		n.norms[norm] = true
	}
	for line := range strings.Lines(source) {
		n.raw[strings.TrimSpace(line)] = true
		if line = bare(line); len(line) >= minLine {
			n.lines[line] = true
		}
	}
}

// minLine is how long a line must be, in bytes, to be looked for by itself: a
// shorter one says little, and stands everywhere.
const minLine = 12

var (
	commentRE = regexp.MustCompile(`<!--.*?-->`)
	markerRE  = regexp.MustCompile(`^[\s>]*(?:[-*+]\s+|\d+[.)]\s+)?(?:\[.\]\s+)?`)
)

// bare is a line without what may differ between copies of it.
func bare(line string) string {
	line = markerRE.ReplaceAllString(commentRE.ReplaceAllString(line, ""), "")
	return memory.TaskNorm(strings.TrimSpace(line))
}

// in reports whether a text has what is looked for.
func (n *needles) in(text string) bool {
	if n.match != "" && strings.Contains(unixLines(text), n.match) {
		return true
	}
	for line := range strings.Lines(text) {
		if line = bare(line); n.lines[line] {
			return true
		}
	}
	return false
}

// exactly reports whether a text has a line, as it was written, of an entry that
// goes.
func (n *needles) exactly(text string) bool {
	for line := range strings.Lines(text) {
		if n.raw[strings.TrimSpace(line)] {
			return true
		}
	}
	return false
}

// lost are the numbers, from 0, of the lines of a text that have what is looked
// for; none, where that cannot be told.
func (n *needles) lost(text string) []int {
	var lost []int
	for i, line := range strings.Split(text, "\n") {
		if n.in(line) {
			lost = append(lost, i)
		}
	}
	if n.match == "" || !n.in(text) || n.in(withoutLines(text, lost)) {
		return nil
	}
	return lost
}

// withoutLines is a text without some of its lines; none stand for all.
func withoutLines(text string, lost []int) string {
	var kept []string
	for i, line := range strings.Split(text, "\n") {
		if lost != nil && !slices.Contains(lost, i) {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}

// entry reports whether an entry of an older version of a file goes: it says what one
// that goes says, or, if nobody wants to keep any that has the text, it has that.
func (n *needles) entry(e *memory.Entry, source string) bool {
	return n.norms[e.Norm] || n.all && n.match != "" && says(e, source, n.match)
}

// inJournal lists what of the journal has what is looked for: of files of the
// caller's, and of files that are for all. Where others have the same text in a
// file, it is left alone unless its lines are, byte for byte, those that go.
func (m erasing) inJournal(c Call, words *needles) ([]journal.Holding, error) {
	mine, shared := map[string]bool{}, map[string]bool{}
	may := func(path string) bool {
		if is, known := mine[path]; known {
			return is
		}
		mine[path], shared[path] = m.mayForget(c, path, words)
		return mine[path]
	}
	return m.Writer.Journal.Holding(
		func(r journal.Record) bool { return may(r.Path) || r.To != "" && may(r.To) },
		func(r journal.Record, h journal.Hunk) bool {
			return slices.ContainsFunc([][]byte{h.Old, h.New, h.Before, h.Behind}, func(b []byte) bool {
				if text := string(bytes.ToValidUTF8(b, nil)); !shared[r.Path] {
					return words.in(text)
				} else {
					return words.exactly(text)
				}
			})
		})
}

// mayForget reports whether what a file said before is the caller's to forget, and
// whether others have the same text there now.
func (m erasing) mayForget(c Call, path string, words *needles) (may, shared bool) {
	place := m.Layout.Place(path)
	if place.Owner != "" {
		return c.View.Readable(memory.Partition{Owner: place.Owner}), false
	}
	doc, err := m.Files.Load(path)
	if err != nil { // nobody can tell any more whose it was
		return true, c.Scope.Subject != m.Owner
	}
	for i := range doc.Entries {
		e := &doc.Entries[i]
		if !e.Readable(c.View) && words.in(string(doc.Source[e.Span.Start:e.Span.End])) {
			shared = true
		}
	}
	return doc.For(c.View) != nil, shared
}
