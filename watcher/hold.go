package watcher

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// minHold is the smallest number of missing files that can trigger a hold. If
// at least massive files, and at least half of all known files, are missing, a
// disk was probably unmounted, so they count as deleted only once a second scan
// agrees.
const minHold = 20

// hold keeps back the paths that are probably missing because a disk was
// unmounted.
type hold struct {
	mu    sync.Mutex
	paths map[string]bool
	since time.Time
	scan  time.Time // start of the last full scan
	whole time.Time // start of the last full scan that missed no file
}

// releaseFound records the start of a full scan and the sorted paths it did not
// find. It releases the held paths that the scan found. If that ends the hold,
// releaseFound returns the number of paths that were held, otherwise 0.
func (h *hold) releaseFound(began time.Time, gone []string) (released int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.scan = began
	if len(gone) == 0 {
		h.whole = began
	}
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

func (h *hold) secondScanDue(now time.Time, after time.Duration) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.paths) > 0 && now.Sub(h.since) >= after && h.scan.Sub(h.since) < after
}

// lastWhole returns the start of the last full scan that missed no file.
func (h *hold) lastWhole() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.whole
}

func (h *hold) len() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.paths)
}

// holdMissing decides whether to hold the missing files in gone, where all is
// the number of known files. It returns held as true for files that must be
// held, and started as true if they start a hold. A scan confirms that files
// are gone if it began at least after past the start of the hold. Files that were
// removed on purpose are not held.
func (h *hold) holdMissing(now time.Time, gone []string, all int, after time.Duration, onPurpose bool) (held,
	started bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	agreed := onPurpose || len(h.paths) > 0 && h.scan.Sub(h.since) >= after
	if agreed || len(gone) < minHold || 2*len(gone) < all {
		for _, path := range gone {
			delete(h.paths, path)
		}
		return false, false
	}
	started = len(h.paths) == 0
	if started {
		h.paths = make(map[string]bool)
		h.since = now
	}
	for _, path := range gone {
		h.paths[path] = true
	}
	return true, started
}
