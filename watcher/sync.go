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
	call, result := w.syncs, make(chan error, 1)
	for {
		var err error
		select {
		case call <- result:
			call = nil // the next case is the result
			continue
		case err = <-result:
		case <-w.stopped:
			err = errStopped
		case <-ctx.Done():
			err = ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("sync: %w", err)
		}
		return nil
	}
}

// runSyncs answers calls of Sync in rounds, one after the other, each until its barrier is
// sent. Calls that arrive during a round share the next one.
func (w *Watcher) runSyncs(ctx context.Context) {
	w.removeCookies()
	defer w.removeCookies()
	for {
		var calls []chan<- error
		select {
		case call := <-w.syncs:
			calls = append(calls, call)
		case <-ctx.Done():
			return
		}
		for waiting := true; waiting; {
			select {
			case call := <-w.syncs:
				calls = append(calls, call)
			default:
				waiting = false
			}
		}
		if w.catchUp(ctx) != nil {
			return
		}
		done := func(err error) {
			for _, call := range calls {
				call <- err
			}
		}
		select {
		case w.inject <- []hint{{barrier: &barrier{done: done}}}:
		case <-ctx.Done():
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

// A cookie is the entry in the cookie directory whose event runSyncs waits for.
type cookie struct {
	mu      sync.Mutex
	count   int           // of its names so far
	path    string        // its present name
	arrived chan struct{} // closed when the event of path arrives; nil if it is not awaited
}

// waitCookie gives the cookie a new name and waits for its event. All earlier events have
// arrived by then. It reports whether the event arrived.
func (w *Watcher) waitCookie(ctx context.Context) bool {
	arrived := make(chan struct{})
	c := &w.cookie
	c.mu.Lock()
	c.count++
	last := c.path
	next := filepath.Join(w.CookieDir, fmt.Sprintf("%s%d-%d", cookiePrefix, os.Getpid(), c.count))
	c.path, c.arrived = next, arrived
	c.mu.Unlock()
	// To rename an entry is faster than to create and remove one. A dangling symbolic
	// link needs no content blocks, so it works on a full disk.
	if os.Rename(last, next) != nil && os.Symlink("cookie", next) != nil {
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

// complete ends the wait for the cookie if it has a name, or any name if path is empty.
func (c *cookie) complete(path string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.arrived != nil && (path == "" || path == c.path) {
		close(c.arrived)
		c.arrived = nil
	}
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
