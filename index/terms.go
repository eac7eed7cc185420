package index

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/memory"
)

// A Listing is what is wanted of a sorted list of names.
type Listing struct {
	Prefix string // only those that begin with this
	After  string // only those behind this one; all if empty
	Limit  int    // so many at most
}

// Page is what is wanted of names that are sorted and begin with the prefix.
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

// Owners are the owner keys of all that the index holds, sorted.
func (x *Index) Owners() (owners []string) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for p := range x.table.partitions {
		owners = append(owners, p.Owner)
	}
	slices.Sort(owners)
	return slices.Compact(owners)
}

// Tags are the tags of the entries that the view may read, and how many there
// are that begin with the prefix.
func (x *Index) Tags(ctx context.Context, view memory.View, l Listing) (tags []string, total int, err error) {
	err = x.terms(ctx, view, sortTag, l.Prefix, func(_ *page, terms []string) error {
		tags, total = l.Page(terms), len(terms)
		return nil
	})
	return tags, total, err
}

// Sections are the headings that the entries stand below which the view may read,
// each as it is written where it stands first, and how many there are that begin
// with the prefix. What search takes for the same heading is listed once; the
// order is that of the headings as they are compared.
func (x *Index) Sections(ctx context.Context, view memory.View, l Listing) (names []string, total int, err error) {
	if l.After != "" {
		l.After = squash(l.After)
	}
	// A word may go on behind the prefix: only what ends in it has a space there.
	const more = "x"
	prefix := strings.TrimSuffix(squash(l.Prefix+more), more+" ")
	err = x.terms(ctx, view, sortSection, prefix, func(p *page, terms []string) error {
		names, total = nil, len(terms)
		for _, term := range l.Page(terms) {
			name, err := p.spelled(term)
			if err != nil {
				return err
			}
			if name != "" { // else its file has changed: another look will tell
				names = append(names, name)
			}
		}
		return nil
	})
	return names, total, err
}

// terms calls use with the terms of a sort that entries have which the view may
// read, sorted.
func (x *Index) terms(ctx context.Context, view memory.View, sort termSort, prefix string, use func(*page, []string) error) error {
	b := x.builders.Get().(*builder)
	defer x.builders.Put(b)
	_, err := x.safely(func() ([]string, error) {
		x.mu.RLock()
		defer x.mu.RUnlock()
		p, end, err := x.begin(ctx, b, view, &Query{}, nil, nil)
		if err != nil {
			return nil, err
		}
		defer end()
		terms, err := p.begun(sort, prefix)
		if err != nil {
			return nil, err
		}
		return nil, use(p, terms)
	})
	return err
}

// begun are the terms of a sort that begin with a prefix and that some entry has
// in the view's partitions, overlaid files included, sorted.
func (s *search) begun(sort termSort, prefix string) ([]string, error) {
	found := map[string]bool{}
	counts := func(number uint32) bool {
		if int(number) >= len(s.table.blocks) {
			return false
		}
		r := s.table.blocks[number]
		return r.part != nowhere && s.at[r.part] != hidden
	}
	for _, p := range s.open {
		if s.lists != nil {
			key := termKey(p.prefix, sort, "")
			err := s.lists.terms(s.ctx, key, prefix, counts, found)
			if err != nil && s.ctx.Err() == nil {
				err = errDamaged{err}
			}
			if err != nil {
				return nil, err
			}
		}
		s.over.begun(p.Partition, termKey("", sort, ""), prefix, found)
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// spelled is a heading as it is written where it stands first; empty if it does
// not stand there any more.
func (p *page) spelled(term string) (string, error) {
	first, found := candidate{}, false
	path := func(c candidate) string { return p.over.part(c.part).file.path }
	p.each(sortSection, term, func(_ uint32, r ref, v slots) {
		slot, _ := v.next()
		c := candidate{part: r.part, entry: int32(entryOfSlot(int(r.nth), slot))}
		if !found || cmp.Or(strings.Compare(path(c), path(first)), cmp.Compare(c.entry, first.entry)) < 0 {
			first, found = c, true
		}
	})
	if p.err != nil || !found {
		return "", p.err
	}
	_, e, err := p.document(first)
	if err != nil || e == nil {
		return "", err
	}
	if i := slices.IndexFunc(e.Sections, func(s string) bool { return squash(s) == term }); i >= 0 {
		return e.Sections[i], nil
	}
	return "", nil
}
