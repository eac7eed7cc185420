package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"

	"github.com/RoaringBitmap/roaring/v2"
	bleve "github.com/blevesearch/bleve_index_api"
	zapapi "github.com/blevesearch/scorch_segment_api/v2"
	zap "github.com/blevesearch/zapx/v16"
	"golang.org/x/sync/errgroup"
)

// A segment is an immutable set of documents.
type segment struct {
	zapapi.Segment
	places []place // by document number
	number uint64  // of the file, 0 if the segment is only in memory
}

// A member is a segment of a list, with the numbers of its deleted documents: nil if
// there are none. The set is never modified.
type member struct {
	*segment
	deleted *roaring.Bitmap
}

// members is a list of segments, and a reference to each.
type members []member

// close releases the references.
func (l members) close() error {
	var failed error
	for _, m := range l {
		failed = errors.Join(failed, m.DecRef())
	}
	return failed
}

// format makes, opens and merges segments.
var format zap.ZapPlugin

func init() {
	// By default zap reserves space for a hundred documents of the size of the
	// last one. That is too much if a single document can represent a large
	// file.
	zap.NewSegmentBufferNumResultsBump = 0
	zap.NewSegmentBufferNumResultsFactor = 0
}

// openSegment opens the segment in a file and reads the places of its documents.
func openSegment(name string, number uint64) (m member, err error) {
	z, err := format.Open(name)
	if err != nil {
		return member{}, err
	}
	m = member{segment: &segment{Segment: z, number: number, places: make([]place, z.Count())}}
	err = recoverPanic("open index", func() error {
		for i := range m.places {
			id, err := z.DocID(uint64(i))
			if err != nil {
				return err
			}
			at, ok := placeOf(id)
			if !ok {
				return fmt.Errorf("open index: invalid block number %q", id)
			}
			m.places[i] = at
		}
		return nil
	})
	if err != nil {
		return member{}, errors.Join(err, z.DecRef())
	}
	return m, nil
}

// newSegments makes segments of blocks in memory: in a build two on two goroutines, if
// there are many.
func newSegments(blocks []*block, building bool) (members, error) {
	var docs []bleve.Document
	var places []place
	for _, b := range blocks {
		for _, p := range b.parts {
			p.AddIDField()
			docs = append(docs, p)
			places = append(places, p.place())
		}
	}
	size := len(docs)
	if building && size >= manyParts {
		size = (size + 1) / 2
	}
	var added members
	var g errgroup.Group
	for len(docs) > 0 {
		n := min(size, len(docs))
		m := member{segment: &segment{places: places[:n:n]}}
		added = append(added, m)
		part := docs[:n]
		g.Go(func() error {
			return recoverPanic("write index", func() (err error) { m.Segment, _, err = format.New(part); return err })
		})
		docs, places = docs[n:], places[n:]
	}
	return added, g.Wait()
}

// manyParts is the number of parts from which a batch of a build becomes two segments.
const manyParts = 256

// checkSegment verifies the checksum of a segment, which zap writes but never reads.
func checkSegment(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() < zap.FooterSize {
		return &fs.PathError{Op: "check", Path: name, Err: fmt.Errorf("%d bytes are too few for a segment",
			info.Size())}
	}
	sum := crc32.NewIEEE()
	if _, err := io.CopyN(sum, f, info.Size()-4); err != nil {
		return err
	}
	var tail [4]byte
	if _, err := io.ReadFull(f, tail[:]); err != nil {
		return err
	}
	if binary.BigEndian.Uint32(tail[:]) != sum.Sum32() {
		return &fs.PathError{Op: "check", Path: name, Err: errChecksum}
	}
	return nil
}

// The methods of mergeplan.Segment.

// Id returns the number of the file.
func (m member) Id() uint64 { return m.number }

// FullSize returns the number of documents.
func (m member) FullSize() int64 { return int64(len(m.places)) }

// LiveSize returns the number of documents that are not deleted.
func (m member) LiveSize() int64 {
	if m.deleted == nil {
		return m.FullSize()
	}
	return m.FullSize() - int64(m.deleted.GetCardinality())
}

// HasVector returns false.
func (m member) HasVector() bool { return false }

// FileSize returns 0: the plan depends on the number of documents.
func (m member) FileSize() int64 { return 0 }
