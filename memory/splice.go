package memory

import (
	"cmp"
	"fmt"
	"slices"
)

// An Edit replaces the bytes of a span of a text. An empty span inserts.
type Edit struct {
	Span Span
	New  []byte
}

// Splice makes the edits, and leaves every other byte as it is. They may come in
// any order and must not overlap; those at the same place are made in the order
// in which they are given, insertions first.
func Splice(source []byte, edits []Edit) ([]byte, error) {
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, func(a, b Edit) int {
		return cmp.Or(cmp.Compare(a.Span.Start, b.Span.Start), cmp.Compare(min(a.Span.End, a.Span.Start+1), min(b.Span.End, b.Span.Start+1)))
	})
	size, at := len(source), 0
	for _, e := range edits {
		if e.Span.Start < at || e.Span.End < e.Span.Start || e.Span.End > len(source) {
			return nil, fmt.Errorf("two changes touch the bytes from %d on", e.Span.Start)
		}
		size += len(e.New) - (e.Span.End - e.Span.Start)
		at = e.Span.End
	}
	out := make([]byte, 0, size)
	at = 0
	for _, e := range edits {
		out = append(append(out, source[at:e.Span.Start]...), e.New...)
		at = e.Span.End
	}
	return append(out, source[at:]...), nil
}
