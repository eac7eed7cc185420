package vault

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/memwatchd/memwatchd/memory"
)

// A Catalogue contains the latest observation of each path: readable files, and
// skipped paths with the reason. Requests by path are resolved in the
// catalogue; a path without an entry does not exist for clients and is never
// opened.
//
// The zero value is empty. All methods are safe for concurrent use.
type Catalogue struct {
	mu      sync.RWMutex
	entries map[string]entry
	looks   uint64 // a counter of looks and walks
	walks   int    // walks in progress
}

// An entry is the latest observation of a path. A file that was readable before
// and cannot be examined now is both known and has a reason. During a walk an
// entry with neither stays, because it is newer than the walk's observation of
// the path.
type entry struct {
	known  bool
	stamp  memory.Stamp
	reason string // why the path is skipped
	look   uint64
}

// Lookup returns the stamp of a readable file.
func (c *Catalogue) Lookup(path string) (memory.Stamp, bool) {
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

// Files returns the readable files, sorted by path.
func (c *Catalogue) Files() iter.Seq2[string, memory.Stamp] {
	c.mu.RLock()
	found := make([]memory.Found, 0, len(c.entries))
	for path, e := range c.entries {
		if e.known {
			found = append(found, memory.Found{Path: path, Stamp: e.stamp})
		}
	}
	c.mu.RUnlock()
	slices.SortFunc(found, foundByPath)
	return func(yield func(string, memory.Stamp) bool) {
		for _, f := range found {
			if !yield(f.Path, f.Stamp) {
				return
			}
		}
	}
}

// Skipped returns the skipped paths, sorted by path.
func (c *Catalogue) Skipped() []memory.Skipped {
	c.mu.RLock()
	defer c.mu.RUnlock()
	var skipped []memory.Skipped
	for path, e := range c.entries {
		if e.reason != "" {
			skipped = append(skipped, memory.Skipped{Path: path, Reason: e.reason, Unseen: e.known})
		}
	}
	slices.SortFunc(skipped, skippedByPath)
	return skipped
}

// look stores the result of a single observation.
func (c *Catalogue) look(path string, stamp memory.Stamp, err error, reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.looks++
	e := entry{look: c.looks}
	switch {
	case err == nil:
		e.known, e.stamp = true, stamp
	case !Absent(err):
		// The file may still exist, so its entry stays.
		e = c.entries[path]
		e.reason, e.look = reason, c.looks
	case isMarkdown(path):
		e.reason = reason
	}
	c.set(path, e)
}

// begin registers a walk and returns the argument for end.
func (c *Catalogue) begin() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.looks++
	c.walks++
	return c.looks
}

// end replaces the entries below tree.From with the results of a walk, except
// entries observed after the walk began and paths that the walk could not
// examine. A nil tree means that the walk failed.
func (c *Catalogue) end(began uint64, tree *memory.Tree) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.walks--
	if tree != nil {
		unseen := tree.Unseen()
		for path, e := range c.entries {
			if e.look <= began && memory.Within(path, tree.From) && !memory.WithinAny(path, unseen) {
				c.set(path, entry{look: began})
			}
		}
		for _, f := range tree.Files {
			if c.entries[f.Path].look <= began {
				c.set(f.Path, entry{known: true, stamp: f.Stamp, look: began})
			}
		}
		for _, s := range tree.Skipped {
			if e := c.entries[s.Path]; e.look <= began {
				e.reason, e.look = s.Reason, began
				c.set(s.Path, e)
			}
		}
	}
	if c.walks == 0 {
		maps.DeleteFunc(c.entries, func(_ string, e entry) bool { return e.empty() })
	}
}

func (c *Catalogue) set(path string, e entry) {
	if c.entries == nil {
		c.entries = make(map[string]entry)
	}
	if e.empty() && c.walks == 0 {
		delete(c.entries, path)
		return
	}
	c.entries[path] = e
}

func (e entry) empty() bool { return !e.known && e.reason == "" }

func foundByPath(a, b memory.Found) int     { return cmp.Compare(a.Path, b.Path) }
func skippedByPath(a, b memory.Skipped) int { return cmp.Compare(a.Path, b.Path) }
