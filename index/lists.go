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
	terms   zapapi.TermDictionary
	deleted *roaring.Bitmap
	numbers []uint32 // of the blocks, by document number
	list    zapapi.PostingsList
	iter    zapapi.PostingsIterator
}

// open opens the posting lists of the snapshot.
func (l *postingReader) open(n *numbering) error {
	for _, s := range l.snapshot.Segments() {
		numbers, err := n.read(s, l.snapshot)
		if err != nil {
			return err
		}
		terms, err := s.Segment().Dictionary(fieldTerms)
		if err != nil {
			return err
		}
		l.segments = append(l.segments, segmentPostings{terms: terms, deleted: s.Deleted(), numbers: numbers})
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
	terms, err := seg.Dictionary(fieldTerms)
	return &postingReader{segments: []segmentPostings{{terms: terms, numbers: numbers}}}, err
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

func (l *postingReader) eachPosting(ctx context.Context, key []byte, fn func(number uint32, s slots)) error {
	for i := range l.segments {
		if err := ctx.Err(); err != nil {
			return err
		}
		s := &l.segments[i]
		var err error
		s.list, err = s.terms.PostingsList(key, s.deleted, s.list)
		if err != nil {
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

// count returns the number of blocks that contain the term with a key.
func (l *postingReader) count(key []byte) (n int, err error) {
	for i := range l.segments {
		s := &l.segments[i]
		s.list, err = s.terms.PostingsList(key, s.deleted, s.list)
		if err != nil {
			return 0, err
		}
		n += int(s.list.Count())
	}
	return n, nil
}

// addTerms adds to found the terms that begin with prefix and whose keys begin
// with key, if counts returns true for a block that contains the term.
func (l *postingReader) addTerms(ctx context.Context, key, prefix string, counts func(number uint32) bool,
	found map[string]bool) error {
	for i := range l.segments {
		s := &l.segments[i]
		err := s.eachKey(ctx, key+prefix, func(name string) (err error) {
			term := name[len(key):]
			if found[term] {
				return nil
			}
			s.list, err = s.terms.PostingsList([]byte(name), s.deleted, s.list)
			if err != nil {
				return err
			}
			s.iter = s.list.Iterator(false, false, false, s.iter)
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

// eachKey calls fn for each key that begins with prefix, until fn returns an error.
func (s *segmentPostings) eachKey(ctx context.Context, prefix string, fn func(key string) error) error {
	from := []byte(prefix)
	for it := s.terms.AutomatonIterator(nil, from, prefixEnd(from)); ; {
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
