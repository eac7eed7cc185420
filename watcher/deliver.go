package watcher

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"time"
)

// quietly is the interval at which a repeated sink failure is logged.
const quietly = time.Minute

// failing holds the sink's last error and the time it was logged.
type failing struct {
	err  string
	when time.Time
}

// deliver passes a batch to the sink, unless hold keeps the batch back.
func (w *Watcher) deliver(ctx context.Context, b batch) ([]string, error) {
	if b.why == Gone {
		all, gone := 0, b.paths
		if len(b.paths) >= massive {
			gone = nil // only paths that the sink knows count
			for path := range w.Sink.Known() {
				all++
				if _, ok := slices.BinarySearch(b.paths, path); ok {
					gone = append(gone, path)
				}
			}
			slices.Sort(gone)
		}
		held, news := w.hold.check(time.Now(), gone, all, w.Reconcile)
		if news {
			w.Logger.Warn("many files are gone at once, nothing is forgotten until a second scan agrees",
				"gone", len(gone), "of", all, "after", w.Reconcile)
		}
		if held {
			return nil, nil
		}
	}
	w.watches.taking(b.paths)
	began := time.Now()
	again, err := w.Sink.Changed(ctx, b.paths, b.why)
	switch {
	case ctx.Err() != nil:
	case err == nil:
		w.failing = failing{}
	case w.failing.err != err.Error() || began.Sub(w.failing.when) >= quietly:
		w.failing = failing{err.Error(), began}
		w.Logger.Error("changes could not be taken over, trying again", "files", len(b.paths), "err", err)
	}
	w.Logger.Debug("changed", "why", b.why, "files", len(b.paths), "again", len(again), "took", time.Since(began))
	return again, err
}

// look reports the state of a path to the settler.
func (w *Watcher) look(path string) seen {
	switch open, err := w.Disk.Writing(path); {
	case errors.Is(err, fs.ErrNotExist):
		return gone
	case open:
		return writing
	}
	return ready
}
