package watcher

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

const (
	// cookiePrefix begins the name of every cookie.
	cookiePrefix = "cookie-"
	// cookieWait limits the time a cookie may take; its event normally takes
	// some microseconds. After a timeout Sync compares every file instead.
	cookieWait = time.Second
)

// errStopped is the error of a Sync after the watcher has stopped.
var errStopped = errors.New("watcher has stopped")

// syncs holds the pending calls of Sync. Calls that arrive while a cookie is
// pending share the next cookie.
type syncs struct {
	wake chan struct{}

	mu          sync.Mutex
	next        *syncRound // not started
	stopped     bool
	cookies     map[string]chan struct{} // pending cookies, by name
	cookieCount int
}

// A syncRound is one or more calls of Sync that began before the round's cookie was
// created.
type syncRound struct {
	done chan struct{}
	err  error // valid when done is closed
}

// Sync blocks until the sink has received every change that was complete before
// the call. It skips the debounce of paths. It waits for a missing file until
// the file counts as gone, and for up to 50 ms until a changed file that is
// open for writing is closed. A file that stays open is not complete.
//
// A nil error means that the sink has received these changes, except files that
// it has returned several times, such as unreadable ones, and a deletion of many
// files that awaits a second scan. Otherwise the error is that of the context or
// the sink, or reports that the watcher has stopped. A call before Run waits for
// Run.
func (w *Watcher) Sync(ctx context.Context) error {
	w.init()
	r := w.syncs.joinNext()
	select {
	case <-r.done:
		if r.err != nil {
			return fmt.Errorf("sync: %w", r.err)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("sync: %w", ctx.Err())
	}
}

func (s *syncs) joinNext() *syncRound {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == nil {
		s.next = &syncRound{done: make(chan struct{})}
		if s.stopped {
			s.next.end(errStopped)
		}
		notify(s.wake)
	}
	return s.next
}

// takeNext starts the next round and returns it, or returns nil if there is none.
func (s *syncs) takeNext() *syncRound {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.next
	s.next = nil
	return r
}

// stopAll ends the next round and all later ones with errStopped.
func (s *syncs) stopAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next != nil && !s.stopped {
		s.next.end(errStopped)
	}
	s.stopped = true
}

func (r *syncRound) end(err error) {
	r.err = err
	close(r.done)
}

// runSyncs runs the rounds one after the other, each until its barrier is sent.
func (w *Watcher) runSyncs(ctx context.Context) {
	w.removeCookies()
	defer w.removeCookies()
	for {
		select {
		case <-w.syncs.wake:
		case <-ctx.Done():
			return
		}
		r := w.syncs.takeNext()
		if r == nil {
			continue
		}
		if err := w.catchUp(ctx); err != nil {
			r.end(errStopped)
			return
		}
		b := &barrier{done: r.end}
		select {
		case w.inject <- []hint{{barrier: b}}:
		case <-ctx.Done():
			r.end(errStopped)
			return
		}
	}
}

// catchUp blocks until everything that happened before the call has been
// marked. It returns only the context's error.
func (w *Watcher) catchUp(ctx context.Context) error {
	cookie := w.watches.hasCookies() && w.waitCookie(ctx)
	w.checkRoot()
	// If events were lost, or no scan has finished yet, a scan is pending.
	if err := w.scans.waitRequested(ctx); err != nil {
		return err
	}
	if w.scans.usesOldRules() {
		w.scans.requestScan(false)
		if err := w.scans.waitRequested(ctx); err != nil {
			return err
		}
	}
	if cookie {
		w.pollUnwatched(ctx)
	} else {
		w.compareDir(ctx, "")
	}
	return ctx.Err()
}

// waitCookie gives the entry in the cookie directory a new name and waits for its event.
// All earlier events have arrived by then. It reports whether the event arrived.
func (w *Watcher) waitCookie(ctx context.Context) bool {
	name, arrived := w.syncs.newCookie()
	defer w.syncs.completeCookie(name)
	last := w.cookie
	w.cookie = filepath.Join(w.CookieDir, name)
	// To rename an entry is faster than to create and remove one. A dangling symbolic
	// link needs no content blocks, so it works on a full disk.
	if os.Rename(last, w.cookie) != nil && os.Symlink("cookie", w.cookie) != nil {
		w.watches.disableCookies()
		return false
	}
	select {
	case <-arrived:
		return true
	case <-ctx.Done():
		return false
	case <-time.After(cookieWait):
		return false
	}
}

// newCookie returns the name of a new cookie and a channel that is closed when the
// cookie's event arrives.
func (s *syncs) newCookie() (string, chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cookieCount++
	name := fmt.Sprintf("%s%d-%d", cookiePrefix, os.Getpid(), s.cookieCount)
	arrived := make(chan struct{})
	s.cookies[name] = arrived
	return name, arrived
}

func (s *syncs) completeCookie(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c, ok := s.cookies[name]; ok {
		close(c)
		delete(s.cookies, name)
	}
}

// completeAllCookies completes all pending cookies, because their events may be lost.
func (s *syncs) completeAllCookies() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.cookies {
		close(c)
	}
	clear(s.cookies)
}

// removeCookies removes the cookies of this process, or those left by a killed one.
func (w *Watcher) removeCookies() {
	entries, _ := os.ReadDir(w.CookieDir) // a later cookie reports the error
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), cookiePrefix) {
			os.Remove(filepath.Join(w.CookieDir, e.Name()))
		}
	}
}
