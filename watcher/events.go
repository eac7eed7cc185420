package watcher

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/fsnotify/fsnotify"

	"github.com/memwatchd/memwatchd/internal/disk"
)

// forwardEvents turns notifier events into marks. It watches and reads a new directory
// at once, before the next event, so that the event of a later cookie follows
// every entry of the directory.
func (w *Watcher) forwardEvents(ctx context.Context) {
	var events chan fsnotify.Event
	buf := &hintBuffer{}
	for {
		w.hintMoved(buf)
		var out chan []hint
		if len(buf.hints) > 0 {
			out = w.hints
		}
		select {
		case fsn := <-w.watches.opened:
			events = fsn.Events
		case ev, ok := <-events:
			if !ok {
				events = nil
				continue
			}
			w.handleEvent(ctx, buf, ev)
			for range len(events) { // drain the events that have already arrived
				w.handleEvent(ctx, buf, <-events)
			}
		case marks := <-w.inject:
			buf.hints = append(buf.hints, marks...)
		case out <- buf.hints:
			buf.hints = nil
		case <-ctx.Done():
			return
		}
	}
}

// A hintBuffer holds marks until the debouncer receives them.
type hintBuffer struct {
	hints []hint
	moved map[string]bool // directories whose known files must all be rechecked
}

// handleEvent records one event. The kind of event matters little: a path that was
// renamed may still exist.
func (w *Watcher) handleEvent(ctx context.Context, buf *hintBuffer, ev fsnotify.Event) {
	path, ok := w.watches.relPath(ev.Name)
	switch {
	case ev.Name == w.CookieDir:
		if ev.Has(fsnotify.Remove) || ev.Has(fsnotify.Rename) {
			w.watches.disableCookies()
			w.cookie.complete("")
		}
		return
	case filepath.Dir(ev.Name) == w.CookieDir:
		if ev.Has(fsnotify.Create) {
			// readErrors must first process any overflow that preceded this event.
			select {
			case w.errorsRead <- struct{}{}:
			case <-ctx.Done():
			}
			w.cookie.complete(ev.Name)
		}
		return
	case !ok:
		return
	case path == "":
		w.scans.requestRootCheck()
		return
	case path == disk.IgnoreFile:
		w.scans.requestScan(false)
		return
	}
	switch {
	case ev.Has(fsnotify.Create), ev.Has(fsnotify.Rename):
		if w.watches.removeRecord(path, true) {
			buf.addMoved(path)
		}
		w.readNewDir(ctx, buf, path)
	case ev.Has(fsnotify.Remove):
		// The removed directory was empty, unless another directory had been
		// moved away from this path.
		if w.watches.removeRecord(path, false) {
			buf.addMoved(path)
			w.readNewDir(ctx, buf, path)
		}
	case ev.Has(fsnotify.Chmod) && w.watches.isUnreadable(path):
		w.scans.requestScan(false) // its entries are no longer readable
	case ev.Has(fsnotify.Chmod) && !w.watches.isCovered(path):
		buf.addMoved(path)
		w.readNewDir(ctx, buf, path) // it may be readable now
	}
	if w.Disk.Skips(path, false) == "" {
		buf.hints = append(buf.hints, hint{path: path, reason: Event})
	}
}

// readNewDir watches and reads path dir if it is a directory.
func (w *Watcher) readNewDir(ctx context.Context, buf *hintBuffer, dir string) {
	if w.Disk.Skips(dir, true) != "" {
		return
	}
	if _, ok := w.Disk.Directory(dir); !ok {
		return
	}
	tree := w.walk(ctx, dir)
	if tree == nil {
		return
	}
	for _, f := range tree.Files {
		buf.hints = append(buf.hints, hint{path: f.Path, reason: Event})
	}
}

// readErrors reads the errors of the present notifier. It must not block on anything
// else, nor depend on a goroutine that can: the notifier holds its lock while it
// sends some of them, and a walk that adds watches waits for that lock.
func (w *Watcher) readErrors(ctx context.Context) {
	var failures <-chan error
	for {
		select {
		case failures = <-w.watches.failures:
		case err, ok := <-failures:
			if ok {
				w.handleError(err)
			} else {
				failures = nil
			}
		case <-w.errorsRead:
		case <-ctx.Done():
			return
		}
	}
}

// handleError handles a notifier error. Unless err is harmless, handleError requests a scan,
// because events may have been lost.
func (w *Watcher) handleError(err error) {
	switch {
	case errors.Is(err, syscall.EINVAL):
		return // the watch to remove had already gone with its directory
	case !errors.Is(err, fsnotify.ErrEventOverflow):
		w.Logger.Warn("notifier failed, scanning all files", "err", err)
	case w.scans.countOverflow():
		w.Logger.Warn("events were lost, scanning all files", "err", err)
	}
	w.scans.requestScan(false)
	// The lost events may include those of cookies. The callers that wait for a
	// cookie then wait for the scan.
	w.cookie.complete("")
}

// addMoved records that a directory moved or changed identity, so that hintMoved rechecks the files known in it.
func (b *hintBuffer) addMoved(dir string) {
	if b.moved == nil {
		b.moved = make(map[string]bool)
	}
	b.moved[dir] = true
}

// hintMoved marks every known path below the directories that moved.
func (w *Watcher) hintMoved(buf *hintBuffer) {
	for _, dir := range w.watches.takeMoved() {
		buf.addMoved(dir)
	}
	if len(buf.moved) == 0 {
		return
	}
	moved := buf.moved
	buf.moved = nil
	among := func(inFlight []string) []string {
		outside := func(path string) bool { return !disk.WithinAny(path, moved) }
		paths := slices.DeleteFunc(slices.Clone(inFlight), outside)
		for path := range w.Sink.Known() {
			if !outside(path) {
				paths = append(paths, path)
			}
		}
		return paths
	}
	buf.hints = append(buf.hints, hint{reason: Event, expand: among})
}
