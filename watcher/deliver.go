package watcher

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"sync"
	"time"
)

// deliverBatch passes a batch to the sink, unless hold keeps the batch back.
func (w *Watcher) deliverBatch(ctx context.Context, b batch) ([]string, error) {
	if b.reason == Gone {
		all, gone, onPurpose := 0, b.paths, false
		if len(b.paths) >= minHold {
			onPurpose = w.GitChanged != nil && w.GitChanged(w.hold.lastWhole())
			gone = nil // only paths that the sink knows count
			for path := range w.Sink.Known() {
				all++
				if _, ok := slices.BinarySearch(b.paths, path); ok {
					gone = append(gone, path)
				}
			}
			slices.Sort(gone)
		}
		held, started := w.hold.holdMissing(time.Now(), gone, all, w.Reconcile, onPurpose)
		if started {
			w.Logger.Warn("many files disappeared at once, keeping their entries until a second scan",
				"gone", len(gone), "of", all, "after", w.Reconcile)
		}
		if held {
			return nil, nil
		}
	}
	w.watches.recordDelivery(b.paths)
	began := time.Now()
	retry, err := w.Sink.Changed(ctx, b.paths, b.reason)
	switch {
	case ctx.Err() != nil:
	case err == nil:
		w.sinkFailure = ""
	case w.sinkFailure != err.Error():
		w.sinkFailure = err.Error()
		w.Logger.Error("cannot process changes, retrying", "files", len(b.paths), "err", err)
	}
	w.Logger.Debug("changed", "why", b.reason, "files", len(b.paths), "again", len(retry), "took", time.Since(began))
	return retry, err
}

func (w *Watcher) checkState(path string) pathState {
	switch open, err := w.Disk.Writing(path); {
	case errors.Is(err, fs.ErrNotExist):
		return pathGone
	case open:
		return pathWriting
	}
	return pathReady
}

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
