package index

import (
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/memwatchd/memwatchd/memory"
)

// sieve is a filter made ready: what postings decide is looked up once, what
// concerns all of a part is asked once, and the rest of each record.
type sieve struct {
	*Filter
	view  memory.View
	set   entrySet // the entries that postings let through; nil if all
	since int64
	until int64
}

// entrySet is a set of entries: a bit for each slot, by the block's number.
type entrySet []uint32

func (s entrySet) has(p *part, e int) bool {
	b, slot := slotOf(e)
	return s.slot(p.blocks[b], slot)
}

func (s entrySet) slot(block uint32, slot int) bool { return s[block]>>slot&1 != 0 }

// with gathers the entries that have any of some terms.
func (s *search) with(sort termSort, least level, terms ...string) entrySet {
	set := make(entrySet, len(s.table.blocks)+len(s.over.blocks))
	for _, term := range terms {
		s.each(sort, term, func(block uint32, _ ref, v slots) {
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

// newSieve prepares the query's filter and its excluded words.
func (s *search) newSieve(exclude words) *sieve {
	f := &s.query.Filter
	v := &sieve{Filter: f, view: s.view, since: noTime, until: forever}
	if !f.Since.IsZero() {
		v.since = f.Since.UnixNano()
	}
	if !f.Until.IsZero() {
		v.until = f.Until.UnixNano()
	}
	all := func(set entrySet) {
		if v.set == nil {
			v.set = set
			return
		}
		for i := range v.set {
			v.set[i] &= set[i]
		}
	}
	if tags := cleanTags(f.Tags); len(tags) > 0 {
		if f.AnyTag {
			all(s.with(sortTag, 1, tags...))
		} else {
			for _, t := range tags {
				all(s.with(sortTag, 1, t))
			}
		}
	}
	if len(f.Types) > 0 {
		all(s.with(sortType, 1, f.Types...))
	}
	if len(f.Sections) > 0 {
		squashed := make([]string, len(f.Sections))
		for i, name := range f.Sections {
			squashed[i] = squash(name)
		}
		all(s.with(sortSection, 1, squashed...))
	}
	for _, t := range exclude.terms {
		none := s.with(sortWord, levelSection+1, t.term)
		for i := range none {
			none[i] = ^none[i]
		}
		all(none)
	}
	return v
}

func cleanTags(tags []string) []string {
	var clean []string
	for _, t := range tags {
		if t = strings.ToLower(strings.TrimPrefix(strings.TrimSpace(t), "#")); t != "" {
			clean = append(clean, t)
		}
	}
	slices.Sort(clean)
	return slices.Compact(clean)
}

// part asks of a part what concerns all of its entries; its record is only looked
// at if it has to be. With ask, each entry's has to be asked too.
func (v *sieve) part(o *overlay, n uint32) (pass, ask bool) {
	r := o.row(n)
	if len(v.Kinds) > 0 && !slices.Contains(v.Kinds, r.kind) ||
		r.kind == memory.Archive && !v.Archived && !slices.Contains(v.Kinds, memory.Archive) ||
		r.newest < v.since || r.oldest > v.until {
		return false, false
	}
	if (v.Path != "" || v.Session != "" || v.Contact != "") && !v.file(o.part(n).file) {
		return false, false
	}
	return true, v.State != nil || r.oldest < v.since || r.newest > v.until
}

// file asks of a file's record.
func (v *sieve) file(f *file) bool {
	if v.Path != "" && !matchPath(v.Path, f.path) {
		return false
	}
	// session_id and contact_id are the frontmatter's: whoever may not read
	// that finds a session by its file's name only.
	if v.Session != "" && !(f.kind == memory.Session && f.name == v.Session) && !(f.session == v.Session && f.owned(v.view)) {
		return false
	}
	if v.Contact != "" && !(f.contact == v.Contact && f.owned(v.view)) {
		return false
	}
	return true
}

// forever is later than any time.
const forever = math.MaxInt64

// entry asks of one entry everything that the part has not answered.
func (v *sieve) entry(p *part, e int) bool {
	return (v.set == nil || v.set.has(p, e)) && v.record(&p.entries[e])
}

// record asks of an entry's record.
func (v *sieve) record(e *entry) bool {
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

// matchPath matches a glob, or a directory or file by its name.
func matchPath(pattern, path string) bool {
	pattern = strings.Trim(pattern, "/")
	if rest, ok := strings.CutPrefix(path, pattern); ok && (rest == "" || rest[0] == '/') {
		return true
	}
	ok, _ := doublestar.Match(pattern, path)
	return ok
}

const (
	// maxPattern is longer than any path.
	maxPattern = 4096
	// maxChoices bounds the ways in which a glob's braces can be read: all of
	// them may have to be tried, for every file.
	maxChoices = 256
)

// CheckPath reports whether a path filter is well formed, and not so involved
// that matching it would take for ever.
func CheckPath(pattern string) error {
	if len(pattern) > maxPattern || choices(pattern) > maxChoices {
		return errors.New("the pattern is too long or has too many alternatives")
	}
	if !doublestar.ValidatePattern(pattern) {
		return doublestar.ErrBadPattern
	}
	return nil
}

// choices is at least the number of patterns without braces that one with them
// stands for; more than maxChoices are not counted.
func choices(pattern string) int {
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
