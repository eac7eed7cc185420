package vectors

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"runtime/debug"
	"slices"
	"sync"
)

// A Hit is a text near a query.
type Hit struct {
	Key    Key
	Cosine float32
}

// rescored is the number of vectors of a partition that a search compares by
// their bytes: those whose bits are nearest.
const rescored = 400

// Near returns the limit texts of a partition that are nearest to a vector of
// length 1, nearest first, and of equally near ones those with lower keys first.
// It ignores texts for which accept returns false: these have no influence on
// the result. All vectors of equal distance by bits are compared by their bytes,
// or none.
func (s *Store) Near(query []float32, partition string, limit int, accept func(Key) bool) ([]Hit, error) {
	if len(query) != s.dimensions {
		return nil, fmt.Errorf("search vectors: the query has %d dimensions instead of %d", len(query), s.dimensions)
	}
	p := s.find(partition)
	if p == nil {
		return nil, nil
	}
	hits, err := p.near(query, max(rescored, limit), accept)
	if err != nil {
		return nil, fmt.Errorf("search vectors: %w", err)
	}
	slices.SortFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Cosine, a.Cosine), cmp.Compare(a.Key, b.Key))
	})
	return hits[:min(len(hits), limit)], nil
}

// distances holds spare slices for the distances of a partition.
var distances = sync.Pool{New: func() any { return new([]uint16) }}

// near returns n candidates of the partition or more with their cosines, in any
// order.
func (p *partition) near(query []float32, n int, accept func(Key) bool) (hits []Hit, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer recoverFault(&err)
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.count == 0 {
		return nil, nil
	}
	spare := distances.Get().(*[]uint16)
	defer distances.Put(spare)
	all := slices.Grow((*spare)[:0], p.count)[:p.count]
	*spare = all
	p.measure(query, all)
	within := make([]int, 64*countWords(p.dimensions)+1) // number of rows up to a distance
	for _, d := range all {
		within[d]++
	}
	for d := range within[1:] {
		within[d+1] += within[d]
	}
	var rows []uint32
	for want := n; ; want = p.count {
		most := uint16(slices.IndexFunc(within, func(sum int) bool { return sum >= min(want, p.count) }))
		rows = rows[:0]
		for i, d := range all {
			if d <= most && p.admits(uint32(i), accept) {
				rows = append(rows, uint32(i))
			}
		}
		if len(rows) >= n || want >= p.count {
			break // otherwise accept rejected too many: compare all
		}
	}
	slices.SortFunc(rows, func(a, b uint32) int { return cmp.Compare(all[a], all[b]) })
	for i, row := range rows {
		if i >= n && all[row] != all[rows[i-1]] {
			break
		}
		if p.intact(int(row)) {
			hits = append(hits, Hit{keyOf(p.bitsRow(int(row))), cosine(query, p.bytesRow(int(row)))})
		}
	}
	return hits, nil
}

// admits reports whether a row is valid and accept accepts its key.
func (p *partition) admits(n uint32, accept func(Key) bool) bool {
	key := keyOf(p.bitsRow(int(n)))
	at, ok := p.rows[key]
	return ok && at == n && accept(key)
}

// measure computes the distance of each row from the query: the number of
// different bits.
func (p *partition) measure(query []float32, out []uint16) {
	set := make([]uint64, countWords(len(query))) // the bits of the query
	for i, x := range query {
		if x >= 0 {
			set[i/64] |= 1 << (i % 64)
		}
	}
	size := p.bitsSize()
	data := p.bits.data[p.bits.header:]
	for n := range out {
		row := data[n*size+rowHead : (n+1)*size]
		d := 0
		for _, w := range set {
			d += bits.OnesCount64(w ^ binary.LittleEndian.Uint64(row))
			row = row[8:]
		}
		out[n] = uint16(d)
	}
}

// cosine returns the cosine of the angle between a vector of length 1 and a
// stored one.
func cosine(query []float32, row []byte) float32 {
	var dot float32
	sum := 0
	row = row[:len(query)]
	for i, q := range query {
		x := int8(row[i])
		dot += q * float32(x)
		sum += int(x) * int(x)
	}
	return dot / float32(math.Sqrt(float64(sum)))
}

// recoverFault turns a fault of a mapped file into an error. Such faults occur if
// the disk fails or another program truncates the file.
func recoverFault(err *error) {
	r := recover()
	if r == nil {
		return
	}
	if _, ok := r.(interface{ Addr() uintptr }); !ok {
		panic(r)
	}
	*err = errDamaged
}
