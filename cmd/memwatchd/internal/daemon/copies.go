package daemon

import (
	"slices"
	"sync"

	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// copies holds the conflict copies of files. A copy is parsed with its original, so
// it is examined again when the original changes. The zero value is ready for
// use.
type copies struct {
	mu sync.Mutex
	of map[string][]string // by original
}

// record records a file if it is a copy.
func (c *copies) record(p memory.Place) {
	if p.Copy == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = make(map[string][]string)
	}
	if list := c.of[p.Copy]; !slices.Contains(list, p.Path) {
		c.of[p.Copy] = append(list[:len(list):len(list)], p.Path)
	}
}

// remove forgets a file that is gone.
func (c *copies) remove(path string) {
	of, ok := memory.CopyOf(path)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	list := slices.DeleteFunc(slices.Clone(c.of[of]), func(p string) bool { return p == path })
	if len(list) == 0 {
		delete(c.of, of)
		return
	}
	c.of[of] = list
}

// withCopies returns the paths and those of the copies of these files.
func (c *copies) withCopies(paths []string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.of) == 0 {
		return paths
	}
	all := slices.Clone(paths)
	for _, path := range paths {
		for _, copied := range c.of[path] {
			if !slices.Contains(paths, copied) {
				all = append(all, copied)
			}
		}
	}
	return all
}

// parseCopy parses what a conflict copy adds to its original as it is now.
func (p *pipeline) parseCopy(file vault.File, of string) *memory.Document {
	var original *memory.Document
	if now, err := p.vault.Read(of); err == nil {
		original = p.parseFile(now)
	}
	return p.layout.ParseCopy(file.Path, file.Data, memory.Meta{ModTime: file.ModTime, Unstable: file.Unstable}, original)
}
