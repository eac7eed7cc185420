package ops

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/internal/lazyregexp"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
	"github.com/memwatchd/memwatchd/vault/journal"
)

// A textMatcher is the set of texts to find outside of entries: the matched text
// and the lines of the removed entries. The zero value finds nothing.
type textMatcher struct {
	match      index.Phrase
	lines      map[string]bool // normalized by normalizeLine
	raw        map[string]bool // as they were written
	norms      map[string]bool // of whole entries, and of parts by normalizePart
	everyEntry bool            // all entries with the text are removed
}

func newTextMatcher(match index.Phrase, chosen []occurrence) *textMatcher {
	n := &textMatcher{match: match}
	for _, t := range chosen {
		if t.What == "entry" {
			n.addErased(t.source, t.normalized, t.lines[0] > 0)
		}
	}
	return n
}

// addErased adds the lines of an entry or of a part of it.
func (n *textMatcher) addErased(source, norm string, part bool) {
	if part {
		norm = normalizePart(source)
	}
	if n.lines == nil {
		n.lines, n.raw, n.norms = map[string]bool{}, map[string]bool{}, map[string]bool{}
	}
	if norm != "" {
		n.norms[norm] = true
	}
	for line := range strings.Lines(source) {
		if raw := strings.TrimSpace(line); len(raw) >= minLine {
			n.raw[raw] = true
		}
		line = normalizeLine(line)
		if len(line) >= minLine {
			n.lines[line] = true
		}
	}
}

// minLine is the minimum length of a line that is searched for by itself, in
// bytes. Shorter lines are too common.
const minLine = 12

var (
	commentRE = lazyregexp.New(`<!--.*?-->`)
	markerRE  = lazyregexp.New(`^[\s>]*(?:[-*+]\s+|\d+[.)]\s+)?(?:\[.\]\s+)?`)
)

// normalizeLine returns a line without the parts that differ between its copies.
func normalizeLine(line string) string {
	line = markerRE().ReplaceAllString(commentRE().ReplaceAllString(line, ""), "")
	return memory.TaskNorm(strings.TrimSpace(line))
}

// matchesText reports whether a text contains the matched text or a removed line.
func (n *textMatcher) matchesText(text string) bool {
	if n.match.In(text) {
		return true
	}
	for line := range strings.Lines(text) {
		line = normalizeLine(line)
		if n.lines[line] {
			return true
		}
	}
	return false
}

// containsLine reports whether a text contains a line of a removed entry in its
// original form.
func (n *textMatcher) containsLine(text string) bool {
	for line := range strings.Lines(text) {
		if n.raw[strings.TrimSpace(line)] {
			return true
		}
	}
	return false
}

// matchingLines returns the numbers, from 0, of the matching lines. It returns
// none if the matches cannot be attributed to single lines.
func (n *textMatcher) matchingLines(text string) []int {
	var lost []int
	for i, line := range strings.Split(text, "\n") {
		if n.matchesText(line) {
			lost = append(lost, i)
		}
	}
	if n.match.Empty() || !n.matchesText(text) || n.matchesText(withoutLines(text, lost)) {
		return nil
	}
	return lost
}

// withoutLines returns a text without the lost lines. If lost is nil, the
// result is empty.
func withoutLines(text string, lost []int) string {
	var kept []string
	for i, line := range strings.Split(text, "\n") {
		if lost != nil && !slices.Contains(lost, i) {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}

// matchesEntry returns what is removed of an entry of an older version of a file: the whole
// entry if it equals a removed one, parts that equal removed ones, or everything with the text
// if all entries with the text are removed.
func (n *textMatcher) matchesEntry(doc *memory.Document, e *memory.Entry) (whole bool, parts [][2]int) {
	if n.norms[e.Norm] {
		return true, nil
	}
	parts = doc.MatchingParts(e, func(text string) bool {
		return n.norms[normalizePart(strings.TrimSuffix(text, "\n"))] || n.everyEntry && n.match.In(text)
	})
	whole = parts == nil && n.everyEntry && entryContains(e, doc.SourceLines(e.Line, e.EndLine), n.match)
	return whole, parts
}

// findHunks returns the journal hunks that contain the text. It covers the
// caller's files and the shared ones. In a shared file that contains text of
// others, only hunks with an exact line of a removed entry count. It examines the changes after
// the one with the given id, or all.
func (m adminOps) findHunks(c Call, words *textMatcher, after string) ([]journal.HunkSet, error) {
	mine, shared := map[string]bool{}, map[string]bool{}
	may := func(path string) bool {
		if is, known := mine[path]; known {
			return is
		}
		mine[path], shared[path] = m.mayForget(c, path, words)
		return mine[path]
	}
	return m.Writer.Journal.FindHunks(
		func(r journal.Record) bool { return r.ID > after && (may(r.Path) || r.To != "" && may(r.To)) },
		func(r journal.Record, h journal.Hunk) bool {
			return slices.ContainsFunc([][]byte{h.Old, h.New, h.Above, h.Below}, func(b []byte) bool {
				if text := string(bytes.ToValidUTF8(b, nil)); !shared[r.Path] {
					return words.matchesText(text)
				} else {
					return words.containsLine(text)
				}
			})
		})
}

// mayForget reports whether the caller may erase earlier contents of a file,
// and whether the file is shared with others: it is if they have the same text
// in it now, or if the caller may change only what it wrote itself.
func (m adminOps) mayForget(c Call, path string, words *textMatcher) (may, shared bool) {
	place, inbox := m.Layout.Place(path), m.inbox(c)
	switch {
	case inbox != "" && !memory.Within(path, inbox):
		return false, true
	case place.Owner != "" && !memory.InInbox(path):
		return c.View.Readable(memory.Partition{Owner: place.Owner}), false
	}
	doc, err := m.Files.Load(path)
	if err != nil { // the file is gone
		if c.Scope.Subject == m.Owner {
			return true, false
		}
		doc = m.removedFile(path)
		if doc == nil { // its readers are unknown
			return false, true
		}
	}
	shared = !m.mayChange(c, path, doc.Own, memory.Author{})
	for i := range doc.Entries {
		e := &doc.Entries[i]
		if !e.Readable(c.View) && words.matchesText(string(doc.Source[e.Span.Start:e.Span.End])) {
			shared = true
		}
	}
	return doc.For(c.View) != nil, shared
}

// removedFile returns the last content of a removed file, or nil if the journal
// does not contain it.
func (m adminOps) removedFile(path string) *memory.Document {
	for _, known := range m.Writer.Journal.List(time.Time{}, path, 0) {
		if known.Path != path || known.After != "" || known.To != "" {
			continue
		}
		r, err := m.Writer.Journal.Get(known.ID)
		if err != nil || len(r.Hunks) != 1 || journal.Digest(r.Hunks[0].Old) != r.Before {
			return nil
		}
		return m.Parse(vault.File{Path: path, Data: r.Hunks[0].Old, ModTime: r.Time})
	}
	return nil
}
