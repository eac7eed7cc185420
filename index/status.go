package index

import (
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/memory"
)

// FileInfo is what the index holds of a file.
type FileInfo struct {
	Path    string
	Kind    memory.Kind
	Owner   string // owner key of the place
	Day     string // YYYY-MM-DD, for sessions and daily logs
	Session string // session_id
	Claim   string // the subject that the file claims its directory for
	Stamp   memory.Stamp
	Hash    [32]byte // SHA-256 of the bytes that were indexed
	Entries int
	Tasks   bool // some entry has one

	file *file
}

func (f *file) info() FileInfo {
	return FileInfo{f.path, f.kind, f.owner, f.day, f.session, f.claim, f.stamp, f.hash, f.whole(), f.tasks, f}
}

// Readable reports whether there is something in the file that the view may
// read, as far as the index knows.
func (i FileInfo) Readable(v memory.View) bool {
	_, _, ok := i.Version(v)
	return ok
}

// SessionFor is the session that the file is of, for somebody who may read what
// the view does: by its session_id, which is the frontmatter's, else by its name.
// It is empty for a file that is of none.
func (i FileInfo) SessionFor(v memory.View) string {
	if i.Session != "" && i.file.owned(v) {
		return i.Session
	}
	return i.file.name
}

// Version tells what the view may read of the file from what it might read
// before or after a change, and how many entries that is. It is false if there
// is nothing.
func (i FileInfo) Version(v memory.View) (version uint64, entries int, ok bool) {
	if i.file == nil {
		return 0, 0, false
	}
	for _, p := range i.file.parts {
		if v.Readable(p.partition) {
			return p.sum, len(p.entries), true
		}
	}
	return 0, 0, false
}

// File returns what the index holds of a file.
func (x *Index) File(path string) (FileInfo, bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if f := x.table.files[path]; f != nil {
		return f.info(), true
	}
	return FileInfo{}, false
}

// Files returns what the index holds of the files that keep says yes to, in the
// order of paths. Keep must not call the index.
func (x *Index) Files(keep func(*FileInfo) bool) []FileInfo {
	x.mu.RLock()
	defer x.mu.RUnlock()
	var list []FileInfo
	for _, f := range x.table.files {
		if info := f.info(); keep(&info) {
			list = append(list, info)
		}
	}
	slices.SortFunc(list, func(a, b FileInfo) int { return strings.Compare(a.Path, b.Path) })
	return list
}

// Status is the state of an index.
type Status struct {
	Revision   uint64 // rises with every change
	Generation uint64 // rises when the index is opened anew, or replaced by another
	Epoch      uint64 // rises when the index is opened anew: see [Index.Confirm]
	Files      int
	Entries    int
	Degraded   bool   // not whole: answers are made by reading files too
	Rebuilding bool   // another one is being built beside it
	Rebuilt    int    // files that were read for that
	ToRebuild  int    // of so many
	Problem    string // what a person should know, or empty
}

// Size is how many bytes the index has on disk.
func (x *Index) Size() int64 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if x.store == nil {
		return 0
	}
	return dirSize(x.store.dir)
}

// Status reports the state of the index.
func (x *Index) Status() Status {
	x.mu.RLock()
	defer x.mu.RUnlock()
	st := Status{
		Revision:   x.revision.Load(),
		Generation: x.generation.Load(),
		Epoch:      x.cover.epoch,
		Files:      len(x.table.files),
		Entries:    x.table.entries,
		Degraded:   x.degraded(),
		Rebuilding: x.next != nil,
		Problem:    x.lost,
	}
	if x.next != nil {
		st.Rebuilt, st.ToRebuild = int(x.next.fed.Load()), x.next.files
	}
	if x.store != nil {
		if err := x.store.failure(); err != nil {
			st.Problem = x.told("index cannot be brought to disk, trying again", err)
		}
	}
	return st
}
