package vault

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/memwatchd/memwatchd/vault/journal"
)

// Repair resolves the remains of a crash: pending changes in the journal, and
// temporary files. A version that is neither the old nor the new one of a
// change was written by another program. Repair puts that version back or, if
// there is a newer one, keeps it next to the file. [Writer.Run] retries changes
// that cannot be resolved yet. No write is made before a successful repair: the
// first write repairs if necessary.
//
// The error is an [ErrRoot], or the context's.
func (w *Writer) Repair(ctx context.Context) error {
	_, err := withSemaphore(ctx, w, func() (none struct{}, _ error) { return none, w.rechecks().repairRoot(ctx) })
	return err
}

func (w rechecks) repairRoot(ctx context.Context) error {
	found, empty, err := w.findTempFiles(ctx)
	if err != nil {
		return err
	}
	pending := w.Journal.Pending()
	if empty && len(pending) > 0 {
		return rootError(w.Vault.Dir, errEmpty)
	}
	w.repaired = true
	for _, r := range pending {
		path := r.Path
		if dir, ok := found[r.Temp]; ok {
			delete(found, r.Temp)
			path = siblingPath(dir, r.Path)
		}
		w.resumeChange(path, r, false)
	}
	if len(found) == 0 {
		return nil
	}
	for _, r := range w.Journal.List(time.Time{}, "", 0) {
		if dir, ok := found[r.Temp]; ok {
			delete(found, r.Temp)
			w.resumeChange(siblingPath(dir, r.Path), r, true)
		}
	}
	for _, temp := range slices.Sorted(maps.Keys(found)) {
		w.addConflictCopy(joinPath(found[temp], temp))
	}
	return nil
}

// errEmpty reports a root without any files although changes are pending.
// Missing files then prove nothing about the changes. Most probably the disk is
// not mounted.
var errEmpty = errors.New("empty, but changes of its files are pending; mount the disk, or create a file in the " +
	"directory")

// resumeChange resolves a change that began before the daemon started.
func (w rechecks) resumeChange(path string, r journal.Record, made bool) {
	r.Path = path
	if made, err := w.resolveChange(nil, r, made); err != nil {
		w.logger().Warn("cannot resolve an interrupted change, retrying later", "path", path, "err", err)
		w.scheduleRecheck(recheck{record: r, pause: recheckDelay, recorded: made, logged: true})
	}
}

// findTempFiles removes drafts and returns the directories of temporary files by
// name. It reports whether nothing at all is below the root.
func (w rechecks) findTempFiles(ctx context.Context) (found map[string]string, empty bool, err error) {
	root, err := w.Vault.openRoot()
	if err != nil {
		return nil, false, err
	}
	defer unix.Close(root)
	found, empty = map[string]string{}, true
	for todo := []string{""}; len(todo) > 0; {
		if err := ctx.Err(); err != nil {
			return nil, false, err
		}
		w.Vault.steps.next(w.step)
		dir := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		fd, err := openDir(root, dir, unix.O_RDONLY)
		if isFileLimit(err) {
			return nil, false, rootError(w.Vault.Dir, err)
		}
		if err != nil {
			continue // the writer cannot write there either
		}
		f := os.NewFile(uintptr(fd), dir)
		entries, _ := f.ReadDir(-1)
		empty = empty && len(entries) == 0
		for _, e := range entries {
			name := e.Name()
			switch {
			case e.IsDir() && w.Vault.Skips(joinPath(dir, name), true) == "":
				todo = append(todo, joinPath(dir, name))
			case !strings.HasPrefix(name, tempPrefix) || !e.Type().IsRegular():
			case strings.HasSuffix(name, stagingSuffix):
				if err := w.unlinkFile(fd, name); err != nil {
					w.logger().Warn("cannot remove a temporary file", "path", joinPath(dir, name), "err", err)
				}
			case strings.HasSuffix(name, tempSuffix):
				found[name] = dir
			}
		}
		f.Close()
	}
	return found, empty, nil
}

func joinPath(dir, base string) string {
	if dir == "" {
		return base
	}
	return dir + "/" + base
}

// siblingPath returns the path of a file of the same name in another directory.
func siblingPath(dir, path string) string {
	_, base := cutLast(path)
	return joinPath(dir, base)
}
