package vault

import (
	"context"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Repair settles what a crash has left: changes of which the journal does not know
// whether they have happened, and temporary files. What is neither the old nor
// the new version of a change was written by others: it is put where it belongs,
// or, if there is something newer, kept beside it. It is called before anything
// is written; what cannot be settled yet is tried again by [Writer.Run].
//
// The error is an [ErrRoot], or the context's.
func (w *Writer) Repair(ctx context.Context) error {
	_, err := inTurn(ctx, w, func() (none struct{}, _ error) { return none, w.repair(ctx) })
	return err
}

func (w *Writer) repair(ctx context.Context) error {
	found, err := w.leftovers(ctx)
	if err != nil {
		return err
	}
	for _, r := range w.Journal.Pending() {
		path := r.Path
		if dir, ok := found[r.Temp]; ok {
			delete(found, r.Temp)
			path = beside(dir, r.Path)
		}
		w.resume(path, r, false)
	}
	if len(found) == 0 {
		return nil
	}
	for _, r := range w.Journal.List(time.Time{}, "", 0) {
		if dir, ok := found[r.Temp]; ok {
			delete(found, r.Temp)
			w.resume(beside(dir, r.Path), r, true)
		}
	}
	for _, temp := range slices.Sorted(maps.Keys(found)) {
		w.kept(joinPath(found[temp], temp))
	}
	return nil
}

// resume settles a change that was begun before the daemon was started.
func (w *Writer) resume(path string, r Record, made bool) {
	r.Path = path
	if _, err := w.settle(nil, r, made); err != nil {
		w.logger().Warn("a change that was interrupted cannot be settled yet", "path", path, "err", err)
		w.lookLater(lateLook{record: r, pause: lateAfter, made: made})
	}
}

// leftovers removes drafts, and finds the directories of other temporary files by
// their names.
func (w *Writer) leftovers(ctx context.Context) (map[string]string, error) {
	root, err := w.Vault.openRoot()
	if err != nil {
		return nil, err
	}
	defer unix.Close(root)
	found := map[string]string{}
	for todo := []string{""}; len(todo) > 0; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		w.Vault.steps.next(w.step)
		dir := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		fd, err := openDir(root, dir, unix.O_RDONLY)
		if exhausted(err) {
			return nil, rootError(w.Vault.Dir, err)
		}
		if err != nil {
			continue // nothing is written there, either
		}
		f := os.NewFile(uintptr(fd), dir)
		entries, _ := f.ReadDir(-1)
		for _, e := range entries {
			name := e.Name()
			switch {
			case e.IsDir() && w.Vault.Skips(joinPath(dir, name), true) == "":
				todo = append(todo, joinPath(dir, name))
			case !strings.HasPrefix(name, tempPrefix) || !e.Type().IsRegular():
			case strings.HasSuffix(name, draftSuffix):
				if err := w.discard(fd, name); err != nil {
					w.logger().Warn("a temporary file cannot be removed", "path", joinPath(dir, name), "err", err)
				}
			case strings.HasSuffix(name, tempEnding):
				found[name] = dir
			}
		}
		f.Close()
	}
	return found, nil
}

func joinPath(dir, base string) string {
	if dir == "" {
		return base
	}
	return dir + "/" + base
}

// beside is the path of a file of the same name in another directory.
func beside(dir, path string) string {
	_, base, _ := cutLast(path)
	return joinPath(dir, base)
}
