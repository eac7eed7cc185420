package index

import (
	"strings"

	"github.com/memwatchd/memwatchd/memory"
)

// An overlay replaces files whose record in the index is missing or outdated.
// The files are read for one query, and the overlay contains only postings of
// the terms of that query.
type overlay struct {
	table  *table // part and block numbers of the overlay follow those of the table
	parts  []*part
	rows   []row
	blocks []ref
	leaves []leaf
	terms  []map[string]slots // by block
	paths  map[string]*file   // nil for a file that does not exist
}

// add replaces the indexed version of a file; a nil file hides that version.
func (o *overlay) add(path string, f *file, blocks []*block) {
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

// hides reports whether the overlay replaces the indexed version of a path.
func (o *overlay) hides(path string) bool {
	_, ok := o.paths[path]
	return ok
}

// part returns the part with a number, from the table or the overlay.
func (o *overlay) part(n uint32) *part {
	if k := int(n) - len(o.table.parts); k >= 0 {
		return o.parts[k]
	}
	return o.table.parts[n]
}

func (o *overlay) row(n uint32) *row {
	if k := int(n) - len(o.table.rows); k >= 0 {
		return &o.rows[k]
	}
	return &o.table.rows[n]
}

func (o *overlay) leaf(n uint32) *leaf {
	if k := int(n) - len(o.table.leaves); k >= 0 {
		return &o.leaves[k]
	}
	return &o.table.leaves[n]
}

// each calls fn for every block of the overlay that contains the term and
// belongs to the partition.
func (o *overlay) each(p memory.Partition, key string, fn func(number uint32, r ref, s slots)) {
	for i, terms := range o.terms {
		if s, ok := terms[key]; ok && o.part(o.blocks[i].part).partition == p {
			fn(uint32(len(o.table.blocks)+i), o.blocks[i], s)
		}
	}
}

// begun adds to found the terms in the overlay blocks of a partition that begin
// with prefix and whose keys begin with key.
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

// adjust corrects the sums of a partition for the files in the overlay.
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
