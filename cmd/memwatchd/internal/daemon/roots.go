package daemon

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/internal/ops"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
	"github.com/memwatchd/memwatchd/watcher"
)

// A root is a folder beside the memory directory. Its vault has no writer, and its
// watcher passes the changed paths to the pipeline of the memory.
type root struct {
	*memory.Root
	config  config.Root
	disk    *rootDisk
	times   fileTimes
	watcher *watcher.Watcher
}

// isMissing reports whether the folder could not be read at the last scan.
func (r *root) isMissing() bool { return r.watcher.Status().Root == watcher.RootMissing }

func (d *daemon) openRoots() {
	c := d.config
	for _, folder := range d.pipeline.layout.Roots {
		r := &root{Root: folder}
		for _, o := range c.Memory.Roots {
			if o.Problem == "" && o.Name == folder.Name {
				r.config = o
			}
		}
		r.disk = &rootDisk{obsidian: r.config.Kind == "obsidian"}
		r.disk.Vault = &vault.Vault{Dir: r.config.Path, MaxFileSize: int64(c.Watch.MaxFileSize),
			Skip: func(path string) string {
				if r.disk.isTemplate(path) {
					return "a template"
				}
				return r.config.SkipFile(path)
			},
			SkipDir: func(path string) string {
				if r.disk.isTemplate(path) {
					return "templates"
				}
				return r.config.SkipDir(path)
			}}
		r.watcher = &watcher.Watcher{
			Dir: r.config.Path, Disk: r.disk, Sink: rootSink{d.pipeline, folder},
			CookieDir: cookieDir(c, folder), Logger: d.logger.With("folder", folder.Name),
			Debounce: c.Tuning.Settle, MaxWait: c.Tuning.MaxWait, DeletionDelay: c.Tuning.Vanish,
			Reconcile: c.Tuning.Reconcile, Poll: c.Tuning.Poll,
			GitChanged: func(since time.Time) bool { return vault.GitChanged(r.config.Path, since) },
		}
		d.pipeline.files.roots[folder.Name] = r
		d.roots = append(d.roots, r)
	}
	for _, r := range d.roots {
		r.disk.others = []*vault.Vault{d.vault}
		for _, o := range d.roots {
			if o != r {
				r.disk.others = append(r.disk.others, o.disk.Vault)
			}
		}
	}
}

func cookieDir(c *config.Config, r *memory.Root) string {
	return filepath.Join(c.State.Dir, "cookies-"+r.Name)
}

// eachWatcher calls do with the watcher of the memory directory and those of the
// roots.
func (d *daemon) eachWatcher(do func(*watcher.Watcher)) {
	do(d.watcher)
	for _, r := range d.roots {
		do(r.watcher)
	}
}

type files struct {
	*vault.Vault // the memory directory
	layout       *memory.Layout
	roots        map[string]*root // by name
	times        fileTimes
}

func (f *files) find(path string) (*vault.Vault, string) {
	if r, below := f.layout.CutRoot(path); r != nil {
		return f.roots[r.Name].disk.Vault, below
	}
	return f.Vault, path
}

// timesOf returns the times of the files beside path.
func (f *files) timesOf(path string) *fileTimes {
	if r, _ := f.layout.CutRoot(path); r != nil {
		return &f.roots[r.Name].times
	}
	return &f.times
}

// Stat is [vault.Vault.Stat] for a file of the memory directory or of a root.
func (f *files) Stat(path string) (memory.Stamp, error) {
	v, below := f.find(path)
	return v.Stat(below)
}

// Observe is [vault.Vault.Observe] for a file of the memory directory or of a root.
func (f *files) Observe(path string) (memory.Stamp, error) {
	v, below := f.find(path)
	return v.Observe(below)
}

// Read is [vault.Vault.Read] for a file of the memory directory or of a root. It reads
// nothing of a root that overlaps another directory. The time of change is the one at
// which the content was written.
func (f *files) Read(path string) (vault.File, error) {
	if r, _ := f.layout.CutRoot(path); r != nil {
		if err := f.roots[r.Name].disk.checkOverlap(); err != nil {
			return vault.File{Path: path}, err
		}
	}
	v, below := f.find(path)
	file, err := v.Read(below)
	if err == nil {
		file.ModTime = f.timesOf(path).written(file)
	}
	file.Path = path
	return file, err
}

// A rootSink passes the changes of a root to the pipeline.
type rootSink struct {
	pipeline *pipeline
	root     *memory.Root
}

// Known implements [watcher.Sink].
func (s rootSink) Known() iter.Seq2[string, memory.Stamp] {
	return func(yield func(string, memory.Stamp) bool) {
		for path, stamp := range s.pipeline.index.Known() {
			if r, below := s.pipeline.layout.CutRoot(path); r == s.root && !yield(below, stamp) {
				return
			}
		}
	}
}

// rootBatch is the number of files of a root after which the changes of the memory
// directory and of other roots get their turn.
const rootBatch = 64

// Changed implements [watcher.Sink].
func (s rootSink) Changed(ctx context.Context, paths []string, why watcher.Reason) (retry []string, err error) {
	s.pipeline.listCommits(s.root.Path(""), len(paths))
	for len(paths) > 0 {
		n := min(len(paths), rootBatch)
		batch := make([]string, n)
		for i, below := range paths[:n] {
			batch[i] = s.root.Path(below)
		}
		again, err := s.pipeline.Changed(ctx, batch, why)
		if err != nil {
			return nil, err
		}
		for _, path := range again {
			_, below := s.pipeline.layout.CutRoot(path)
			retry = append(retry, below)
		}
		paths = paths[n:]
	}
	return retry, nil
}

// A rootDisk is the vault of a root, which cannot be read while the folder overlaps
// another one: the same text would have two kinds of readers.
type rootDisk struct {
	*vault.Vault
	others   []*vault.Vault // of the memory directory, and of the other roots
	obsidian bool

	templates atomic.Pointer[[]string] // directories of an Obsidian vault; nil before they are read
}

// Root implements [watcher.Disk].
func (d *rootDisk) Root() (memory.FileID, error) {
	id, err := d.Vault.Root()
	if err == nil {
		err = d.checkOverlap()
	}
	if err != nil {
		return memory.FileID{}, err
	}
	return id, nil
}

// Walk implements [watcher.Disk]. It checks for an overlap, too, because the memory
// directory may be what has been moved to from.
func (d *rootDisk) Walk(ctx context.Context, from string, enter func(memory.Directory)) (*memory.Tree, error) {
	if err := d.checkOverlap(); err != nil {
		return nil, err
	}
	if d.obsidian && from == "" {
		d.readTemplates()
	}
	return d.Vault.Walk(ctx, from, enter)
}

// checkOverlap returns an error if the folder overlaps another one. It resolves all
// paths again, because each of the directories can be moved. While the memory
// directory cannot be resolved, it may be anywhere, also in the folder.
func (d *rootDisk) checkOverlap() error {
	real, err := d.RealPath()
	if err != nil {
		return err
	}
	for i, o := range d.others {
		other, err := o.RealPath()
		if err != nil && i == 0 {
			return fmt.Errorf("%w: %s may overlap %s: %w", vault.ErrRoot, d.Dir, o.Dir, err)
		}
		if err != nil {
			other = o.Dir
		}
		if config.IsWithin(real, other) || config.IsWithin(other, real) {
			return fmt.Errorf("%w: %s overlaps %s", vault.ErrRoot, d.Dir, o.Dir)
		}
	}
	return nil
}

// readTemplates reads the settings of an Obsidian vault. If none can be read
// now, the earlier ones keep their effect.
func (d *rootDisk) readTemplates() {
	if o := d.ReadObsidian(); len(o.Templates) > 0 || len(o.Problems) == 0 {
		d.templates.Store(&o.Templates)
	}
}

// isTemplate reports whether a path is that of the templates of an Obsidian vault, or
// below it.
func (d *rootDisk) isTemplate(path string) bool {
	if !d.obsidian {
		return false
	}
	if folders := d.templates.Load(); folders != nil && len(*folders) > 0 {
		return slices.ContainsFunc(*folders, func(folder string) bool { return memory.Within(path, folder) })
	}
	top, _, _ := strings.Cut(path, "/")
	return strings.EqualFold(top, "templates")
}

// SyncRoots returns when the index contains everything that was saved in the named
// roots before the call. A root that cannot be read does not count.
func (d *daemon) SyncRoots(ctx context.Context, names []string) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, r := range d.roots {
		if slices.Contains(names, r.Name) {
			group.Go(func() error { return r.watcher.Sync(ctx) })
		}
	}
	return group.Wait()
}

// syncAll is [daemon.Sync] and SyncRoots for all roots. It waits for the roots at most
// as long as given, because the memory must not depend on a slow file system.
func (d *daemon) syncAll(ctx context.Context, most time.Duration) error {
	if err := d.watcher.Sync(ctx); err != nil {
		return err
	}
	var names []string
	for _, r := range d.roots {
		names = append(names, r.Name)
	}
	limited, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	err := d.SyncRoots(limited, names)
	if err != nil && ctx.Err() == nil && limited.Err() != nil {
		d.logger.Info("folders are still being read")
		return nil
	}
	return err
}

func (d *daemon) listRootProblems(add func(path, code, message string)) {
	for _, r := range d.config.Memory.Roots {
		if r.Problem != "" {
			add("", "root_invalid", fmt.Sprintf("memory.roots: folder %q is not used: %s", r.Name, r.Problem))
		}
	}
	for _, r := range d.roots {
		if w := r.watcher.Status(); len(w.Warnings) > 0 {
			// The folder is not the memory directory that the error is named after.
			text := strings.ReplaceAll(strings.Join(w.Warnings, "; "), vault.ErrRoot.Error()+": ", "")
			add("", "root_unreadable", fmt.Sprintf("folder %s: %s", r.Name, text))
		}
	}
}

func (d *daemon) rootStatus() (list []api.RootStatus) {
	for _, r := range d.roots {
		list = append(list, api.RootStatus{Name: r.Name, Path: r.config.Path, Kind: r.config.Kind,
			State: rootState(r.watcher.Status()), Files: r.disk.Catalogue.Len()})
	}
	return list
}

func (d *daemon) searchedRoots() (list []ops.Root) {
	for _, r := range d.roots {
		list = append(list, ops.Root{Root: r.Root, Weight: r.config.Weight, Missing: r.isMissing})
	}
	return list
}

// walkAll returns the files of the memory directory and of the roots, except those
// of missing ones.
func (d *daemon) walkAll(ctx context.Context) (*memory.Tree, error) {
	all, err := d.vault.Walk(ctx, "", nil)
	if err != nil {
		return nil, err
	}
	for _, r := range d.roots {
		if r.isMissing() {
			continue
		}
		tree, err := r.disk.Walk(ctx, "", nil)
		if errors.Is(err, vault.ErrRoot) {
			continue // a problem of the folder
		}
		if err != nil {
			return nil, err
		}
		for _, f := range tree.Files {
			f.Path = r.Path(f.Path)
			all.Files = append(all.Files, f)
		}
	}
	return all, nil
}

func (d *daemon) inMissingRoot(path string) bool {
	r, _ := d.pipeline.layout.CutRoot(path)
	return r != nil && d.pipeline.files.roots[r.Name].isMissing()
}
