package daemon

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

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

// withCopies returns the paths and those of the copies of these files. The other
// copies of a changed copy count, too.
func (c *copies) withCopies(paths []string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.of) == 0 {
		return paths
	}
	all := slices.Clone(paths)
	for _, path := range paths {
		of, _ := memory.CopyOf(path)
		for _, copied := range c.of[of] {
			if !slices.Contains(all, copied) {
				all = append(all, copied)
			}
		}
	}
	return all
}

// parseCopy parses what a conflict copy adds to its original, and to the copies
// before it, as they are now.
func (p *pipeline) parseCopy(file vault.File, of string) *memory.Document {
	var original *memory.Document
	if now, err := p.files.Read(of); err == nil {
		original = p.parseFile(now)
	}
	var before []*memory.Document
	for _, path := range p.copies.before(of, file.Path) {
		if now, err := p.files.Read(path); err == nil {
			before = append(before, p.layout.ParseCopy(path, now.Data, memory.Meta{Unstable: now.Unstable}, original))
		}
	}
	return p.layout.ParseCopy(file.Path, file.Data, memory.Meta{ModTime: file.ModTime, Unstable: file.Unstable}, original,
		before...)
}

// before returns the paths of the copies of a file before one of them, sorted.
func (c *copies) before(of, path string) (paths []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, other := range c.of[of] {
		if other < path {
			paths = append(paths, other)
		}
	}
	slices.Sort(paths)
	return paths
}

// paths returns the paths of all copies, sorted.
func (c *copies) paths() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	paths := slices.Concat(slices.Collect(maps.Values(c.of))...)
	slices.Sort(paths)
	return paths
}

// countByFile returns the number of copies of each file that has any.
func (c *copies) countByFile() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	count := map[string]int{}
	for of, list := range c.of {
		count[of] = len(list)
	}
	return count
}

// mergePause is the delay between two attempts to merge conflict copies.
const mergePause = 5 * time.Second

// Syncthing deletes the oldest of more than ten copies of a file. From hurried copies
// on, merges do not wait until the files are quiet; from crowded copies on, they keep
// the entries of both versions, even if no common version is known.
const (
	hurried = 2
	crowded = 5
)

// mergeCopies merges conflict copies to which both versions only added entries and
// ticks, on the machine that runs maintenance, until the context ends. It waits until
// both files are quiet, but no longer than twice that time.
func (d *daemon) mergeCopies(ctx context.Context) error {
	if err := d.awaitKnown(ctx); err != nil {
		return nil
	}
	merger := &vault.Merger{Writer: d.writer, Layout: d.pipeline.layout}
	since := map[string]time.Time{} // when copies were first seen
	tried := map[string][2]memory.Stamp{}
	for {
		if duty, err := d.maintenance.host.Duty(); err != nil || !duty.Active {
			clear(since)
		} else {
			d.mergeKnownCopies(ctx, merger, since, tried)
		}
		if err := sleep(ctx, mergePause); err != nil {
			return nil
		}
	}
}

// mergeKnownCopies merges the present copies once. It leaves out those that only a
// person can merge until they or their files change.
func (d *daemon) mergeKnownCopies(ctx context.Context, merger *vault.Merger, since map[string]time.Time,
	tried map[string][2]memory.Stamp) {
	paths, count := d.pipeline.copies.paths(), d.pipeline.copies.countByFile()
	for _, path := range paths {
		// An earlier version is not one of another machine, and a root is not changed.
		if strings.HasSuffix(path, ".orig") || d.pipeline.layout.InRoot(path) {
			continue
		}
		of, _ := memory.CopyOf(path)
		if since[path].IsZero() {
			since[path] = time.Now()
		}
		var stamps [2]memory.Stamp
		stamps[0], _ = d.vault.Catalogue.Lookup(path)
		stamps[1], _ = d.vault.Catalogue.Lookup(of)
		if stamps == tried[path] && count[of] < crowded {
			continue
		}
		urgent := count[of] >= hurried || time.Since(since[path]) > 2*d.config.Write.Quiet
		_, err := merger.MergeAdditions(ctx, path, urgent, count[of] >= crowded)
		switch {
		case err == nil:
			d.logger.Info("conflict copy merged", "path", path)
			delete(since, path)
		case errors.Is(err, memory.ErrWhole):
			tried[path] = stamps
		case !errors.Is(err, vault.ErrOff) && !vault.Absent(err):
			d.logger.Debug("conflict copy cannot be merged", "path", path, "err", err)
		}
	}
	for path := range since {
		if !slices.Contains(paths, path) {
			delete(since, path)
			delete(tried, path)
		}
	}
}
