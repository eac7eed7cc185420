package index

import (
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/memwatchd/memwatchd/internal/letters"
	"github.com/memwatchd/memwatchd/memory"
)

// A preparedFilter contains what a search evaluates once of its [Filter]: the conditions
// on postings. Those on a file are evaluated once for each file, and the
// remaining ones for each record.
type preparedFilter struct {
	set          entrySet // entries that pass the conditions on postings; nil if all pass
	since, until int64
	isTimed      bool // since or until restricts
}

// An entrySet is a set of entries: one bit for each slot, by block number.
type entrySet []uint32

func (s entrySet) has(p *file, e int) bool {
	b, slot := slotOf(e)
	return s.hasSlot(p.blocks[b], slot)
}

func (s entrySet) hasSlot(block uint32, slot int) bool { return s[block]>>slot&1 != 0 }

// and returns the entries that are in both sets; nil contains all entries. It may
// change s.
func (s entrySet) and(t entrySet) entrySet {
	if s == nil {
		return t
	}
	for i := range s {
		s[i] &= t[i]
	}
	return s
}

// entriesWith returns the entries that have any of the terms with the keys, in at least
// a level.
func (s *reader) entriesWith(least level, keys ...key) entrySet {
	set := make(entrySet, s.table.blocks.length)
	for _, k := range keys {
		s.eachBlock(k, func(block uint32, _ ref, v slots) {
			for slot, l := range v.all() {
				if l >= least {
					set[block] |= 1 << slot
				}
			}
		})
	}
	return set
}

// conditions returns the conditions of the filter on postings: keys of terms, of
// which an entry must have at least one.
func (f *Filter) conditions() (all [][]key) {
	var tags, types, sections []key
	for _, tag := range cleanTags(f.Tags) {
		tags = append(tags, termKey(kindParent, tag))
	}
	for _, t := range f.Types {
		types = append(types, termKey(kindType, t))
	}
	for _, name := range f.Sections {
		sections = append(sections, termKey(kindSection, normalizePhrase(name)))
	}
	all = [][]key{types, sections}
	if f.AnyTag {
		all = append(all, tags)
	} else {
		all = slices.AppendSeq(all, slices.Chunk(tags, 1))
	}
	return slices.DeleteFunc(all, func(keys []key) bool { return len(keys) == 0 })
}

func (s *matches) prepareFilter(excluded []qterm) {
	q, f := &s.query.Filter, &s.filter
	f.since, f.until = noTime, forever
	f.isTimed = !q.Since.IsZero() || !q.Until.IsZero()
	if !q.Since.IsZero() {
		f.since = q.Since.UnixNano()
	}
	if !q.Until.IsZero() {
		f.until = q.Until.UnixNano()
	}
	for _, keys := range q.conditions() {
		f.set = f.set.and(s.entriesWith(levelSection, keys...))
	}
	for _, t := range excluded {
		none := s.entriesWith(levelOnce, termKey(kindWord, t.term))
		for i := range none {
			none[i] = ^none[i]
		}
		f.set = f.set.and(none)
	}
}

func cleanTags(tags []string) []string {
	var clean []string
	for _, t := range tags {
		t = letters.Fold(memory.FoldTag(strings.TrimPrefix(strings.TrimSpace(t), "#")))
		if t != "" {
			clean = append(clean, t)
		}
	}
	slices.Sort(clean)
	return slices.Compact(clean)
}

// passesFile reports whether a file passes the conditions that concern all of its entries.
func (s *matches) passesFile(n uint32) bool {
	q, kind := &s.query.Filter, s.table.rows.at(n).kind
	switch {
	case len(q.Kinds) > 0:
		if !slices.Contains(q.Kinds, kind) {
			return false
		}
	case kind == memory.Archive && !q.Archived, kind == memory.Review && !q.Review:
		return false
	}
	if q.Path == "" && q.Session == "" && q.Contact == "" {
		return true
	}
	f := s.table.fileAt(n)
	return (q.Path == "" || MatchPath(q.Path, f.Path)) &&
		(q.Session == "" || f.Kind == memory.Session && f.name == q.Session || f.Session == q.Session) &&
		(q.Contact == "" || f.contact == q.Contact)
}

const forever = math.MaxInt64

// passesEntry reports whether one entry passes the conditions that passesFile does not
// cover.
func (s *matches) passesEntry(k entryKey) bool {
	f := &s.filter
	if f.set != nil && !f.set.has(s.table.fileAt(k.file), int(k.entry)) {
		return false
	}
	if f.isTimed {
		if t := s.timeOf(k); t < f.since || t > f.until {
			return false
		}
	}
	if s.query.Filter.State == nil {
		return true
	}
	want := flagOpen
	if *s.query.Filter.State == memory.Done {
		want = flagDone
	}
	return s.entryAt(k).flags&want != 0
}

// MatchPath reports whether path matches a glob, or is the named file, or is
// below the named directory or root, such as vault:.
func MatchPath(pattern, path string) bool {
	pattern = strings.Trim(pattern, "/")
	if pattern == "." {
		return true
	}
	if rest, ok := strings.CutPrefix(path, pattern); ok &&
		(rest == "" || rest[0] == '/' || strings.HasSuffix(pattern, ":")) {
		return true
	}
	ok, _ := doublestar.Match(pattern, path)
	return ok
}

const (
	// maxPattern exceeds the length of any path.
	maxPattern = 4096
	// maxBraces and maxChoices bound the alternatives that the braces of a glob expand to.
	// Matching may try all of them for every file.
	maxBraces  = 4
	maxChoices = 32
)

// CheckPath returns an error if a path filter is malformed, or so complex that
// matching would take too long.
func CheckPath(pattern string) error {
	if len(pattern) > maxPattern || strings.Count(pattern, "{") > maxBraces || strings.Count(pattern, ",") > maxChoices {
		return errors.New("the pattern is too long or has too many alternatives")
	}
	if !doublestar.ValidatePattern(pattern) {
		return doublestar.ErrBadPattern
	}
	return nil
}
