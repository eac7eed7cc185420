package daemon

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/internal/disk"
	"github.com/memwatchd/memwatchd/internal/ops"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
	"github.com/memwatchd/memwatchd/watcher"
)

// A root is the memory directory or a folder beside it, with its watcher, which passes
// changes to the pipeline. A folder has no writer, and cannot be read while it overlaps
// another one: the same text would have two kinds of readers.
type root struct {
	*vault.Vault
	folder    *memory.Root // nil: the memory directory
	config    config.Root
	pipeline  *pipeline
	watcher   *watcher.Watcher
	times     fileTimes
	templates atomic.Pointer[[]string] // directories of an Obsidian vault; nil before they are read
}

var (
	_ watcher.Disk = (*root)(nil)
	_ watcher.Sink = (*root)(nil)
)

// isMissing reports whether the root could not be read at the last scan, as while its
// disk is not mounted yet.
func (r *root) isMissing() bool { return r.watcher.Status().Root == watcher.RootMissing }

// isAway reports whether the root is a missing folder.
func (r *root) isAway() bool { return r.folder != nil && r.isMissing() }

// openRoots adds the configured folders, each with a vault and a watcher.
func (d *daemon) openRoots() {
	c := d.config
	for _, folder := range d.pipeline.layout.Roots {
		r := &root{folder: folder}
		for _, o := range c.Memory.Roots {
			if o.Problem == "" && o.Name == folder.Name {
				r.config = o
			}
		}
		r.Vault = &vault.Vault{Dir: r.config.Path, MaxFileSize: maxFileSize,
			Skip: func(path string) string {
				if r.isTemplate(path) {
					return "a template"
				}
				return r.config.SkipFile(path)
			},
			SkipDir: func(path string) string {
				if r.isTemplate(path) {
					return "templates"
				}
				return r.config.SkipDir(path)
			}}
		d.watch(r, d.logger.With("folder", folder.Name))
	}
}

// watch makes a root a part of the memory, with its watcher.
func (d *daemon) watch(r *root, logger *slog.Logger) {
	t := &d.config.Tuning
	r.pipeline, d.roots = d.pipeline, append(d.roots, r)
	d.pipeline.files.roots = d.roots
	r.watcher = &watcher.Watcher{
		Dir: r.Dir, Disk: r, Sink: r, CookieDir: cookieDir(d.config, r.folder), Logger: logger,
		Debounce: t.Settle, MaxWait: t.MaxWait, DeletionDelay: t.Vanish, Reconcile: t.Reconcile, Poll: t.Poll,
		GitChanged: func(since time.Time) bool { return vault.GitChanged(r.Dir, since) },
	}
}

func cookieDir(c *config.Config, r *memory.Root) string {
	if r == nil {
		return filepath.Join(c.StateDir, "cookies")
	}
	return filepath.Join(c.StateDir, "cookies-"+r.Name)
}

// files are the files of the memory directory and of the folders.
type files struct {
	layout *memory.Layout
	roots  []*root // the memory directory first
}

// find returns the root of a file, and the path below it.
func (f *files) find(path string) (r *root, below string) {
	folder, below := f.layout.CutRoot(path)
	i := slices.IndexFunc(f.roots, func(r *root) bool { return r.folder == folder })
	return f.roots[i], below
}

// Read is [vault.Vault.Read] for a file of any root. It reads nothing of a folder that
// overlaps another directory. The time of change is the one at which the content was
// written.
func (f *files) Read(path string) (vault.File, error) {
	r, below := f.find(path)
	if err := r.checkOverlap(); err != nil {
		return vault.File{Path: path}, err
	}
	file, err := r.Vault.Read(below)
	if err == nil {
		file.ModTime = r.times.written(file)
	}
	file.Path = path
	return file, err
}

// Known implements [watcher.Sink].
func (r *root) Known() iter.Seq2[string, disk.Stamp] {
	return func(yield func(string, disk.Stamp) bool) {
		for _, f := range r.pipeline.index.Files(nil) {
			if folder, below := r.pipeline.layout.CutRoot(f.Path); folder == r.folder && !yield(below, f.Stamp) {
				return
			}
		}
	}
}

// rootBatch is the number of files of a folder after which the changes of the memory
// directory and of other folders get their turn.
const rootBatch = 64

// Changed implements [watcher.Sink].
func (r *root) Changed(ctx context.Context, paths []string, why watcher.Reason) (retry []string, err error) {
	r.pipeline.listCommits(r, len(paths))
	if r.folder == nil {
		return r.pipeline.Changed(ctx, paths, why)
	}
	for batch := range slices.Chunk(paths, rootBatch) {
		batch = slices.Clone(batch)
		for i, below := range batch {
			batch[i] = r.folder.Path(below)
		}
		again, err := r.pipeline.Changed(ctx, batch, why)
		if err != nil {
			return nil, err
		}
		for _, path := range again {
			_, below := r.pipeline.layout.CutRoot(path)
			retry = append(retry, below)
		}
	}
	return retry, nil
}

// Root implements [watcher.Disk].
func (r *root) Root() (disk.FileID, error) {
	id, err := r.Vault.Root()
	if err == nil {
		err = r.checkOverlap()
	}
	if err != nil {
		return disk.FileID{}, err
	}
	return id, nil
}

// Walk implements [watcher.Disk]. It checks for an overlap, too, because the memory
// directory may be what has been moved to from.
func (r *root) Walk(ctx context.Context, from string, enter func(disk.Directory)) (*disk.Tree, error) {
	if err := r.checkOverlap(); err != nil {
		return nil, err
	}
	if r.config.Kind == "obsidian" && from == "" {
		// If no settings can be read now, the earlier ones keep their effect.
		if o := r.ReadObsidian(); len(o.Templates) > 0 || len(o.Problems) == 0 {
			r.templates.Store(&o.Templates)
		}
	}
	return r.Vault.Walk(ctx, from, enter)
}

// checkOverlap returns an error if a folder overlaps another one. It resolves all
// paths again, because each of the directories can be moved. While the memory
// directory cannot be resolved, it may be anywhere, also in the folder.
func (r *root) checkOverlap() error {
	if r.folder == nil {
		return nil
	}
	real, err := r.RealPath()
	if err != nil {
		return err
	}
	for i, o := range r.pipeline.files.roots {
		if o == r {
			continue
		}
		other, err := o.RealPath()
		if err != nil && i == 0 {
			return fmt.Errorf("%w: %s may overlap %s: %w", vault.ErrRoot, r.Dir, o.Dir, err)
		}
		if err != nil {
			other = o.Dir
		}
		if config.IsWithin(real, other) || config.IsWithin(other, real) {
			return fmt.Errorf("%w: %s overlaps %s", vault.ErrRoot, r.Dir, o.Dir)
		}
	}
	return nil
}

// isTemplate reports whether a path is that of the templates of an Obsidian vault, or
// below it.
func (r *root) isTemplate(path string) bool {
	if r.config.Kind != "obsidian" {
		return false
	}
	if folders := r.templates.Load(); folders != nil && len(*folders) > 0 {
		return slices.ContainsFunc(*folders, func(folder string) bool { return disk.Within(path, folder) })
	}
	top, _, _ := strings.Cut(path, "/")
	return strings.EqualFold(top, "templates")
}

// SyncRoots returns when the index contains everything that was saved in the named
// roots before the call. A root that cannot be read does not count.
func (d *daemon) SyncRoots(ctx context.Context, names []string) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, r := range d.roots[1:] {
		if slices.Contains(names, r.folder.Name) {
			group.Go(func() error { return r.watcher.Sync(ctx) })
		}
	}
	return group.Wait()
}

// syncAll is [daemon.Sync] and SyncRoots for all roots. It waits for the roots at most
// as long as given, because the memory must not depend on a slow file system.
func (d *daemon) syncAll(ctx context.Context, most time.Duration) error {
	if err := d.memory.watcher.Sync(ctx); err != nil {
		return err
	}
	var names []string
	for _, r := range d.roots[1:] {
		names = append(names, r.folder.Name)
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
	for _, r := range d.roots[1:] {
		if w := r.watcher.Status(); len(w.Warnings) > 0 {
			// The folder is not the memory directory that the error is named after.
			text := strings.ReplaceAll(strings.Join(w.Warnings, "; "), vault.ErrRoot.Error()+": ", "")
			add("", "root_unreadable", fmt.Sprintf("folder %s: %s", r.folder.Name, text))
		}
	}
}

func (d *daemon) rootStatus() (list []api.RootStatus) {
	for _, r := range d.roots[1:] {
		list = append(list, api.RootStatus{Name: r.folder.Name, Path: r.config.Path, Kind: r.config.Kind,
			State: rootState(r.watcher.Status()), Files: r.Catalogue.Len()})
	}
	return list
}

func (d *daemon) searchedRoots() (list []ops.Root) {
	for _, r := range d.roots[1:] {
		list = append(list, ops.Root{Root: r.folder, Weight: r.config.Weight, Missing: r.isMissing})
	}
	return list
}

// walkAll returns the files of the memory directory and of the folders, except those
// of missing folders.
func (d *daemon) walkAll(ctx context.Context) (*disk.Tree, error) {
	all := &disk.Tree{}
	for _, r := range d.roots {
		if r.isAway() {
			continue
		}
		tree, err := r.Walk(ctx, "", nil)
		if r.folder != nil && errors.Is(err, vault.ErrRoot) {
			continue // a problem of the folder
		}
		if err != nil {
			return nil, err
		}
		for _, f := range tree.Files {
			f.Path = r.folder.Path(f.Path)
			all.Files = append(all.Files, f)
		}
		if r.folder == nil {
			all.Skipped = tree.Skipped
		}
	}
	return all, nil
}
