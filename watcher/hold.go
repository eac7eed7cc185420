package watcher

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// massive is the number of files that, if it is half of all, is a disk that was
// unmounted rather than files that were deleted, until a second scan agrees.
const massive = 20

// hold keeps back what seems to be gone because a disk is.
type hold struct {
	mu    sync.Mutex
	paths map[string]bool
	since time.Time
	scan  time.Time // when the last scan of everything began
}

// scanned takes note of a scan of everything and of what it did not find. What
// it did find is not held any more; scanned returns how many files were, if that
// ends the hold.
func (h *hold) scanned(began time.Time, gone []string) (back int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.scan = began
	held := len(h.paths)
	maps.DeleteFunc(h.paths, func(path string, _ bool) bool {
		_, still := slices.BinarySearch(gone, path)
		return !still
	})
	if len(h.paths) > 0 {
		return 0
	}
	return held
}

// due reports whether it is time for the second scan.
func (h *hold) due(now time.Time, after time.Duration) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.paths) > 0 && now.Sub(h.since) >= after && h.scan.Sub(h.since) < after
}

// len is how many files are held.
func (h *hold) len() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.paths)
}

// check decides about files that are gone, of all that are known: whether they
// are held, and whether that is new. A scan agrees if it began some time after
// they were first missed.
func (h *hold) check(now time.Time, gone []string, all int, after time.Duration) (held, news bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	agreed := len(h.paths) > 0 && h.scan.Sub(h.since) >= after
	if agreed || len(gone) < massive || 2*len(gone) < all {
		for _, path := range gone {
			delete(h.paths, path)
		}
		return false, false
	}
	if news = len(h.paths) == 0; news {
		h.paths = make(map[string]bool)
		h.since = now
	}
	for _, path := range gone {
		h.paths[path] = true
	}
	return true, news
}
