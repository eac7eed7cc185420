package watcher

import (
	"context"
	"errors"
	"io/fs"
	"slices"
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
