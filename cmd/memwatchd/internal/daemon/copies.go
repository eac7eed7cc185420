package daemon

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/memwatchd/memwatchd/internal/disk"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// copies holds the conflict copies of files. A copy is parsed with its original, so
// it is examined again when the original changes. The zero value is ready for
// use.
type copies struct {
	mu sync.Mutex
	of map[string][]string // by original, sorted; the lists are immutable
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
	list := c.of[p.Copy]
	if i, known := slices.BinarySearch(list, p.Path); !known {
		c.of[p.Copy] = slices.Insert(slices.Clip(list), i, p.Path)
	}
}

func (c *copies) remove(path string) {
	of, _ := memory.CopyOf(path)
	c.mu.Lock()
	defer c.mu.Unlock()
	if i, known := slices.BinarySearch(c.of[of], path); known {
		c.of[of] = slices.Delete(slices.Clone(c.of[of]), i, i+1)
	}
}

// list returns the paths of the copies of a file, sorted.
func (c *copies) list(of string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.of[of]
}

// byFile returns the paths of the copies of each file, sorted.
func (c *copies) byFile() map[string][]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.of)
}

// withCopies returns the paths and those of the copies of these files. The other
// copies of a changed copy count, too.
func (c *copies) withCopies(paths []string) []string {
	all := slices.Clone(paths)
	for _, path := range paths {
		of, _ := memory.CopyOf(path)
		for _, copied := range c.list(of) {
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
	for _, path := range p.copies.list(of) {
		if path >= file.Path {
			break
		}
		if now, err := p.files.Read(path); err == nil {
			before = append(before, p.layout.ParseCopy(path, now.Data, memory.Meta{Unstable: now.Unstable}, original))
		}
	}
	meta := memory.Meta{ModTime: file.ModTime, Unstable: file.Unstable}
	return p.layout.ParseCopy(file.Path, file.Data, meta, original, before...)
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

// mergedCopyTime is the time for which merged copies count as copies of their file:
// Syncthing sends the removal of a file a minute later, and meanwhile another machine
// that makes one copy too many still has the merged ones.
const mergedCopyTime = 2 * time.Minute

// A copyMerger merges conflict copies to which both versions only added entries and
// ticks.
type copyMerger struct {
	d      *daemon
	merger *vault.Merger
	known  map[string]*knownCopy // by path
}

// A knownCopy is a conflict copy that exists, or was merged lately.
type knownCopy struct {
	since, merged time.Time
	tried         [2]disk.Stamp // of the copy and its file, which only a person can merge
}

func newCopyMerger(d *daemon) *copyMerger {
	return &copyMerger{d: d, merger: &vault.Merger{Writer: d.writer, Layout: d.pipeline.layout},
		known: map[string]*knownCopy{}}
}

// mergeCopies merges conflict copies on the machine that runs maintenance, until the
// context ends. It waits until both files are quiet, but no longer than twice that time.
func (d *daemon) mergeCopies(ctx context.Context) error {
	m := newCopyMerger(d)
	for {
		if duty, err := d.maintenance.host.Duty(); err != nil || !duty.Active {
			clear(m.known)
		} else {
			m.mergeKnown(ctx)
		}
		if err := sleep(ctx, mergePause); err != nil {
			return err
		}
	}
}

// mergeKnown merges the present copies once. It leaves out those that only a person can
// merge until they or their files change.
func (m *copyMerger) mergeKnown(ctx context.Context) {
	files, lately := m.d.pipeline.copies.byFile(), map[string]int{} // merged copies
	for path, k := range m.known {
		of, _ := memory.CopyOf(path)
		if time.Since(k.merged) <= mergedCopyTime {
			lately[of]++
		} else if !slices.Contains(files[of], path) {
			delete(m.known, path)
		}
	}
	for of, paths := range files {
		for _, path := range paths {
			// An earlier version is not one of another machine, and a root is not changed.
			if !strings.HasSuffix(path, ".orig") && !m.d.pipeline.layout.InRoot(path) {
				m.mergeCopy(ctx, path, of, len(paths)+lately[of])
			}
		}
	}
}

// mergeCopy merges a copy of a file that has count copies.
func (m *copyMerger) mergeCopy(ctx context.Context, path, of string, count int) {
	k := m.known[path]
	if k == nil {
		k = &knownCopy{since: time.Now()}
		m.known[path] = k
	}
	var stamps [2]disk.Stamp
	stamps[0], _ = m.d.memory.Catalogue.Lookup(path)
	stamps[1], _ = m.d.memory.Catalogue.Lookup(of)
	if stamps == k.tried && count < crowded {
		return
	}
	urgent := count >= hurried || time.Since(k.since) > 2*m.d.config.Tuning.Quiet
	_, err := m.merger.MergeAdditions(ctx, path, urgent, count >= crowded)
	switch {
	case err == nil:
		m.d.logger.Info("conflict copy merged", "path", path)
		*k = knownCopy{since: time.Now(), merged: time.Now()}
	case errors.Is(err, memory.ErrWhole):
		k.tried = stamps
	case !errors.Is(err, vault.ErrOff) && !vault.Absent(err):
		m.d.logger.Debug("conflict copy cannot be merged", "path", path, "err", err)
	}
}
