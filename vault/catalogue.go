package vault

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/memwatchd/memwatchd/internal/disk"
)

// A Catalogue contains the latest observation of each path: readable files, and
// skipped paths with the reason. Requests by path are resolved in the
// catalogue; a path without an entry does not exist for clients and is never
// opened.
//
// The zero value is empty. All methods are safe for concurrent use.
type Catalogue struct {
	mu      sync.RWMutex
	entries map[string]observation
	seq     uint64 // a counter of observations and walks
	walks   int    // walks in progress
}

// An observation is the latest observation of a path. A file that was readable
// before and cannot be examined now is both known and has a reason. During a
// walk an entry with neither stays, because it is newer than the walk's
// observation of the path.
type observation struct {
	known  bool
	stamp  disk.Stamp
	reason string // why the path is skipped
	seq    uint64
}

// Lookup returns the stamp of the file at path and reports whether the
// catalogue contains it as a readable file.
func (c *Catalogue) Lookup(path string) (disk.Stamp, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	e := c.entries[path]
	return e.stamp, e.known
}

// Len returns the number of readable files.
func (c *Catalogue) Len() (n int) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, e := range c.entries {
		if e.known {
			n++
		}
	}
	return n
}

// Files returns the paths of the readable files, sorted.
func (c *Catalogue) Files() []string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	var paths []string
	for path, e := range c.entries {
		if e.known {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

// Skipped returns the skipped paths, sorted by path.
func (c *Catalogue) Skipped() []disk.Skipped {
	c.mu.RLock()
	defer c.mu.RUnlock()
	var skipped []disk.Skipped
	for path, e := range c.entries {
		if e.reason != "" {
			skipped = append(skipped, disk.Skipped{Path: path, Reason: e.reason, Unseen: e.known})
		}
	}
	slices.SortFunc(skipped, skippedByPath)
	return skipped
}

// setObserved stores the result of a single observation.
func (c *Catalogue) setObserved(path string, stamp disk.Stamp, err error, reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seq++
	e := observation{seq: c.seq}
	switch {
	case err == nil:
		e.known, e.stamp = true, stamp
	case !Absent(err):
		// The file may still exist, so its entry stays.
		e = c.entries[path]
		e.reason, e.seq = reason, c.seq
	case isMarkdown(path):
		e.reason = reason
	}
	c.putObservation(path, e)
}

// beginWalk registers a walk and returns the argument for end.
func (c *Catalogue) beginWalk() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seq++
	c.walks++
	return c.seq
}

// endWalk replaces the entries below tree.From with the results of a walk, except
// entries observed after the walk began and paths that the walk could not
// examine. A nil tree means that the walk failed.
func (c *Catalogue) endWalk(began uint64, tree *disk.Tree) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.walks--
	if tree != nil {
		unseen := tree.Unseen()
		for path, e := range c.entries {
			if e.seq <= began && disk.Within(path, tree.From) && !disk.WithinAny(path, unseen) {
				c.putObservation(path, observation{seq: began})
			}
		}
		for _, f := range tree.Files {
			if c.entries[f.Path].seq <= began {
				c.putObservation(f.Path, observation{known: true, stamp: f.Stamp, seq: began})
			}
		}
		for _, s := range tree.Skipped {
			if e := c.entries[s.Path]; e.seq <= began {
				e.reason, e.seq = s.Reason, began
				c.putObservation(s.Path, e)
			}
		}
	}
	if c.walks == 0 {
		maps.DeleteFunc(c.entries, func(_ string, e observation) bool { return e.isEmpty() })
	}
}

func (c *Catalogue) putObservation(path string, e observation) {
	if c.entries == nil {
		c.entries = make(map[string]observation)
	}
	if e.isEmpty() && c.walks == 0 {
		delete(c.entries, path)
		return
	}
	c.entries[path] = e
}

func (e observation) isEmpty() bool { return !e.known && e.reason == "" }

func foundByPath(a, b disk.FoundFile) int { return cmp.Compare(a.Path, b.Path) }
func skippedByPath(a, b disk.Skipped) int { return cmp.Compare(a.Path, b.Path) }
