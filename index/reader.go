package index

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/memwatchd/memwatchd/memory"
)

// A reader reads one version of the table and one state of the store, so it needs no lock. A
// search has four more layers: request adds the words of the query, matches the candidates,
// ranked their order, and search the answer. Each layer calls only those before it.
type reader struct {
	ctx       context.Context
	view      memory.View
	table     *table
	postings  *postingReader
	analyzer  *analyzer
	degraded  bool // the index may lack files, or a hit has changed
	changed   bool // a hit has changed since it was indexed
	source    Source
	documents map[*file]*memory.Document // read so far; nil for a file that does not exist
	minutes   map[int64]bool             // see [reader.copied]
	readable  readable

	err error // the first failure; the results are then incomplete
}

// damaged marks an error of bleve as damage of the index, unless the context
// has ended.
func (s *reader) damaged(err error) error {
	if err == nil || s.ctx.Err() != nil {
		return err
	}
	return errDamaged{err}
}

// stopped reports whether the search has failed, which it does when its context ends.
func (s *reader) stopped() bool {
	s.err = cmp.Or(s.err, s.ctx.Err())
	return s.err != nil
}

// eachBlock calls fn for every block in the readable partitions that contains the
// term with a key.
func (s *reader) eachBlock(k key, fn func(block uint32, r ref, v slots)) {
	for _, p := range s.readable.partitions {
		if s.err != nil {
			return
		}
		s.err = s.damaged(s.postings.eachPosting(s.ctx, p.fields[k.kind], k.term, func(number uint32, v slots) {
			if r := s.table.refOf(number); r.file != noFile {
				fn(number, r, v)
			}
		}))
	}
}

// eachEntry calls fn for every entry in the readable partitions that has the term
// with a key.
func (s *reader) eachEntry(k key, fn func(entryKey)) {
	s.eachBlock(k, func(_ uint32, r ref, v slots) {
		for slot := range v.all() {
			if e := entryOfSlot(int(r.nth), slot); e >= 0 {
				fn(entryKey{r.file, int32(e)})
			}
		}
	})
}

// visible reports whether a block of bleve is in this version of the table.
func (s *reader) visible(block uint32) bool { return s.table.refOf(block).file != noFile }

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

// countBlocks returns the number of readable blocks that contain words, summed over the words.
func (s *reader) countBlocks(terms []string) (sum int) {
	for _, term := range terms {
		for _, p := range s.readable.partitions {
			n, err := s.postings.count(p.fields[kindWord], term)
			s.err = cmp.Or(s.err, s.damaged(err))
			sum += n
		}
	}
	return sum
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

func (s *reader) entryAt(k entryKey) *entry { return &s.table.fileAt(k.file).entries[k.entry] }

// manyFiles is the number of files that were copied, cloned or unpacked if they were
// saved in one minute.
const manyFiles = 50

// copied reports whether the only time of the entries of a file is that of a copy. It
// counts readable files only, so it reveals nothing about others.
func (s *reader) copied(number uint32) bool {
	minute := s.table.fileAt(number).minute
	if minute == 0 {
		return false
	}
	many, known := s.minutes[minute]
	if !known {
		n := 0
		for _, p := range s.readable.partitions {
			n += s.table.minutes.get(savedIn{p.Partition, minute})
		}
		many = n >= manyFiles
		s.minutes[minute] = many
	}
	return many
}

// timeOf returns the time of an entry, or noTime if it has none but that of a copy.
func (s *reader) timeOf(k entryKey) int64 {
	if s.copied(k.file) {
		return noTime
	}
	return s.entryAt(k).time
}

// inOrder compares entries by path, then by position in the file.
func (s *reader) inOrder(c, d entryKey) int {
	return cmp.Or(strings.Compare(s.table.fileAt(c.file).Path, s.table.fileAt(d.file).Path),
		cmp.Compare(c.entry, d.entry))
}

// loaders bounds the number of files that are read concurrently.
const loaders = 4

// loadFiles reads files that have not been read.
func (s *reader) loadFiles(all ...*file) {
	if s.err != nil {
		return
	}
	var files []*file
	for _, f := range all {
		if _, ok := s.documents[f]; !ok {
			s.documents[f] = nil
			files = append(files, f)
		}
	}
	if len(files) == 0 {
		return
	}
	docs := make([]*memory.Document, len(files))
	var g errgroup.Group
	g.SetLimit(loaders)
	for i, f := range files {
		g.Go(func() error {
			return recoverPanic("read file", func() error {
				doc, err := s.source.Load(f.Path)
				if errors.Is(err, fs.ErrNotExist) {
					return nil
				}
				docs[i] = doc
				return err
			})
		})
	}
	s.err = g.Wait()
	for i, f := range files {
		s.documents[f] = docs[i]
	}
}

// resolveEntry returns the current version of an entry and the part of its file that the
// view can read. If the file has changed since it was indexed, it is the entry with the
// same text. If there is none, resolveEntry returns nil, and the result is degraded until
// the index has the change.
func (s *reader) resolveEntry(k entryKey) (*memory.Document, *memory.Entry) {
	v := s.table.fileAt(k.file)
	s.loadFiles(v)
	if s.err != nil {
		return nil, nil
	}
	doc := s.documents[v.file]
	if doc != nil && s.view.Readable(doc.Partition) {
		doc = withTitle(doc)
		for n := range doc.Entries { // first the one at the same place
			e := doc.ShownEntry((n + int(k.entry)) % len(doc.Entries))
			if dupOf(e.Norm) == v.entries[k.entry].dup {
				return doc, e
			}
		}
	}
	s.degraded, s.changed = true, true
	return nil, nil
}

// refTo returns the reference to an entry, or nil if its file has changed.
func (s *reader) refTo(k entryKey) *Ref {
	doc, e := s.resolveEntry(k)
	if doc == nil {
		return nil
	}
	return &Ref{Path: doc.Place.Path, ID: e.ID, Line: e.Line}
}

// maxSuccessors bounds a chain of entries of which each supersedes the one before.
const maxSuccessors = 16

// findSuccessor returns the last of the readable entries that supersede an entry, directly or
// over others. Entries that supersede each other have no successors.
func (s *reader) findSuccessor(of entryKey) (last entryKey, ok bool) {
	last = of
	for n := range maxSuccessors {
		next, more := s.nextSuccessor(last)
		if !more {
			return last, n > 0
		}
		last = next
	}
	return of, false
}

// nextSuccessor returns the newest readable entry that supersedes an entry. They have the same
// subject, or the superseded entry has none.
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

// apart reports whether one of two partitions is that of a root to which the other does
// not belong. The ids in the files of a root have no meaning elsewhere.
func apart(p, q memory.Partition) bool {
	return p.Owner != q.Owner && (memory.IsRootKey(p.Owner) || memory.IsRootKey(q.Owner))
}
