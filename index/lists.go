package index

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"
	segment "github.com/blevesearch/scorch_segment_api/v2"
)

// lists are the posting lists of one snapshot of the store, read segment by
// segment: bleve's own reader would make a document's name of each posting. Not
// safe for concurrent use.
type lists struct {
	snapshot *scorch.IndexSnapshot
	segments []listed
}

// listed is one segment. What reading a list needs is kept for the next one.
type listed struct {
	terms   segment.TermDictionary
	deleted *roaring.Bitmap
	numbers []uint32
	list    segment.PostingsList
	iter    segment.PostingsIterator
}

// snapshot is the store as it is now, until it is closed.
func (s *store) snapshot() (*scorch.IndexSnapshot, error) {
	r, err := s.index.Reader()
	if err != nil {
		return nil, err
	}
	snapshot, ok := r.(*scorch.IndexSnapshot)
	if !ok {
		return nil, errors.Join(fmt.Errorf("read index: a reader is a %T", r), r.Close())
	}
	return snapshot, nil
}

// lists opens the posting lists of the store as it is now.
func (s *store) lists() (*lists, error) {
	snapshot, err := s.snapshot()
	if err != nil {
		return nil, err
	}
	l := &lists{snapshot: snapshot}
	for _, seg := range snapshot.Segments() {
		numbers, err := s.numbering.of(seg, snapshot)
		if err != nil {
			return nil, errors.Join(err, snapshot.Close())
		}
		terms, err := seg.Segment().Dictionary(fieldTerms)
		if err != nil {
			return nil, errors.Join(err, snapshot.Close())
		}
		l.segments = append(l.segments, listed{terms: terms, deleted: seg.Deleted(), numbers: numbers})
	}
	return l, nil
}

func (l *lists) close() error { return l.snapshot.Close() }

// each calls fn for each block that has the term.
func (l *lists) each(ctx context.Context, key []byte, fn func(number uint32, s slots)) error {
	for i := range l.segments {
		if err := ctx.Err(); err != nil {
			return err
		}
		s := &l.segments[i]
		var err error
		if s.list, err = s.terms.PostingsList(key, s.deleted, s.list); err != nil {
			return err
		}
		s.iter = s.list.Iterator(true, false, false, s.iter)
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

// terms adds the terms to found whose keys begin with key, and themselves with
// prefix, if some block has them that counts.
func (l *lists) terms(ctx context.Context, key, prefix string, counts func(number uint32) bool, found map[string]bool) error {
	from := []byte(key + prefix)
	end := behind(from)
	for i := range l.segments {
		s := &l.segments[i]
		it := s.terms.AutomatonIterator(nil, from, end)
		for {
			if err := ctx.Err(); err != nil {
				return err
			}
			entry, err := it.Next()
			if err != nil {
				return err
			}
			if entry == nil {
				break
			}
			term := entry.Term[len(key):]
			if found[term] {
				continue
			}
			if s.list, err = s.terms.PostingsList([]byte(entry.Term), s.deleted, s.list); err != nil {
				return err
			}
			s.iter = s.list.Iterator(false, false, false, s.iter)
			for !found[term] {
				p, err := s.iter.Next()
				if err != nil {
					return err
				}
				if p == nil {
					break
				}
				if counts(s.numbers[p.Number()]) {
					found[term] = true
				}
			}
		}
	}
	return nil
}

// behind is the least key behind all that begin with a key; nil if there is none.
func behind(key []byte) []byte {
	for i := len(key) - 1; i >= 0; i-- {
		if key[i] < 0xff {
			return append(slices.Clone(key[:i]), key[i]+1)
		}
	}
	return nil
}

// numbering knows the blocks' numbers of each segment, by the numbers that
// documents have in it: a segment never changes.
type numbering struct {
	mu      sync.Mutex
	numbers map[uint64][]uint32 // by the segment's id
}

// of is the numbers of a segment of a snapshot.
func (n *numbering) of(s *scorch.SegmentSnapshot, snapshot *scorch.IndexSnapshot) ([]uint32, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if numbers, ok := n.numbers[s.Id()]; ok {
		return numbers, nil
	}
	numbers := make([]uint32, s.Segment().Count())
	for i := range numbers {
		id, err := s.Segment().DocID(uint64(i))
		if err != nil {
			return nil, err
		}
		number, ok := numberOf(id)
		if !ok {
			return nil, fmt.Errorf("read index: %q is no block's number", id)
		}
		numbers[i] = number
	}
	// Others than the snapshot's have been merged, or are about to be.
	present := map[uint64][]uint32{s.Id(): numbers}
	for _, s := range snapshot.Segments() {
		if have, ok := n.numbers[s.Id()]; ok {
			present[s.Id()] = have
		}
	}
	n.numbers = present
	return numbers, nil
}
