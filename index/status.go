package index

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/memory"
)

// A FileInfo describes the indexed version of a file.
type FileInfo struct {
	Path    string
	Kind    memory.Kind
	Owner   string // owner key of the place, which may change independently of the file
	Day     string // YYYY-MM-DD, for sessions and daily logs
	Session string // session_id; readable with the frontmatter
	Claim   string // subject that the file claims its directory for
	Stamp   memory.Stamp
	Hash    [32]byte // SHA-256 of the indexed bytes
	Entries int      // not stored, nor is the next
	Tasks   bool     // some entry has a task
	// Truncated reports that the file has more different words than the index
	// contains of one file, so that searches do not find all of its text.
	Truncated bool

	file *file
}

// SameVersion reports whether both describe the same version of the same file.
func (i FileInfo) SameVersion(o FileInfo) bool {
	return i.Path == o.Path && i.Stamp == o.Stamp && i.Hash == o.Hash && i.Kind == o.Kind && i.Owner == o.Owner
}

// Readable reports whether the view may read any part of the indexed file.
func (i FileInfo) Readable(v memory.View) bool { return i.file != nil && v.Readable(i.file.partition) }

// SessionName returns the session of the file: its session_id, otherwise the session of the
// file name. It returns "" for a file without a session.
func (i FileInfo) SessionName() string { return cmp.Or(i.Session, i.file.name) }

// Version returns a value that changes with the content that the view may read,
// and the number of readable entries. It returns false if the view cannot read
// any part of the file.
func (i FileInfo) Version(v memory.View) (version uint64, entries int, ok bool) {
	if !i.Readable(v) {
		return 0, 0, false
	}
	return sumOf(i.Hash), i.Entries, true
}

// EachEntry calls use with the time and the number of words of each entry that the
// view may read, in order. The time is zero if it is unknown. EachEntry returns
// false if the view cannot read any part of the file.
func (i FileInfo) EachEntry(v memory.View, use func(at time.Time, words int)) bool {
	if !i.Readable(v) {
		return false
	}
	for _, e := range i.file.entries {
		var at time.Time
		if e.time != noTime {
			at = time.Unix(0, e.time)
		}
		use(at, int(e.length))
	}
	return true
}

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
