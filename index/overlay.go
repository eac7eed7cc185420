package index

import "strings"

// An overlay replaces files whose record in the index is missing or outdated.
// The files are read for one query, and the overlay contains only postings of
// the terms of that query.
type overlay struct {
	table    *table // variant and block numbers of the overlay follow those of the table
	variants []*variant
	rows     []row
	blocks   []ref
	leaves   []leaf
	built    []*block         // by block
	paths    map[string]*file // nil for a file that does not exist
}

// add replaces the indexed version of a file; a nil file hides that version.
func (o *overlay) add(path string, f *file, blocks []*block) {
	o.paths[path] = f
	if f == nil {
		return
	}
	f.setDerived()
	for _, p := range f.variants {
		p.number = o.table.variants.length + uint32(len(o.variants))
		o.variants, o.rows = append(o.variants, p), append(o.rows, rowOf(p))
	}
	for _, b := range blocks {
		p := f.variants[b.variant]
		p.blocks[b.nth] = o.table.blocks.length + uint32(len(o.blocks))
		o.blocks = append(o.blocks, ref{p.number, uint32(b.nth)})
		o.leaves = append(o.leaves, leafOf(p, b.nth))
		o.built = append(o.built, b)
	}
}

// hides reports whether the overlay replaces the indexed version of a path.
func (o *overlay) hides(path string) bool {
	_, ok := o.paths[path]
	return ok
}

// elementAt returns the n-th element of a table and an overlay, which follows it.
func elementAt[T any](table *pages[T], over []T, n uint32) *T {
	if n >= table.length {
		return &over[n-table.length]
	}
	return table.at(n)
}

// variantAt returns the variant with a number, from the table or the overlay.
func (o *overlay) variantAt(n uint32) *variant { return *elementAt(&o.table.variants, o.variants, n) }

func (o *overlay) rowAt(n uint32) *row       { return elementAt(&o.table.rows, o.rows, n) }
func (o *overlay) leafAt(block uint32) *leaf { return elementAt(&o.table.leaves, o.leaves, block) }
func (o *overlay) refAt(block uint32) ref    { return *elementAt(&o.table.blocks, o.blocks, block) }

// eachBlock calls fn for every block of the overlay that contains the term with a
// key.
func (o *overlay) eachBlock(key string, fn func(number uint32, r ref, s slots)) {
	for i, b := range o.built {
		if s := b.slotsOf(key); s != 0 {
			fn(o.table.blocks.length+uint32(i), o.blocks[i], s)
		}
	}
}

// addTerms adds to found the terms in the overlay that begin with prefix and whose
// keys begin with key.
func (o *overlay) addTerms(key, prefix string, found map[string]bool) {
	for _, b := range o.built {
		for _, p := range b.parts {
			for k := range p.terms {
				if strings.HasPrefix(k, key+prefix) {
					found[k[len(key):]] = true
				}
			}
		}
	}
}

// adjustSums corrects the sums of a partition for the files in the overlay.
func (o *overlay) adjustSums(s *partitionStats) {
	add := func(f *file, sign int) {
		if f == nil {
			return
		}
		for _, p := range f.variants {
			if p.partition == s.Partition {
				s.addVariant(p, sign)
			}
		}
	}
	for path, f := range o.paths {
		add(o.table.files.get(path), -1)
		add(f, 1)
	}
}
