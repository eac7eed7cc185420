package daemon

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/memwatchd/memwatchd/compactor"
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

// mergePause is the delay between two attempts to merge conflict copies.
const mergePause = 5 * time.Second

// mergesCopies reports whether this machine merges conflict copies without a
// request: one machine does, or the merges would conflict, too.
func (d *daemon) mergesCopies() bool {
	c := d.config
	return c.Conflicts.Auto == "additions" && d.maintenance != nil && c.Compactor.Host != "" &&
		compactor.HostName(c.Compactor.Host) == compactor.HostName(d.maintenance.host.Name)
}

// mergeCopies merges conflict copies to which both versions only added entries,
// once both files are quiet, until the context ends.
func (d *daemon) mergeCopies(ctx context.Context) error {
	if err := d.awaitKnown(ctx); err != nil {
		return nil
	}
	merger := &vault.Merger{Writer: d.writer, Layout: d.pipeline.layout}
	tick := time.NewTicker(mergePause)
	defer tick.Stop()
	for {
		for _, path := range d.pipeline.copies.paths() {
			// An earlier version is not one of another machine, and a root is not changed.
			if strings.HasSuffix(path, ".orig") || d.pipeline.layout.InRoot(path) {
				continue
			}
			plan, err := merger.Plan(path)
			if err == nil {
				_, err = merger.Apply(ctx, plan, nil, false)
			}
			_, waits := errors.AsType[*vault.WaitError](err)
			switch {
			case err == nil:
				d.logger.Info("conflict copy merged", "path", path)
			case !waits && !errors.Is(err, memory.ErrWhole) && !errors.Is(err, vault.ErrOff) && !vault.Absent(err):
				d.logger.Debug("conflict copy cannot be merged", "path", path, "err", err)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
