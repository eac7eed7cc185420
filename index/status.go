package index

import (
	"slices"
	"strings"
)

// File returns the description of the indexed file and reports whether the
// index contains the file.
func (x *Index) File(path string) (FileInfo, bool) {
	if f := x.snapshot().files.get(path); f != nil {
		return f.FileInfo, true
	}
	return FileInfo{}, false
}

// Files returns the indexed files for which keep, which may be nil, returns true, ordered
// by path. They are immutable.
func (x *Index) Files(keep func(*FileInfo) bool) []*FileInfo {
	var list []*FileInfo
	for _, f := range x.snapshot().files.all() {
		if keep == nil || keep(&f.FileInfo) {
			list = append(list, &f.FileInfo)
		}
	}
	slices.SortFunc(list, func(a, b *FileInfo) int { return strings.Compare(a.Path, b.Path) })
	return list
}

// Status is the state of an index.
type Status struct {
	Revision uint64 // increases with every change
	Epoch    uint64 // increases when the index is opened again: see [Index.Confirm]
	Files    int
	Entries  int
	Degraded bool   // not complete: searches also read files
	Problem  string // message for the operator, or empty
}

// Size returns the size of the index on disk, in bytes.
func (x *Index) Size() int64 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if x.store == nil {
		return 0
	}
	size, _ := x.store.scorch.StatsMap()["CurOnDiskBytes"].(uint64)
	return int64(size)
}

// Status returns the state of the index.
func (x *Index) Status() Status {
	x.mu.RLock()
	defer x.mu.RUnlock()
	st := Status{
		Revision: x.revision,
		Epoch:    x.completeness.epoch,
		Files:    x.table.files.length,
		Entries:  x.table.entries,
		Degraded: x.isDegraded(),
		Problem:  x.problem,
	}
	if x.store != nil {
		if err := x.store.failure(); err != nil {
			st.Problem = x.describeError("cannot save the index to disk, retrying", err)
		}
	}
	return st
}
