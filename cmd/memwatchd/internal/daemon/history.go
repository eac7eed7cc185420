package daemon

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
	"github.com/memwatchd/memwatchd/vault/journal"
)

const (
	// historyDelay lets the index take changed files first. It begins again while more
	// files change, up to maxHistoryDelay.
	historyDelay    = 100 * time.Millisecond
	maxHistoryDelay = 30 * time.Second

	// maxHistoryBytes bounds the versions on the disk; the oldest are deleted first.
	maxHistoryBytes = 256 << 20
)

// A history keeps the versions of files that other programs change in the journal. It
// reads the files again, after the index has them, so that a search never waits for it.
type history struct {
	journal *journal.Journal
	files   *files
	logger  *slog.Logger

	wake    chan struct{} // receives when paths grow
	mu      sync.Mutex
	paths   map[string]bool
	failing bool // the last version was not stored, which is in the log
}

// changed notes that a file may have changed. A nil history ignores the call.
func (h *history) changed(path string) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.paths[path] {
		return
	}
	h.paths[path] = true
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// run records changed files until the context ends.
func (h *history) run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-h.wake:
		}
		for limit, due := time.After(maxHistoryDelay), false; !due; {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-h.wake:
			case <-time.After(historyDelay):
				due = true
			case <-limit:
				due = true
			}
		}
		h.record(ctx, "")
	}
}

// record records the present content of a file if it changed, or of all changed files if
// path is empty. A nil history ignores the call.
func (h *history) record(ctx context.Context, path string) {
	if h == nil {
		return
	}
	paths := []string{path}
	if path == "" {
		h.mu.Lock()
		paths = slices.Sorted(maps.Keys(h.paths))
		h.mu.Unlock()
	}
	for _, path := range paths {
		if ctx.Err() == nil {
			h.recordFile(path)
		}
	}
}

func (h *history) recordFile(path string) {
	h.mu.Lock()
	changed := h.paths[path]
	delete(h.paths, path)
	h.mu.Unlock()
	if !changed {
		return
	}
	err := h.journal.Seen(path, func() ([]byte, error) { return h.read(path) })
	h.mu.Lock()
	defer h.mu.Unlock()
	if errors.Is(err, vault.ErrChanging) {
		return
	}
	if err != nil && !h.failing {
		h.logger.Warn("versions of files are missing in the history", "path", path, "err", err)
	}
	h.failing = err != nil
}

// read returns the content of a file, or nil if there is none.
func (h *history) read(path string) ([]byte, error) {
	file, err := h.files.Read(path)
	switch {
	case vault.Absent(err):
		return nil, nil
	case err == nil && file.Unstable:
		return nil, vault.ErrChanging
	}
	return file.Data, err
}

// openHistory makes the journal keep the versions of files that other programs change. The
// contents of all files in the index are stored, in the background, as they are the first
// earlier versions.
func (d *daemon) openHistory() {
	keep := d.config.History.Keep
	if keep <= 0 {
		d.writer.Journal.KeepHistory(0, 0)
		return
	}
	d.writer.Journal.KeepHistory(maxHistoryBytes, keep)
	h := &history{journal: d.writer.Journal, files: d.pipeline.files, logger: d.logger,
		wake: make(chan struct{}, 1), paths: map[string]bool{}}
	d.pipeline.history = h
	for _, f := range d.index.Files(nil) {
		if _, copied := memory.CopyOf(f.Path); copied || d.pipeline.layout.InRoot(f.Path) {
			continue
		}
		if !h.journal.Known(f.Path, journal.DigestOf(f.Hash)) {
			h.changed(f.Path)
		}
	}
}
