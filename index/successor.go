package index

import (
	"cmp"
	"context"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/memory"
)

// links contains the ids of a file's entries that are in the file, and those
// that its entries supersede. Derived ids are not recorded: see [search.idOf].
type links struct{ given, supersedes []link }

// A link is an id of an entry, or an id that an entry supersedes.
type link struct {
	id    uint64 // hash
	path  uint64 // hash of the path of the superseded entry, 0 for any
	entry uint32
}

type successor struct {
	entryKey
	path uint64 // as in link
}

// maxSuccessors bounds a chain of entries of which each supersedes the one before.
const maxSuccessors = 16

func hashOf(s string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(s))
	return h.Sum64()
}

// linksOf returns the links of a document. An entry without a subject, or written by
// others, supersedes nothing, because such an entry must not affect those of a subject.
func linksOf(doc *memory.Document) (l links) {
	for i := range doc.Entries {
		e := &doc.Entries[i]
		if e.Supersedes == "" || e.Partition.Owner == "" || e.By != "" || memory.IsUntrustedSource(e.Source) {
			continue
		}
		path, id := "", e.Supersedes
		if at := strings.LastIndexByte(id, '#'); at >= 0 {
			path, id = id[:at], id[at+1:]
		} else if slices.ContainsFunc(doc.Entries, func(e memory.Entry) bool { return e.ID == id }) {
			path = doc.Place.Path
		}
		old := link{id: hashOf(id), entry: uint32(i)}
		if path != "" {
			old.path = hashOf(path)
		}
		l.supersedes = append(l.supersedes, old)
	}
	for i := range doc.Entries {
		if e := &doc.Entries[i]; e.Given {
			l.given = append(l.given, link{id: hashOf(e.ID), entry: uint32(i)})
		}
	}
	return l
}

// code codes the links of a file with the given number of entries.
func (l *links) code(c *codec, entries int) {
	for _, of := range []*[]link{&l.given, &l.supersedes} {
		list(c, of, 17)
		for i := range *of {
			k := &(*of)[i]
			fixed(c, &k.id)
			fixed(c, &k.path)
			number(c, &k.entry)
			c.bad = c.bad || int(k.entry) >= entries
		}
	}
}

// countSuccessors adds the successors in a file to the table, or removes them if
// sign is -1.
func (t *table) countSuccessors(v *file, sign int) {
	for _, old := range v.links.supersedes {
		s := successor{entryKey{v.number, int32(old.entry)}, old.path}
		countListed(&t.successors, t.edition, old.id, s, sign)
		if old.path != 0 {
			countListed(&t.successors, t.edition, ofFile(old.path), s, sign)
		}
	}
}

// ofFile returns the key of the successors of the entries of a file. It differs from that of
// an entry with the path as its id.
func ofFile(path uint64) uint64 { return ^path }

// findSuccessor returns the newest readable entry that supersedes an entry. They
// have the same subject, or the superseded entry has none. Entries that supersede
// each other have no successors.
func (s *search) findSuccessor(of entryKey) (next entryKey, ok bool) {
	next, ok = s.nextSuccessor(of)
	for last, n, more := next, 0, ok; more; last, more = s.nextSuccessor(last) {
		if n++; n > maxSuccessors || last == of {
			return entryKey{}, false
		}
	}
	return next, ok
}

// Successors returns the last of the readable entries that supersede an entry of a
// file, directly or over others, for each such entry, by its id. The errors are those
// of [Index.Search].
func (x *Index) Successors(ctx context.Context, view memory.View, path string) (refs map[string]Ref, err error) {
	err = x.browse(ctx, view, func(s *search) {
		refs = map[string]Ref{}
		v := s.table.files.get(path)
		if v == nil || !view.Readable(v.partition) {
			return
		}
		for entry := range v.entries {
			of := entryKey{v.number, int32(entry)}
			last, ok := s.findSuccessor(of)
			if !ok {
				continue
			}
			for next, more := last, true; more; next, more = s.nextSuccessor(last) {
				last = next
			}
			_, e := s.resolveEntry(of)
			if ref := s.refTo(last); e != nil && ref != nil {
				refs[e.ID] = *ref
			}
		}
	})
	return refs, err
}

func (s *search) nextSuccessor(of entryKey) (next entryKey, ok bool) {
	v := s.table.fileAt(of.file)
	path, subject := hashOf(v.Path), s.view.SubjectOf(v.partition)
	id, known := s.idOf(of, v, path)
	if !known {
		return next, false
	}
	for _, o := range s.table.successors.get(id) {
		ov := s.table.fileAt(o.file)
		if o.path != 0 && o.path != path || o.entryKey == of || !s.view.Readable(ov.partition) ||
			subject != "" && subject != s.view.SubjectOf(ov.partition) || apart(v.partition, ov.partition) {
			continue
		}
		if !ok || cmp.Or(cmp.Compare(s.entryAt(next).time, s.entryAt(o.entryKey).time),
			s.inOrder(o.entryKey, next)) < 0 {
			next, ok = o.entryKey, true
		}
	}
	return next, ok
}

// idOf returns the hash of the id of an entry, if others may supersede it. To derive an id, it
// reads the file, but only if a readable entry supersedes one of the file by its path: a hidden
// one must not cause the delay.
func (s *search) idOf(of entryKey, v *file, path uint64) (id uint64, ok bool) {
	i := slices.IndexFunc(v.links.given, func(l link) bool { return int32(l.entry) == of.entry })
	switch {
	case i >= 0:
		return v.links.given[i].id, true
	case !slices.ContainsFunc(s.table.successors.get(ofFile(path)), func(o successor) bool {
		return s.view.Readable(s.table.fileAt(o.file).partition)
	}):
		return 0, false
	}
	_, e := s.resolveEntry(of)
	if e == nil {
		return 0, false
	}
	return hashOf(e.ID), true
}

// apart reports whether one of two partitions is that of a root to which the other does
// not belong. The ids in the files of a root have no meaning elsewhere.
func apart(p, q memory.Partition) bool {
	return p.Owner != q.Owner && (memory.IsRootKey(p.Owner) || memory.IsRootKey(q.Owner))
}

// rank returns a candidate. If its successor is a candidate, too, the rank of the candidate is
// at most the one behind it.
func (s *search) rank(c candidate) candidate {
	if s.query.Mode != Relevance || len(s.words.terms) == 0 {
		return c
	}
	return s.placeBehind(c, func(k entryKey) (candidate, bool) {
		next, ok := s.candidateAt(k)
		if ok {
			next = s.rank(next)
		}
		return next, ok
	})
}

// placeBehind returns a candidate with at most the rank behind its successor, which ranked
// returns if it is a candidate.
func (s *search) placeBehind(c candidate, ranked func(entryKey) (candidate, bool)) candidate {
	of, ok := s.findSuccessor(c.entryKey)
	if !ok {
		return c
	}
	next, ok := ranked(of)
	if !ok {
		return c
	}
	if c.phrases > next.phrases || c.phrases == next.phrases && c.score > next.score {
		c.phrases, c.score = next.phrases, next.score
	}
	c.superseded = next.superseded + 1
	return c
}

func (s *search) candidateAt(k entryKey) (c candidate, ok bool) {
	if n := s.at[k.file]; n > 0 {
		c, ok = s.rankedEntry(&s.accs[n-1], int(k.entry))
	}
	return c, ok
}
