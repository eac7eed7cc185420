package watcher

import (
	"context"
	"errors"
	"strings"
	"sync"
	"syscall"

	"github.com/fsnotify/fsnotify"

	"github.com/memwatchd/memwatchd/memory"
)

// events turns notifier events into marks. It watches and reads a new directory
// at once, before the next event, so that the event of a later cookie follows
// every entry of the directory.
func (w *Watcher) events(ctx context.Context) {
	var events chan fsnotify.Event
	var group sync.WaitGroup
	defer group.Wait()
	buf := &buffer{}
	for {
		w.below(buf)
		var out chan []mark
		if len(buf.marks) > 0 {
			out = w.marks
		}
		select {
		case fsn := <-w.watches.opened:
			events = fsn.Events
			group.Go(func() { w.failures(ctx, fsn.Errors) })
		case ev, ok := <-events:
			if !ok {
				events = nil
				continue
			}
			w.event(ctx, buf, ev)
			for range len(events) { // drain the events that have already arrived
				w.event(ctx, buf, <-events)
			}
		case marks := <-w.inject:
			buf.marks = append(buf.marks, marks...)
		case out <- buf.marks:
			buf.marks = nil
		case <-ctx.Done():
			for _, m := range buf.marks {
				if m.barrier != nil {
					m.barrier.done(errStopped)
				}
			}
			return
		}
	}
}

// A buffer holds marks until the settler receives them.
type buffer struct {
	marks []mark
	moved map[string]bool // directories whose known files must all be rechecked
}

// event records one event. The kind of event matters little: a path that was
// renamed may still exist.
func (w *Watcher) event(ctx context.Context, buf *buffer, ev fsnotify.Event) {
	if name, ok := w.cookieName(ev.Name); ok {
		switch {
		case name == "" && (ev.Has(fsnotify.Remove) || ev.Has(fsnotify.Rename)):
			w.watches.lostCookies()
			w.syncs.arrivedAll()
		case name != "" && ev.Has(fsnotify.Create):
			// The failures goroutine must first process any overflow that
			// preceded this event.
			select {
			case w.heard <- struct{}{}:
			case <-ctx.Done():
			}
			w.syncs.arrived(name)
		}
		return
	}
	path, ok := w.watches.rel(ev.Name)
	switch {
	case !ok:
		return
	case path == "":
		w.scans.touched()
		return
	case path == memory.IgnoreFile:
		w.scans.request(false)
		return
	}
	switch {
	case ev.Has(fsnotify.Create), ev.Has(fsnotify.Rename):
		if w.watches.forget(path, true) {
			buf.move(path)
		}
		w.appeared(ctx, buf, path)
	case ev.Has(fsnotify.Remove):
		// The removed directory was empty, unless another directory had been
		// moved away from this path.
		if w.watches.forget(path, false) {
			buf.move(path)
			w.appeared(ctx, buf, path)
		}
	case ev.Has(fsnotify.Chmod) && w.watches.lostSight(path):
		w.scans.request(false) // its entries are no longer readable
	case ev.Has(fsnotify.Chmod) && !w.watches.covers(path):
		buf.move(path)
		w.appeared(ctx, buf, path) // it may be readable now
	}
	if w.Disk.Skips(path, false) == "" {
		buf.marks = append(buf.marks, mark{path: path, why: Event})
	}
}

// appeared watches and reads path dir if it is a directory.
func (w *Watcher) appeared(ctx context.Context, buf *buffer, dir string) {
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
		buf.marks = append(buf.marks, mark{path: f.Path, why: Event})
	}
}

// failures reads the notifier's errors. It must not block on anything else: the
// notifier holds its lock while it sends some of them.
func (w *Watcher) failures(ctx context.Context, failures <-chan error) {
	for {
		select {
		case err, ok := <-failures:
			if ok {
				w.lost(err)
			} else {
				failures = nil
			}
		case <-w.heard:
		case <-ctx.Done():
			return
		}
	}
}

// lost handles a notifier error. Unless err is harmless, lost requests a scan,
// because events may have been lost.
func (w *Watcher) lost(err error) {
	switch {
	case errors.Is(err, syscall.EINVAL):
		return // the watch to remove had already gone with its directory
	case !errors.Is(err, fsnotify.ErrEventOverflow):
		w.Logger.Warn("notifier failed, looking at every file", "err", err)
	case w.scans.overflowed():
		w.Logger.Warn("events were lost, looking at every file", "err", err)
	}
	w.scans.request(false)
	// The lost events may include those of cookies. The callers that wait for a
	// cookie then wait for the scan.
	w.syncs.arrivedAll()
}

// cookieName returns the name of an event inside the cookie directory, or ""
// for the directory itself, and reports whether the event belongs there.
func (w *Watcher) cookieName(name string) (string, bool) {
	rest, ok := strings.CutPrefix(name, w.CookieDir)
	if !ok || w.CookieDir == "" || rest != "" && rest[0] != '/' {
		return "", false
	}
	return strings.TrimPrefix(rest, "/"), true
}

// move records that a directory moved or changed identity, so that below
// rechecks the files known in it.
func (b *buffer) move(dir string) {
	if b.moved == nil {
		b.moved = make(map[string]bool)
	}
	b.moved[dir] = true
}

// below marks every known path below the directories that moved.
func (w *Watcher) below(buf *buffer) {
	for _, dir := range w.watches.met() {
		buf.move(dir)
	}
	if len(buf.moved) == 0 {
		return
	}
	moved := buf.moved
	buf.moved = nil
	among := func(inFlight []string) (paths []string) {
		add := func(path string) {
			if memory.WithinAny(path, moved) {
				paths = append(paths, path)
			}
		}
		for _, path := range inFlight {
			add(path)
		}
		for path := range w.Sink.Known() {
			add(path)
		}
		return paths
	}
	buf.marks = append(buf.marks, mark{why: Event, among: among})
}
