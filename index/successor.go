package index

import (
	"cmp"
	"context"
	"encoding/binary"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/memory"
)

// links contains the ids of a variant's entries that are in the file, and those
// that its entries supersede. Most variants have none.
type links struct{ given, supersedes []link }

// A link is an id of an entry, or an id that an entry supersedes.
type link struct {
	id    uint64 // hash
	path  uint64 // hash of the path of the superseded entry, 0 for any
	entry int32
}

// A successor is an entry that supersedes another.
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

// linksOf returns the links of a document, or nil if there are none. An entry
// without a subject, or written by others, supersedes nothing, because such an
// entry must not affect those of a subject.
func linksOf(doc *memory.Document) *links {
	var l links
	named := make(map[string]bool) // ids of the document that its entries supersede
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
		old := link{id: hashOf(id), entry: int32(i)}
		if path != "" {
			old.path = hashOf(path)
		}
		l.supersedes = append(l.supersedes, old)
		named[id] = named[id] || path == doc.Place.Path
	}
	for i := range doc.Entries {
		if e := &doc.Entries[i]; e.Given || named[e.ID] {
			l.given = append(l.given, link{id: hashOf(e.ID), entry: int32(i)})
		}
	}
	if l.given == nil && l.supersedes == nil {
		return nil
	}
	return &l
}

// marshal appends the stored form of the links.
func (l *links) marshal(b []byte) []byte {
	if l == nil {
		return append(b, 0, 0)
	}
	for _, list := range [][]link{l.given, l.supersedes} {
		b = binary.AppendUvarint(b, uint64(len(list)))
		for _, k := range list {
			b = binary.LittleEndian.AppendUint64(b, k.id)
			b = binary.LittleEndian.AppendUint64(b, k.path)
			b = binary.AppendUvarint(b, uint64(k.entry))
		}
	}
	return b
}

// readLinks reads links that marshal encoded, of a variant with the given number of
// entries.
func (d *decoder) readLinks(entries int) *links {
	var l links
	for _, list := range []*[]link{&l.given, &l.supersedes} {
		for range d.count(17) {
			k := link{id: d.uint64(), path: d.uint64()}
			n := d.uvarint()
			if n >= uint64(entries) {
				d.bad = true
				return nil
			}
			k.entry = int32(n)
			*list = append(*list, k)
		}
	}
	if l.given == nil && l.supersedes == nil {
		return nil
	}
	return &l
}

// countSuccessors adds the successors in a variant to the table, or removes them if
// sign is -1.
func (t *table) countSuccessors(v *variant, sign int) {
	if v.links == nil {
		return
	}
	for _, old := range v.links.supersedes {
		s := successor{entryKey{v.number, old.entry}, old.path}
		list := slices.Clone(t.successors.get(old.id))
		if sign > 0 {
			list = append(list, s)
		} else {
			list = slices.DeleteFunc(list, func(o successor) bool { return o == s })
		}
		t.successors.set(t.edition, old.id, list)
		if len(list) == 0 {
			t.successors.delete(t.edition, old.id)
		}
	}
}

// findSuccessor returns the newest readable entry that supersedes an entry. They
// have the same subject, or the superseded entry has none. Entries that supersede
// each other have no successors.
func (p *page) findSuccessor(of entryKey) (next entryKey, ok bool) {
	next, ok = p.nextSuccessor(of)
	for last, n, more := next, 0, ok; more; last, more = p.nextSuccessor(last) {
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
	err = x.browse(ctx, view, nil, func(p *page) {
		refs = map[string]Ref{}
		f, isRead := p.over.paths[path]
		if !isRead {
			f = p.table.files.get(path)
		}
		v := f.variantFor(view)
		if v == nil || v.links == nil {
			return
		}
		for _, given := range v.links.given {
			of := entryKey{v.number, given.entry}
			last, ok := p.findSuccessor(of)
			if !ok {
				continue
			}
			for next, more := last, true; more; next, more = p.nextSuccessor(last) {
				last = next
			}
			_, e := p.resolveEntry(of)
			if ref := p.refTo(last); e != nil && ref != nil {
				refs[e.ID] = *ref
			}
		}
	})
	return refs, err
}

func (p *page) nextSuccessor(of entryKey) (next entryKey, ok bool) {
	v := p.over.variantAt(of.variant)
	if v.links == nil {
		return next, false
	}
	i := slices.IndexFunc(v.links.given, func(l link) bool { return l.entry == of.entry })
	if i < 0 {
		return next, false
	}
	id, path, subject := v.links.given[i].id, hashOf(v.file.path), p.view.SubjectOf(v.partition)
	consider := func(s successor) {
		sv := p.over.variantAt(s.variant)
		if s.path != 0 && s.path != path || s.entryKey == of || !p.view.Readable(sv.partition) ||
			subject != "" && subject != p.view.SubjectOf(sv.partition) || apart(v.partition, sv.partition) {
			return
		}
		if !ok || cmp.Or(cmp.Compare(p.entryAt(next).time, p.entryAt(s.entryKey).time), p.inOrder(s.entryKey, next)) < 0 {
			next, ok = s.entryKey, true
		}
	}
	for _, s := range p.table.successors.get(id) {
		if p.at[s.variant] != hidden {
			consider(s)
		}
	}
	for _, o := range p.over.variants {
		if o.links == nil {
			continue
		}
		for _, old := range o.links.supersedes {
			if old.id == id {
				consider(successor{entryKey{o.number, old.entry}, old.path})
			}
		}
	}
	return next, ok
}

// apart reports whether one of two partitions is that of a root to which the other does
// not belong. The ids in the files of a root have no meaning elsewhere.
func apart(p, q memory.Partition) bool {
	return p.Owner != q.Owner && (memory.IsRootKey(p.Owner) || memory.IsRootKey(q.Owner))
}

// rank returns a candidate with its exact score. If its successor is a candidate,
// too, the rank of the candidate is at most the one behind it.
func (p *page) rank(c candidate) candidate {
	c.score, _ = p.exactScore(c)
	if p.query.Mode != Relevance || len(p.words.terms) == 0 {
		return c
	}
	next, ok := p.findSuccessor(c.entryKey)
	if !ok {
		return c
	}
	s, ok := p.candidateAt(next)
	if !ok {
		return c
	}
	s = p.rank(s)
	if c.phrases > s.phrases || c.phrases == s.phrases && c.score > s.score {
		c.phrases, c.score = s.phrases, s.score
	}
	c.superseded = s.superseded + 1
	return c
}

// candidateAt returns the candidate of an entry, if it is one.
func (p *page) candidateAt(k entryKey) (c candidate, ok bool) {
	if p.filtered {
		i := slices.IndexFunc(p.chosen, func(c candidate) bool { return c.entryKey == k })
		if i < 0 {
			return c, false
		}
		c = p.chosen[i]
	} else {
		n := p.at[k.variant]
		if n <= 0 {
			return c, false
		}
		c, ok = p.rankedEntry(&p.accs[n-1], int(k.entry))
		if !ok {
			return c, false
		}
	}
	c.phrases = p.phrases[k]
	return c, true
}
