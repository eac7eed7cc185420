package compactor

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/memwatchd/memwatchd/memory"
)

// A Limit is how much the long-term files that match a pattern may hold. Zero
// for a measure means that it is not limited.
type Limit struct {
	Pattern    string // of paths below the root: * within a name, ** across directories, {a,b}
	Items      int    // top-level list items
	Characters int    // as [Measure] counts them
}

// DefaultLimits bound the long-term files of subjects: what is read at the start
// of every session must stay short. MEMORY.md is not among them: it is its
// owner's, and cut only where it is shown.
func DefaultLimits() []Limit {
	return []Limit{{Pattern: "_longterms/*/_index.md", Items: 100, Characters: 3000}}
}

// SoftLimits are those that only lead to a hint.
func SoftLimits() []Limit {
	return []Limit{{Pattern: "MEMORY.md", Characters: 5000}, {Pattern: "*/MEMORY.md", Characters: 5000}}
}

// matching is the first limit that a path falls under.
func matching(limits []Limit, path string) (Limit, bool) {
	for _, l := range limits {
		if ok, err := doublestar.Match(l.Pattern, path); ok && err == nil {
			return l, true
		}
	}
	return Limit{}, false
}

// Size is how much a long-term file holds.
type Size struct {
	Items      int
	Characters int
}

// Measure counts the top-level list items of a file, and the characters of its
// body: code points, without frontmatter, comments and what memwatchd put there
// itself, since neither is anything that a person reads. A line ending is one
// character.
func Measure(doc *memory.Document) Size {
	s := Size{Characters: characters(doc.Source[doc.Front.Span.End:])}
	for i := range doc.Entries {
		e := &doc.Entries[i]
		s.Characters += weight(doc, e) - characters(doc.Source[e.Span.Start:e.Span.End])
		if e.Block == memory.Item {
			s.Items++
		}
	}
	for _, h := range doc.Hidden {
		s.Characters -= characters(doc.Source[h.Start:h.End])
	}
	return s
}

// weight is how many characters go with an entry.
func weight(doc *memory.Document, e *memory.Entry) int {
	n := utf8.RuneCountInString(e.Text)
	if s := e.Span; s.End > s.Start && strings.ContainsRune("\r\n", rune(doc.Source[s.End-1])) {
		n++
	}
	return n
}

// characters counts code points, and a carriage return with its line feed as
// one.
func characters(b []byte) int {
	n := utf8.RuneCount(b)
	for i := 1; i < len(b); i++ {
		if b[i] == '\n' && b[i-1] == '\r' {
			n--
		}
	}
	if strings.HasPrefix(string(b[:min(len(b), 3)]), "\ufeff") {
		n--
	}
	return n
}

// over reports whether a size exceeds so many times the limit.
func (l Limit) over(s Size, times int) bool {
	return l.Items > 0 && s.Items > times*l.Items || l.Characters > 0 && s.Characters > times*l.Characters
}

// share is how full a file is: 1 is at the limit.
func (l Limit) share(s Size) float64 {
	var share float64
	if l.Items > 0 {
		share = float64(s.Items) / float64(l.Items)
	}
	if l.Characters > 0 {
		share = max(share, float64(s.Characters)/float64(l.Characters))
	}
	return share
}

// leftAlone is why nothing is ever taken out of a file as it is; nil if
// something may be.
func leftAlone(doc *memory.Document) error {
	switch {
	case doc.Place.Kind != memory.Longterm:
		return errors.New("only long-term files are trimmed")
	case doc.Stale:
		return errors.New("it cannot be read now")
	case doc.Unsound:
		return errors.New("something in it cannot be read for sure: see check")
	}
	for _, p := range doc.Problems {
		// From there on everything is private, so that taking a part out might
		// change who may read the rest.
		if p.Code == "comment_unclosed" || p.Code == "attributes_broken" {
			return fmt.Errorf("a comment in line %d hides what follows: see check", p.Line)
		}
	}
	return nil
}
