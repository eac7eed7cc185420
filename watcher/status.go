package watcher

import (
	"fmt"
	"time"
)

// Status is how the watcher is doing.
type Status struct {
	Root          string      `json:"root"`        // [RootStarting], [RootWatched] or [RootMissing]
	Directories   int         `json:"directories"` // that are watched
	Limit         int         `json:"limit"`       // how many may be, by all of this user's programs; 0 if unknown
	Polled        []Unwatched `json:"polled"`
	Overflows     int         `json:"overflows"`      // how often events were lost
	LastReconcile time.Time   `json:"last_reconcile"` // when the last scan of everything ended
	Pending       int         `json:"pending"`        // paths that may have changed and have not been taken over
	Held          int         `json:"held"`           // files that seem gone and are not believed to be
	Unread        bool        `json:"unread"`         // a scan missed files that have not been delivered since
	Warnings      []string    `json:"warnings"`       // what a person should know, until it is over
}

// Unwatched is a directory that cannot be watched, and is polled with all that
// is below it.
type Unwatched struct {
	Path   string `json:"path"` // empty for the root
	Reason string `json:"reason"`
}

// Status may be called at any time.
func (w *Watcher) Status() Status {
	w.init()
	s := Status{
		Directories: w.watches.len(),
		Limit:       watchLimit(),
		Polled:      w.watches.unwatched(),
		Pending:     int(w.settler.pending.Load()),
		Held:        w.hold.len(),
	}
	var cause string
	func() {
		w.scans.mu.Lock()
		defer w.scans.mu.Unlock()
		s.Root, cause = w.scans.state, w.scans.cause
		s.Overflows, s.LastReconcile = w.scans.overflows, w.scans.last
		s.Unread = w.scans.unread
	}()
	if s.Root == RootMissing {
		s.Warnings = append(s.Warnings, cause)
	}
	if s.Held > 0 {
		s.Warnings = append(s.Warnings, fmt.Sprintf("%d files are gone at once; they are kept until a second scan agrees", s.Held))
	}
	if s.Unread && s.Root == RootWatched {
		s.Warnings = append(s.Warnings, "part of the memory cannot be read, trying again: see the skipped files")
	}
	told := make(map[string]bool)
	for _, u := range s.Polled {
		if !told[u.Reason] {
			told[u.Reason] = true
			s.Warnings = append(s.Warnings, fmt.Sprintf("polled instead of watched: %q: %s", u.Path, u.Reason))
		}
	}
	return s
}
