package index

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"
	bleve "github.com/blevesearch/bleve_index_api"
	zapapi "github.com/blevesearch/scorch_segment_api/v2"
	zap "github.com/blevesearch/zapx/v16"
)

// postingReader reads the posting lists of one state of the store, segment by segment,
// because the reader of bleve makes an id of each posting. It is not safe for
// concurrent use.
type postingReader struct {
	snapshot *scorch.IndexSnapshot // nil for documents in memory
	segments []segmentPostings
}

// A segmentPostings is one segment. It keeps the buffers of one list for the next.
type segmentPostings struct {
	segment zapapi.Segment
	fields  map[string]*fieldPostings // those read so far
	deleted *roaring.Bitmap
	numbers []uint32 // of the blocks, by document number
	iter    zapapi.PostingsIterator
}

// A fieldPostings is one field of a segment. Its list is reused for this field only, because
// zap fails in a field without terms that reuses the list of another one.
type fieldPostings struct {
	terms zapapi.TermDictionary
	list  zapapi.PostingsList
}

// open opens the posting lists of the snapshot.
func (l *postingReader) open(n *numbering) error {
	for _, s := range l.snapshot.Segments() {
		numbers, err := n.read(s, l.snapshot)
		if err != nil {
			return err
		}
		l.segments = append(l.segments, postingsIn(s.Segment(), s.Deleted(), numbers))
	}
	return nil
}

// postingsOf returns the posting lists of documents in memory.
func postingsOf(docs []bleve.Document) (*postingReader, error) {
	seg, _, err := new(zap.ZapPlugin).New(docs)
	if err != nil {
		return nil, err
	}
	numbers, err := blockNumbers(seg)
	if err != nil {
		return nil, err
	}
	return &postingReader{segments: []segmentPostings{postingsIn(seg, nil, numbers)}}, nil
}

func postingsIn(s zapapi.Segment, deleted *roaring.Bitmap, numbers []uint32) segmentPostings {
	return segmentPostings{segment: s, deleted: deleted, numbers: numbers, fields: make(map[string]*fieldPostings)}
}

func (s *segmentPostings) openField(name string) (*fieldPostings, error) {
	if f := s.fields[name]; f != nil {
		return f, nil
	}
	terms, err := s.segment.Dictionary(name)
	f := &fieldPostings{terms: terms}
	s.fields[name] = f
	return f, err
}

// listOf returns the posting list of a term.
func (s *segmentPostings) listOf(field, term string) (zapapi.PostingsList, error) {
	f, err := s.openField(field)
	if err == nil {
		f.list, err = f.terms.PostingsList([]byte(term), s.deleted, f.list)
	}
	return f.list, err
}

func (l *postingReader) close() error {
	if l.snapshot == nil {
		return nil
	}
	return l.snapshot.Close()
}

// A numbering caches the numbers of the blocks of each segment, by document number.
// Segments are immutable.
type numbering struct {
	mu      sync.Mutex
	numbers map[uint64][]uint32 // by id of the segment
}

// read returns the numbers of the blocks of a segment of the snapshot.
func (n *numbering) read(s *scorch.SegmentSnapshot, snapshot *scorch.IndexSnapshot) ([]uint32, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if numbers, ok := n.numbers[s.Id()]; ok {
		return numbers, nil
	}
	numbers, err := blockNumbers(s.Segment())
	if err != nil {
		return nil, err
	}
	// Segments outside the snapshot have been merged or will be merged soon.
	present := map[uint64][]uint32{s.Id(): numbers}
	for _, s := range snapshot.Segments() {
		if have, ok := n.numbers[s.Id()]; ok {
			present[s.Id()] = have
		}
	}
	n.numbers = present
	return numbers, nil
}

func blockNumbers(s zapapi.Segment) ([]uint32, error) {
	numbers := make([]uint32, s.Count())
	for i := range numbers {
		id, err := s.DocID(uint64(i))
		if err != nil {
			return nil, err
		}
		n, ok := blockNumber(id)
		if !ok {
			return nil, fmt.Errorf("read index: invalid block number %q", id)
		}
		numbers[i] = n
	}
	return numbers, nil
}

// eachPosting calls fn for each occurrence of a term in a field, segment by segment.
func (l *postingReader) eachPosting(ctx context.Context, field, term string, fn func(number uint32, s slots)) error {
	for i := range l.segments {
		if err := ctx.Err(); err != nil {
			return err
		}
		s := &l.segments[i]
		list, err := s.listOf(field, term)
		if err != nil {
			return err
		}
		s.iter = list.Iterator(true, false, false, s.iter)
		for {
			p, err := s.iter.Next()
			if err != nil {
				return err
			}
			if p == nil {
				break
			}
			fn(s.numbers[p.Number()], slotsOf(p.Frequency()))
		}
	}
	return nil
}

// count returns the number of blocks that contain a term.
func (l *postingReader) count(field, term string) (n int, err error) {
	for i := range l.segments {
		list, err := l.segments[i].listOf(field, term)
		if err != nil {
			return 0, err
		}
		n += int(list.Count())
	}
	return n, nil
}

// addTerms adds to found the terms of a field that begin with prefix, if counts returns true
// for a block that contains the term.
func (l *postingReader) addTerms(ctx context.Context, field, prefix string, counts func(number uint32) bool,
	found map[string]bool) error {
	for i := range l.segments {
		s := &l.segments[i]
		err := s.eachTerm(ctx, field, prefix, func(term string) error {
			if found[term] {
				return nil
			}
			list, err := s.listOf(field, term)
			if err != nil {
				return err
			}
			s.iter = list.Iterator(false, false, false, s.iter)
			for !found[term] {
				p, err := s.iter.Next()
				if err != nil || p == nil {
					return err
				}
				if counts(s.numbers[p.Number()]) {
					found[term] = true
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// eachTerm calls fn for each term of a field that begins with prefix, until fn returns an
// error.
func (s *segmentPostings) eachTerm(ctx context.Context, field, prefix string, fn func(term string) error) error {
	f, err := s.openField(field)
	if err != nil {
		return err
	}
	from := []byte(prefix)
	for it := f.terms.AutomatonIterator(nil, from, prefixEnd(from)); ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		entry, err := it.Next()
		if err != nil || entry == nil {
			return err
		}
		if err := fn(entry.Term); err != nil {
			return err
		}
	}
}

// prefixEnd returns the least key after all keys with the given prefix, or nil if
// there is none.
func prefixEnd(key []byte) []byte {
	for i := len(key) - 1; i >= 0; i-- {
		if key[i] < 0xff {
			return append(slices.Clone(key[:i]), key[i]+1)
		}
	}
	return nil
}
