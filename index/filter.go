package index

import (
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/memwatchd/memwatchd/memory"
)

// A preparedFilter is a [Filter] for one view. It evaluates postings once, the
// conditions on a variant once for each variant, and the remaining conditions for
// each record.
type preparedFilter struct {
	*Filter
	view   memory.View
	copied func(variant uint32) bool
	set    entrySet // entries that pass the conditions on postings; nil if all pass
	since  int64
	until  int64
}

// An entrySet is a set of entries: one bit for each slot, by block number.
type entrySet []uint32

func (s entrySet) has(p *variant, e int) bool {
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
func (s *search) entriesWith(least level, keys ...string) entrySet {
	set := make(entrySet, s.table.blocks.length)
	for _, key := range keys {
		s.eachBlock(key, func(block uint32, _ ref, v slots) {
			for v != 0 {
				slot, l := v.next()
				v = v.without(slot)
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
func (f *Filter) conditions() (all [][]string) {
	var tags, types, sections []string
	for _, tag := range cleanTags(f.Tags) {
		tags = append(tags, termKey(kindTag, tag), termKey(kindParent, tag)) // #a/b is nested in a
	}
	for _, t := range f.Types {
		types = append(types, termKey(kindType, t))
	}
	for _, name := range f.Sections {
		sections = append(sections, termKey(kindSection, normalizePhrase(name)))
	}
	all = [][]string{types, sections}
	if f.AnyTag {
		all = append(all, tags)
	} else {
		all = slices.AppendSeq(all, slices.Chunk(tags, 2))
	}
	return slices.DeleteFunc(all, func(keys []string) bool { return len(keys) == 0 })
}

func (s *search) prepareFilter(excluded []qterm) {
	f := &s.query.Filter
	v := &preparedFilter{Filter: f, view: s.view, copied: s.copied, since: noTime, until: forever}
	if !f.Since.IsZero() {
		v.since = f.Since.UnixNano()
	}
	if !f.Until.IsZero() {
		v.until = f.Until.UnixNano()
	}
	for _, keys := range f.conditions() {
		v.set = v.set.and(s.entriesWith(levelSection, keys...))
	}
	for _, t := range excluded {
		none := s.entriesWith(levelOnce, termKey(kindWord, t.term))
		for i := range none {
			none[i] = ^none[i]
		}
		v.set = v.set.and(none)
	}
	s.filter = v
}

func cleanTags(tags []string) []string {
	var clean []string
	for _, t := range tags {
		t = memory.FoldTag(strings.TrimPrefix(strings.TrimSpace(t), "#"))
		if t != "" {
			clean = append(clean, t)
		}
	}
	slices.Sort(clean)
	return slices.Compact(clean)
}

// passesVariant reports whether a variant passes the conditions that concern all
// of its entries. It reads the record of the variant only if necessary. If ask is
// set, the caller must also evaluate the record of each entry.
func (v *preparedFilter) passesVariant(t *table, n uint32) (pass, ask bool) {
	kind := t.rows.at(n).kind
	if len(v.Kinds) > 0 && !slices.Contains(v.Kinds, kind) ||
		kind == memory.Archive && !v.Archived && !slices.Contains(v.Kinds, memory.Archive) {
		return false, false
	}
	ask = v.State != nil
	if v.since != noTime || v.until != forever {
		r := t.variantAt(n)
		if r.newest < v.since || r.oldest > v.until || v.since != noTime && v.copied(n) {
			return false, false
		}
		ask = ask || r.oldest < v.since || r.newest > v.until
	}
	if (v.Path != "" || v.Session != "" || v.Contact != "") && !v.passesFile(t.variantAt(n).file) {
		return false, false
	}
	return true, ask
}

func (v *preparedFilter) passesFile(f *file) bool {
	if v.Path != "" && !MatchPath(v.Path, f.Path) {
		return false
	}
	// session_id and contact_id belong to the frontmatter. A view that cannot
	// read the frontmatter finds a session only by its file name.
	if v.Session != "" && !(f.Kind == memory.Session && f.name == v.Session) &&
		!(f.Session == v.Session && f.frontReadable(v.view)) {
		return false
	}
	if v.Contact != "" && !(f.contact == v.Contact && f.frontReadable(v.view)) {
		return false
	}
	return true
}

const forever = math.MaxInt64

// passesEntry reports whether one entry passes the conditions that passesVariant
// does not cover.
func (v *preparedFilter) passesEntry(p *variant, e int) bool {
	return (v.set == nil || v.set.has(p, e)) && v.passesRecord(&p.entries[e])
}

func (v *preparedFilter) passesRecord(e *entry) bool {
	if e.time < v.since || e.time > v.until {
		return false
	}
	if v.State == nil {
		return true
	}
	want := flagOpen
	if *v.State == memory.Done {
		want = flagDone
	}
	return e.flags&want != 0
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
	// maxChoices bounds the alternatives that the braces of a glob expand to.
	// Matching may try all of them for every file.
	maxChoices = 256
)

// CheckPath returns an error if a path filter is malformed, or so complex that
// matching would take too long.
func CheckPath(pattern string) error {
	if len(pattern) > maxPattern || countChoices(pattern) > maxChoices {
		return errors.New("the pattern is too long or has too many alternatives")
	}
	if !doublestar.ValidatePattern(pattern) {
		return doublestar.ErrBadPattern
	}
	return nil
}

// countChoices returns an upper bound of the number of patterns that the braces
// expand to. It stops counting above maxChoices.
func countChoices(pattern string) int {
	n, open := 1, []int{}
	for i := 0; i < len(pattern) && n <= maxChoices; i++ {
		switch last := len(open) - 1; {
		case pattern[i] == '\\':
			i++
		case pattern[i] == '{':
			open = append(open, 1)
		case pattern[i] == ',' && last >= 0:
			open[last]++
		case pattern[i] == '}' && last >= 0:
			n *= open[last]
			open = open[:last]
		}
	}
	return n
}
