package vault

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/internal/disk"
	"github.com/memwatchd/memwatchd/vault/journal"
)

// Repair resolves the remains of a crash: pending changes in the journal, and
// temporary files. A version that is neither the old nor the new one of a
// change was written by another program. Repair puts that version back or, if
// there is a newer one, makes it a conflict copy. Changes that cannot be resolved
// yet are tried again later. No write is made before a successful repair: the
// first write repairs if necessary.
//
// The error is an [ErrRoot], or the context's.
func (w *Writer) Repair(ctx context.Context) error {
	_, err := withTimeout(ctx, w.Vault, func(ctx context.Context) (none struct{}, _ error) {
		return none, w.repairRoot(ctx, true)
	})
	return err
}

// repairRoot repairs the root. Without again, it does nothing after a repair that succeeded.
func (w *Writer) repairRoot(ctx context.Context, again bool) error {
	w.repair.Lock()
	defer w.repair.Unlock()
	if w.repaired && !again {
		return nil
	}
	found, empty, err := w.findTempFiles(ctx)
	if err != nil {
		return err
	}
	pending := w.Journal.Pending()
	if empty && len(pending) > 0 {
		return rootError(w.Vault.Dir, errEmpty)
	}
	w.repaired = true
	records := append(pending, w.Journal.List(time.Time{}, "", 0)...)
	for _, r := range records {
		dir, there := found[r.Temp]
		done := r.State != journal.StateIntent
		if done && !there {
			continue
		}
		if there { // its directory may have been renamed
			delete(found, r.Temp)
			_, base := cutLast(r.Path)
			r.Path = joinPath(dir, base)
		}
		err := w.settleNow(&leftover{record: r, decided: done, made: done, crashed: true})
		if err != nil {
			w.logger().Warn("cannot resolve an interrupted change, retrying later", "path", r.Path, "err", err)
		}
	}
	for name, dir := range found {
		path := joinPath(dir, name)
		if strings.HasSuffix(name, tempSuffix) {
			w.logger().Warn("a temporary file is of no known change; compare it with the files beside it, then remove it",
				"path", path)
		} else {
			w.inParent(path, func(s *dirEntry) error { return w.unlinkFile(s.dir, s.base) })
		}
	}
	return nil
}

// errEmpty reports a root without any files although changes are pending.
// Missing files then prove nothing about the changes. Most probably the disk is
// not mounted.
var errEmpty = errors.New("empty, but changes of its files are pending; mount the disk, or create a file in the " +
	"directory")

// findTempFiles returns the directories of drafts and temporary files by name. It
// reports whether nothing at all is below the root.
func (w *Writer) findTempFiles(ctx context.Context) (found map[string]string, empty bool, err error) {
	found, empty = map[string]string{}, true
	visit := func(dir string, e fs.DirEntry) {
		empty = false
		name := e.Name()
		if strings.HasPrefix(name, tempPrefix) && e.Type().IsRegular() &&
			(strings.HasSuffix(name, tempSuffix) || strings.HasSuffix(name, draftSuffix)) {
			found[name] = dir
		}
	}
	all := walk{vault: w.Vault, rules: w.Vault.currentRules(), visit: visit, tree: new(disk.Tree)}
	tree, err := all.readTree(ctx)
	// Where a directory cannot be read, the writer could not write either.
	return found, empty && err == nil && len(tree.Skipped) == 0, err
}
