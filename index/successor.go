package index

import (
	"cmp"
	"context"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/memory"
)

// A link is an id that an entry of a file supersedes.
type link struct {
	id    uint64 // see [idIn]
	entry uint32
}

// maxSuccessors bounds a chain of entries of which each supersedes the one before.
const maxSuccessors = 16

func hashOf(s string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(s))
	return h.Sum64()
}

// idIn returns the hash of an id, given as its hash, in the file at a path, or in any file if
// the path is empty.
func idIn(path string, id uint64) uint64 { return hashOf(path)*31 + id }

// linksOf returns the links of a document. An entry without a subject, or written by
// others, supersedes nothing, because such an entry must not affect those of a subject.
func linksOf(doc *memory.Document) (links []link) {
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
		links = append(links, link{idIn(path, hashOf(id)), uint32(i)})
	}
	return links
}

// codeLinks codes the links of a file.
func (f *file) codeLinks(c *codec) {
	list(c, &f.links, 9)
	for i := range f.links {
		fixed(c, &f.links[i].id)
		number(c, &f.links[i].entry)
		c.bad = c.bad || int(f.links[i].entry) >= len(f.entries)
	}
}

// countSuccessors adds the successors in a file to the table, or removes them if
// sign is -1.
func (t *table) countSuccessors(f *file, sign int) {
	for _, l := range f.links {
		countListed(&t.successors, t.edition, l.id, entryKey{f.number, int32(l.entry)}, sign)
	}
}

// findSuccessor returns the newest readable entry that supersedes an entry. They
// have the same subject, or the superseded entry has none. Entries that supersede
// each other have no successors.
func (s *reader) findSuccessor(of entryKey) (next entryKey, ok bool) {
	next, ok = s.nextSuccessor(of)
	for last, n, more := next, 0, ok; more; last, more = s.nextSuccessor(last) {
		if n++; n > maxSuccessors || last == of {
			return entryKey{}, false
		}
	}
	return next, ok
}

// Successors returns the readable entries that supersede an entry of a file, for each such
// entry, by its id. The errors are those of [Index.Search].
func (x *Index) Successors(ctx context.Context, view memory.View, path string) (refs map[string]Ref, err error) {
	err = x.browse(ctx, view, func(s *reader) {
		refs = map[string]Ref{}
		v := s.table.files.get(path)
		if v == nil || !view.Readable(v.partition) {
			return
		}
		for entry := range v.entries {
			of := entryKey{v.number, int32(entry)}
			next, ok := s.findSuccessor(of)
			if !ok {
				continue
			}
			_, e := s.resolveEntry(of)
			if ref := s.refTo(next); e != nil && ref != nil {
				refs[e.ID] = *ref
			}
		}
	})
	return refs, err
}

func (s *reader) nextSuccessor(of entryKey) (next entryKey, ok bool) {
	v := s.table.fileAt(of.file)
	subject := s.view.SubjectOf(v.partition)
	for _, id := range v.ids(int(of.entry)) {
		for _, o := range s.table.successors.get(id) {
			p := s.table.fileAt(o.file).partition
			if o == of || !s.view.Readable(p) || subject != "" && subject != s.view.SubjectOf(p) || apart(v.partition, p) {
				continue
			}
			if !ok || cmp.Or(cmp.Compare(s.entryAt(next).time, s.entryAt(o).time), s.inOrder(o, next)) < 0 {
				next, ok = o, true
			}
		}
	}
	return next, ok
}

// ids returns the ids by which an entry may be superseded, as in link.
func (f *file) ids(entry int) [2]uint64 {
	id := f.entries[entry].id
	return [...]uint64{idIn("", id), idIn(f.Path, id)}
}

// apart reports whether one of two partitions is that of a root to which the other does
// not belong. The ids in the files of a root have no meaning elsewhere.
func apart(p, q memory.Partition) bool {
	return p.Owner != q.Owner && (memory.IsRootKey(p.Owner) || memory.IsRootKey(q.Owner))
}

// rank returns a candidate. If its successor is a candidate, too, the rank of the candidate is
// at most the one behind it.
func (s *matches) rank(c candidate) candidate {
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
func (s *matches) placeBehind(c candidate, ranked func(entryKey) (candidate, bool)) candidate {
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

func (s *matches) candidateAt(k entryKey) (c candidate, ok bool) {
	if n := s.at[k.file]; n > 0 {
		c, ok = s.rankedEntry(&s.accs[n-1], int(k.entry))
	}
	return c, ok
}
