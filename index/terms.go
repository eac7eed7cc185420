package index

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/internal/letters"
	"github.com/memwatchd/memwatchd/memory"
)

// A Listing selects names from a sorted list.
type Listing struct {
	Prefix string // include only names with this prefix
	After  string // include only names after this one; all if empty
	Limit  int    // maximum number of names
}

// Page returns the selected names, a part of names. The given names must be
// sorted and have the prefix.
func (l Listing) Page(names []string) []string {
	if l.After != "" {
		at, found := slices.BinarySearch(names, l.After)
		if found {
			at++
		}
		names = names[at:]
	}
	return names[:min(len(names), l.Limit)]
}

// Owners returns the owner keys of all indexed content, sorted, each once.
func (x *Index) Owners() (owners []string) {
	for p := range x.snapshot().partitions {
		owners = append(owners, p.Owner)
	}
	slices.Sort(owners)
	return slices.Compact(owners)
}

// Tags returns a page of the sorted tags of readable entries with the number of
// these entries, and the total number of tags with the prefix. The errors are
// those of [Index.Search].
func (x *Index) Tags(ctx context.Context, view memory.View, l Listing) (tags []string, entries []int, total int,
	err error) {
	err = x.browse(ctx, view, func(s *reader) {
		prefix := letters.Fold(memory.FoldTag(l.Prefix))
		terms := slices.DeleteFunc(s.termsWithPrefix(kindTag, ""), func(tag string) bool {
			return !strings.HasPrefix(letters.Fold(tag), prefix)
		})
		tags, total = l.Page(terms), len(terms)
		entries = make([]int, len(tags))
		for i, tag := range tags {
			s.eachEntry(termKey(kindTag, tag), func(entryKey) { entries[i]++ })
		}
	})
	return tags, entries, total, err
}

// Sections returns a page of the headings above readable entries, and the total
// number of headings with the prefix. Each heading is spelled as in its first
// occurrence. Headings that searches treat as equal are listed once. The order
// is that of the normalized headings. The errors are those of [Index.Search].
func (x *Index) Sections(ctx context.Context, view memory.View, l Listing) (names []string, total int, err error) {
	if l.After != "" {
		l.After = normalizePhrase(l.After)
	}
	// The prefix may end inside a word. Appending a letter prevents the space
	// that normalizePhrase adds after a whole word.
	const more = "x"
	prefix := strings.TrimSuffix(normalizePhrase(l.Prefix+more), more+" ")
	err = x.browse(ctx, view, func(s *reader) {
		terms := s.termsWithPrefix(kindSection, prefix)
		names, total = nil, len(terms)
		for _, term := range l.Page(terms) {
			// empty if its file has changed; a later call finds the new spelling
			if name := s.spellHeading(term); name != "" {
				names = append(names, name)
			}
		}
	})
	return names, total, err
}

// inOrder compares entries by path, then by position in the file.
func (s *reader) inOrder(c, d entryKey) int {
	return cmp.Or(strings.Compare(s.table.fileAt(c.file).Path, s.table.fileAt(d.file).Path),
		cmp.Compare(c.entry, d.entry))
}

// termsWithPrefix returns the sorted terms of a sort that begin with a prefix
// and occur in the readable partitions.
func (s *reader) termsWithPrefix(sort termKind, prefix string) []string {
	found := map[string]bool{}
	for _, p := range s.readable.partitions {
		if s.err == nil {
			s.err = s.damaged(s.postings.addTerms(s.ctx, p.fields[sort], prefix, s.visible, found))
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// spellHeading returns the spelling of a heading in its first occurrence, or ""
// if the heading no longer occurs there.
func (s *reader) spellHeading(term string) string {
	first, found := entryKey{}, false
	s.eachBlock(termKey(kindSection, term), func(_ uint32, r ref, v slots) {
		slot, _ := v.next()
		c := entryKey{r.file, int32(entryOfSlot(int(r.nth), slot))}
		if !found || s.inOrder(c, first) < 0 {
			first, found = c, true
		}
	})
	if !found {
		return ""
	}
	_, e := s.resolveEntry(first)
	if e == nil {
		return ""
	}
	if i := slices.IndexFunc(e.Sections, func(s string) bool { return normalizePhrase(s) == term }); i >= 0 {
		return e.Sections[i]
	}
	return ""
}
