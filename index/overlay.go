package index

import (
	"strings"

	"github.com/memwatchd/memwatchd/memory"
)

// overlay stands in for files whose record in the index is missing or older
// than the file: they are read for the query at hand, and their postings kept
// for its words only.
type overlay struct {
	table  *table // its parts and blocks have the numbers after the table's
	parts  []*part
	rows   []row
	blocks []ref
	leaves []leaf
	terms  []map[string]slots // by block
	paths  map[string]*file   // nil for a file that is gone
}

// add puts a file over the index's version; a nil file hides it.
func (o *overlay) add(path string, f *file, blocks []*block) {
	if o.paths == nil {
		o.paths = make(map[string]*file)
	}
	o.paths[path] = f
	if f == nil {
		return
	}
	f.settle()
	for _, p := range f.parts {
		p.number = uint32(len(o.table.parts) + len(o.parts))
		o.parts, o.rows = append(o.parts, p), append(o.rows, rowOf(p))
	}
	for _, b := range blocks {
		p := f.parts[b.part]
		p.blocks[b.nth] = uint32(len(o.table.blocks) + len(o.blocks))
		o.blocks = append(o.blocks, ref{p.number, uint32(b.nth)})
		o.leaves = append(o.leaves, leafOf(p, b.nth))
		o.terms = append(o.terms, b.terms)
	}
}

// hides reports whether the index's version of a path does not count.
func (o *overlay) hides(path string) bool {
	_, ok := o.paths[path]
	return ok
}

// part is the table's or the overlay's part of a number.
func (o *overlay) part(n uint32) *part {
	if k := int(n) - len(o.table.parts); k >= 0 {
		return o.parts[k]
	}
	return o.table.parts[n]
}

// row is the table's or the overlay's row of a part.
func (o *overlay) row(n uint32) *row {
	if k := int(n) - len(o.table.rows); k >= 0 {
		return &o.rows[k]
	}
	return &o.table.rows[n]
}

// leaf is the table's or the overlay's leaf of a block.
func (o *overlay) leaf(n uint32) *leaf {
	if k := int(n) - len(o.table.leaves); k >= 0 {
		return &o.leaves[k]
	}
	return &o.table.leaves[n]
}

// each calls fn for every overlaid block of a partition that has the term.
func (o *overlay) each(p memory.Partition, key string, fn func(number uint32, r ref, s slots)) {
	for i, terms := range o.terms {
		if s, ok := terms[key]; ok && o.part(o.blocks[i].part).partition == p {
			fn(uint32(len(o.table.blocks)+i), o.blocks[i], s)
		}
	}
}

// begun adds to found the terms of overlaid blocks of a partition whose keys begin
// with key, and themselves with prefix.
func (o *overlay) begun(p memory.Partition, key, prefix string, found map[string]bool) {
	for i, terms := range o.terms {
		if o.part(o.blocks[i].part).partition != p {
			continue
		}
		for k := range terms {
			if strings.HasPrefix(k, key+prefix) {
				found[k[len(key):]] = true
			}
		}
	}
}

// adjust corrects a partition's sums for the overlaid files.
func (o *overlay) adjust(s *partition) {
	add := func(f *file, sign int) {
		if f == nil {
			return
		}
		for _, p := range f.parts {
			if p.partition == s.Partition {
				s.add(p, sign)
			}
		}
	}
	for path, f := range o.paths {
		add(o.table.files[path], -1)
		add(f, 1)
	}
}
