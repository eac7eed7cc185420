package vault

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/memwatchd/memwatchd/internal/disk"
)

// maxWalkers is the number of directories read concurrently. More gain nothing
// even on a disk with a queue; fewer leave such a disk idle.
const maxWalkers = 4

// entriesPerRead is the number of directory entries read per step.
const entriesPerRead = 1000

// Walk observes every file below the directory from ("" is the root) and stores
// the results in the catalogue. If from is missing or excluded, the tree is
// empty. The error is an [ErrRoot] or the context's. The tree lists errors
// below the root, which do not stop the walk, except that too many open files
// do.
//
// If enter is not nil, Walk calls it with each directory before reading its
// entries, from several goroutines at once. If enter starts a watch on the
// directory, the watch reports every change that the walk misses.
//
// A walk of the whole root reads the ignore file first.
func (v *Vault) Walk(ctx context.Context, from string, enter func(disk.Directory)) (*disk.Tree, error) {
	began := v.Catalogue.beginWalk()
	tree, err := v.walkTree(ctx, from, enter)
	v.Catalogue.endWalk(began, tree)
	return tree, err
}

// walkTree reads the directories below from. At the root it reads the ignore file first, and
// fails if there are no rules at all.
func (v *Vault) walkTree(ctx context.Context, from string, enter func(disk.Directory)) (*disk.Tree, error) {
	tree := &disk.Tree{From: from}
	w := walk{vault: v, enter: enter, tree: tree}
	if from == "" {
		var err error
		w.rules, err = v.loadRules()
		if w.rules == nil && !errors.Is(err, ErrRoot) {
			err = rootError(v.Dir, fmt.Errorf("cannot read %s: %w; it must be a regular file "+
				"that the daemon can read", disk.IgnoreFile, err))
		}
		if w.rules == nil {
			return nil, err
		}
		if err != nil {
			addSkipped(tree, disk.IgnoreFile, err)
			tree.OldRules = errors.Is(err, ErrChanging)
		}
	} else {
		w.rules = v.currentRules()
		if v.Skips(from, true) != "" {
			return tree, nil
		}
	}
	return w.readTree(ctx)
}

// A walk is the state shared by the goroutines of Walk.
type walk struct {
	vault *Vault
	root  int
	rules *rules
	enter func(disk.Directory)
	visit func(dir string, e fs.DirEntry) // called with all entries instead of observing files, if not nil
	group *errgroup.Group
	ctx   context.Context // ends with the first error

	mu   sync.Mutex
	tree *disk.Tree
}

// readTree reads the directory of the tree and all below it.
func (w *walk) readTree(ctx context.Context) (*disk.Tree, error) {
	_, err := withTimeout(ctx, w.vault, func(ctx context.Context) (none struct{}, _ error) {
		err := w.vault.runStep(func() (err error) { w.root, err = w.vault.openRoot(); return err })
		if err != nil {
			return none, err
		}
		defer unix.Close(w.root)
		w.group, w.ctx = errgroup.WithContext(ctx)
		w.group.SetLimit(maxWalkers)
		w.group.Go(func() error { return w.visitDir(w.tree.From) })
		return none, w.group.Wait()
	})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	slices.SortFunc(w.tree.Files, foundByPath)
	slices.SortFunc(w.tree.Skipped, skippedByPath)
	return w.tree, nil
}

// visitDir reads a directory and all below it, with other goroutines if there are
// not too many.
func (w *walk) visitDir(dir string) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	var part disk.Tree
	found, err := w.readDir(dir, &part)
	if err != nil {
		return err
	}
	w.mu.Lock()
	w.tree.Files = append(w.tree.Files, part.Files...)
	w.tree.Skipped = append(w.tree.Skipped, part.Skipped...)
	w.tree.Failed = w.tree.Failed || part.Failed
	w.mu.Unlock()
	for _, path := range found {
		visit := func() error { return w.visitDir(path) }
		if w.group.TryGo(visit) {
			continue
		}
		if err := visit(); err != nil {
			return err
		}
	}
	return nil
}

// readDir observes the entries of one directory and returns its subdirectories.
func (w *walk) readDir(dir string, tree *disk.Tree) (found []string, err error) {
	e := w.vault.steps.begin()
	defer func() { w.vault.steps.end(e) }()
	fd, err := openDir(w.root, dir, unix.O_RDONLY)
	if isFileLimit(err) {
		return nil, rootError(w.vault.Dir, err)
	}
	if err != nil {
		addSkipped(tree, dir, err)
		return nil, nil
	}
	// os.File provides ReadDir and takes ownership of fd. The name is used only if the file
	// system reports no types of entries.
	f := os.NewFile(uintptr(fd), filepath.Join(w.vault.Dir, dir))
	defer f.Close()
	if w.enter != nil {
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			addSkipped(tree, dir, err)
			return nil, nil
		}
		w.enter(disk.Directory{Path: dir, ID: fileID(&st)})
	}
	for {
		entries, err := f.ReadDir(entriesPerRead)
		for _, entry := range entries {
			w.vault.steps.end(e)
			e = w.vault.steps.begin()
			if path := w.visitEntry(fd, dir, entry, tree); path != "" {
				found = append(found, path)
			}
		}
		if err == io.EOF {
			return found, nil
		}
		if err != nil {
			addSkipped(tree, dir, err)
			return found, nil
		}
	}
}

// visitEntry observes one entry of the open directory fd. It returns the path if the
// entry is a directory to be read.
func (w *walk) visitEntry(fd int, dir string, e fs.DirEntry, tree *disk.Tree) string {
	path := joinPath(dir, e.Name())
	if w.visit != nil {
		w.mu.Lock()
		w.visit(dir, e)
		w.mu.Unlock()
	}
	switch {
	case e.IsDir():
		if w.vault.skipDir(path, w.rules) != "" {
			return ""
		}
		if isMarkdown(path) {
			tree.Skipped = append(tree.Skipped, disk.Skipped{Path: path, Reason: "directory"})
		}
		return path
	case w.visit != nil:
	case isMarkdown(path):
		w.visitFile(fd, path, e.Name(), tree)
	case e.Type() == fs.ModeSymlink && e.Name()[0] != '.':
		tree.Skipped = append(tree.Skipped, disk.Skipped{Path: path, Reason: ErrSymlink.Error()})
	}
	return ""
}

func (w *walk) visitFile(fd int, path, base string, tree *disk.Tree) {
	if reason := w.vault.skipFile(path, w.rules); reason != "" {
		tree.Skipped = append(tree.Skipped, disk.Skipped{Path: path, Reason: reason})
		return
	}
	st, err := w.vault.lstat(fd, base)
	if err != nil {
		addSkipped(tree, path, err)
		return
	}
	tree.Files = append(tree.Files, disk.FoundFile{Path: path, Stamp: stampOf(st)})
}

// addSkipped adds an unreadable path and its reason to the tree. It ignores a path
// that has vanished.
func addSkipped(tree *disk.Tree, path string, err error) {
	if reason := reasonOf(err); reason != "" {
		tree.Skipped = append(tree.Skipped, disk.Skipped{Path: path, Reason: reason, Unseen: !Absent(err)})
		tree.Failed = tree.Failed || !Absent(err) && !errors.Is(err, fs.ErrPermission)
	}
}
