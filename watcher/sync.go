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
	// cookieWait is how long a cookie may take, which takes some microseconds.
	// After that cookies are not to be relied on.
	cookieWait = time.Second
)

// errStopped: the watcher has stopped.
var errStopped = errors.New("watcher has stopped")

// syncs is the calls of Sync that are waiting. Those that come while a cookie
// is under way share the next one.
type syncs struct {
	wake chan struct{}

	mu      sync.Mutex
	next    *round // not yet begun
	stopped bool
	cookies map[string]chan struct{} // under way
	made    int
}

// A round is one or more calls of Sync that began before its cookie was made.
type round struct {
	done chan struct{}
	err  error // valid when done is closed
}

func (s *syncs) init() {
	s.wake = make(chan struct{}, 1)
	s.cookies = make(map[string]chan struct{})
}

// Sync returns when the sink has been given every change that was complete
// before the call. It does not wait for paths to be quiet. It waits for a
// vanished file until the file is believed gone, and for up to 50 ms until a
// changed file that is open for writing is closed. A file that stays open is
// not complete.
//
// The error is the context's, the sink's, or says that the watcher has stopped.
// Before Run is called, Sync waits for it.
func (w *Watcher) Sync(ctx context.Context) error {
	w.init()
	r := w.syncs.join()
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

// join returns the round that begins next.
func (s *syncs) join() *round {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == nil {
		s.next = &round{done: make(chan struct{})}
		if s.stopped {
			s.next.end(errStopped)
		}
		signal(s.wake)
	}
	return s.next
}

// take begins the round that is next.
func (s *syncs) take() *round {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.next
	s.next = nil
	return r
}

// end ends all rounds, those to come too.
func (s *syncs) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next != nil && !s.stopped {
		s.next.end(errStopped)
	}
	s.stopped = true
}

func (r *round) end(err error) {
	r.err = err
	close(r.done)
}

// syncer runs one round after the other up to its barrier.
func (w *Watcher) syncer(ctx context.Context) {
	w.removeCookies()
	for {
		select {
		case <-w.syncs.wake:
		case <-ctx.Done():
			return
		}
		r := w.syncs.take()
		if r == nil {
			continue
		}
		if err := w.catchUp(ctx); err != nil {
			r.end(errStopped)
			return
		}
		b := &barrier{done: r.end}
		select {
		case w.inject <- []mark{{barrier: b}}:
		case <-ctx.Done():
			r.end(errStopped)
			return
		}
	}
}

// catchUp returns when everything that happened before the call has been
// marked. The error is the context's.
func (w *Watcher) catchUp(ctx context.Context) error {
	cookie := w.watches.hasCookies() && w.cookie(ctx)
	w.checkRoot()
	// If events were lost, or nothing is known yet, a scan is under way.
	if err := w.scans.wait(ctx); err != nil {
		return err
	}
	if cookie {
		w.poll(ctx)
	} else {
		w.compareDir(ctx, "")
	}
	return ctx.Err()
}

// cookie makes a name in the cookies' directory, and waits for its event: all
// earlier ones have arrived by then.
func (w *Watcher) cookie(ctx context.Context) bool {
	name, arrived := w.syncs.bake()
	defer w.syncs.arrived(name)
	path := filepath.Join(w.CookieDir, name)
	// A link that leads nowhere is made and removed by one call each, and needs
	// no room for content on a full disk.
	if err := os.Symlink("cookie", path); err != nil {
		w.watches.lostCookies()
		return false
	}
	defer os.Remove(path)
	timer := time.NewTimer(cookieWait)
	defer timer.Stop()
	select {
	case <-arrived:
		return true
	case <-ctx.Done():
		return false
	case <-timer.C:
		return false
	}
}

// bake names a cookie and returns what is closed when it arrives.
func (s *syncs) bake() (string, chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made++
	name := fmt.Sprintf("%s%d-%d", cookiePrefix, os.Getpid(), s.made)
	arrived := make(chan struct{})
	s.cookies[name] = arrived
	return name, arrived
}

// arrived takes note of a cookie's event.
func (s *syncs) arrived(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c, ok := s.cookies[name]; ok {
		close(c)
		delete(s.cookies, name)
	}
}

// arrivedAll lets go of all cookies, whose events may be lost.
func (s *syncs) arrivedAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.cookies {
		close(c)
	}
	clear(s.cookies)
}

// removeCookies removes what a process left that was killed.
func (w *Watcher) removeCookies() {
	if w.CookieDir == "" {
		return
	}
	entries, err := os.ReadDir(w.CookieDir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), cookiePrefix) {
			os.Remove(filepath.Join(w.CookieDir, e.Name()))
		}
	}
}
