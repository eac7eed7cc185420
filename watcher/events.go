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

// events turns what the notifier says into marks. A directory that appears is
// watched and read at once, before the next event, so that a cookie that
// arrives later is later than everything in it.
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
			for range len(events) { // what has arrived already
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

// A buffer holds marks until the settler takes them.
type buffer struct {
	marks []mark
	moved map[string]bool // directories below which everything that is known must be looked at
}

// event takes note of one event. What kind it is matters little: a file that
// was renamed may exist.
func (w *Watcher) event(ctx context.Context, buf *buffer, ev fsnotify.Event) {
	if name, ok := w.cookieName(ev.Name); ok {
		switch {
		case name == "" && (ev.Has(fsnotify.Remove) || ev.Has(fsnotify.Rename)):
			w.watches.lostCookies()
			w.syncs.arrivedAll()
		case name != "" && ev.Has(fsnotify.Create):
			// If events were lost before this one, that has been heard of now.
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
		// It was empty; unless it was another one, that had been moved away.
		if w.watches.forget(path, false) {
			buf.move(path)
			w.appeared(ctx, buf, path)
		}
	case ev.Has(fsnotify.Chmod) && w.watches.lostSight(path):
		w.scans.request(false) // what is in it can be read no longer
	case ev.Has(fsnotify.Chmod) && !w.watches.covers(path):
		buf.move(path)
		w.appeared(ctx, buf, path) // it may be readable now
	}
	if w.Disk.Skips(path, false) == "" {
		buf.marks = append(buf.marks, mark{path: path, why: Event})
	}
}

// appeared watches and reads what may be a directory.
func (w *Watcher) appeared(ctx context.Context, buf *buffer, dir string) {
	if w.Disk.Skips(dir, true) != "" {
		return
	}
	if _, ok := w.Disk.Directory(dir); !ok {
		return
	}
	tree, err := w.Disk.Walk(ctx, dir, w.watches.enter)
	if err != nil {
		w.unseen(err)
		return
	}
	if tree.Failed {
		w.scans.miss()
	}
	for _, f := range tree.Files {
		buf.marks = append(buf.marks, mark{path: f.Path, why: Event})
	}
}

// failures reads the notifier's errors. It must not wait for anything: the
// notifier holds its lock while it tells of some of them.
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

// lost is told that events were lost.
func (w *Watcher) lost(err error) {
	switch {
	case errors.Is(err, syscall.EINVAL):
		return // a watch that was to be removed was gone with its directory
	case !errors.Is(err, fsnotify.ErrEventOverflow):
		w.Logger.Warn("notifier failed, looking at every file", "err", err)
	case w.scans.overflowed():
		w.Logger.Warn("events were lost, looking at every file", "err", err)
	}
	w.scans.request(false)
	// Cookies may be among what was lost. Who waits for one waits for the scan.
	w.syncs.arrivedAll()
}

// cookieName is the name in the cookies' directory of an event, "" for the
// directory itself.
func (w *Watcher) cookieName(name string) (string, bool) {
	rest, ok := strings.CutPrefix(name, w.CookieDir)
	if !ok || w.CookieDir == "" || rest != "" && rest[0] != '/' {
		return "", false
	}
	return strings.TrimPrefix(rest, "/"), true
}

// move notes that a directory is not what it was.
func (b *buffer) move(dir string) {
	if b.moved == nil {
		b.moved = make(map[string]bool)
	}
	b.moved[dir] = true
}

// below marks everything that is known below the directories that moved.
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
			if withinAny(path, moved) {
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
