package watcher

import (
	"fmt"
	"time"
)

// Status describes the state of the watcher.
type Status struct {
	Root          string      `json:"root"`        // [RootStarting], [RootWatched] or [RootMissing]
	Directories   int         `json:"directories"` // number of watched directories
	Polled        []Unwatched `json:"polled"`
	Overflows     int         `json:"overflows"`      // number of times events were lost
	LastReconcile time.Time   `json:"last_reconcile"` // end of the last full scan
	Pending       int         `json:"pending"`        // saved paths that may have changed and are not delivered
	Held          int         `json:"held"`           // missing files that are held back
	Unread        bool        `json:"unread"`         // files missed by a scan have not been delivered since
	Warnings      []string    `json:"warnings"`       // current problems that need the user's attention
}

// Unwatched is a directory that cannot be watched and is polled with all
// directories below it.
type Unwatched struct {
	Path   string `json:"path"` // empty for the root
	Reason string `json:"reason"`
}

// Status returns the current state of the watcher. It may be called at any
// time.
func (w *Watcher) Status() Status {
	w.init()
	s := Status{
		Directories: w.watches.len(),
		Polled:      w.watches.listUnwatched(),
		Pending:     int(w.debouncer.pending.Load()),
		Held:        w.hold.len(),
	}
	w.scans.mu.Lock()
	s.Root, s.Overflows, s.LastReconcile = w.scans.state, w.scans.overflows, w.scans.last
	s.Unread = w.scans.failedReads != w.scans.madeUp
	cause := w.scans.cause
	w.scans.mu.Unlock()
	if s.Root == RootMissing {
		s.Warnings = append(s.Warnings, cause)
	}
	if s.Held > 0 {
		s.Warnings = append(s.Warnings,
			fmt.Sprintf("%d files disappeared at once; their entries are kept until a second scan confirms "+
				"the loss", s.Held))
	}
	if s.Unread && s.Root == RootWatched {
		s.Warnings = append(s.Warnings, "part of the memory cannot be read, retrying: see the skipped files")
	}
	listed := make(map[string]bool)
	for _, u := range s.Polled {
		if !listed[u.Reason] {
			listed[u.Reason] = true
			s.Warnings = append(s.Warnings, fmt.Sprintf("polling %q: %s", u.Path, u.Reason))
		}
	}
	return s
}
