package index

import "github.com/memwatchd/memwatchd/memory"

// overlay stands in for files whose record in the index is missing or older
// than the file: they are read for the query at hand, and their postings kept
// for its words only. The nil overlay is empty.
type overlay struct {
	base  int // the first file number that the table does not use
	files []*file
	terms []map[string]slots // by file and block, in the order of lists
	lists []ref
	paths map[string]*file // nil for a file that is gone
}

func (o *overlay) len() int {
	if o == nil {
		return 0
	}
	return len(o.files)
}

// hides reports whether the index's version of a path does not count.
func (o *overlay) hides(path string) bool {
	if o == nil {
		return false
	}
	_, ok := o.paths[path]
	return ok
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
	f.number = uint32(o.base + len(o.files))
	o.files = append(o.files, f)
	for _, b := range blocks {
		o.lists = append(o.lists, ref{file: f, part: uint16(b.part), block: uint16(b.nth)})
		o.terms = append(o.terms, b.terms)
	}
}

// each calls fn for every block of a partition that has the term.
func (o *overlay) each(p memory.Partition, key string, fn func(ref, slots)) {
	if o == nil {
		return
	}
	for i, terms := range o.terms {
		if v, ok := terms[key]; ok && o.lists[i].file.parts[o.lists[i].part].partition == p {
			fn(o.lists[i], v)
		}
	}
}

// adjust corrects a partition's sums for the overlaid files.
func (o *overlay) adjust(p *partition, t *table) {
	if o == nil {
		return
	}
	for path, f := range o.paths {
		if old := t.files[path]; old != nil {
			p.add(old, -1)
		}
		if f != nil {
			p.add(f, 1)
		}
	}
}

// add counts what a file has in the partition.
func (p *partition) add(f *file, sign int) {
	for i := range f.parts {
		part := &f.parts[i]
		if part.partition != p.Partition {
			continue
		}
		p.files += sign
		p.filelen += int64(sign) * int64(part.length)
		for j := range f.entries {
			if int(f.entries[j].part) == i {
				p.entries += sign
				p.length += int64(sign) * int64(f.entries[j].length)
			}
		}
	}
}
