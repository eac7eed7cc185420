package vault

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/memwatchd/memwatchd/internal/disk"
)

const (
	// If memwatchd changes one file [Writer.MaxChangesPerMinute] times by itself within
	// rateWindow, further automatic changes are refused for ratePause.
	rateWindow = time.Minute
	ratePause  = time.Hour
	// waitingExpiry is how long after its next possible attempt a waiting change is
	// listed. After that it is considered withdrawn.
	waitingExpiry = time.Minute
)

// A fileState is the knowledge of a [Writer] about one file.
type fileState struct {
	own          *ownVersion // the last version that this writer wrote; nil if unknown
	missingSince time.Time   // since when the file, which was known, is missing
	automatic    []time.Time // automatic changes within rateWindow
	pausedUntil  time.Time   // when automatic changes are allowed again
	unwritten    unwritten   // the last change, if it was not made
}

// ownVersion is the last version that this writer wrote to a file.
type ownVersion struct {
	hash     [32]byte  // zero if the writer removed the file
	external time.Time // when another program last changed the file before; zero if unknown
}

// An unwritten change waits or was refused.
type unwritten struct {
	reason  string // "" if there is no such change
	refused bool
	stamp   disk.Stamp // the catalogue's stamp at the time of the attempt
	until   time.Time  // when the change is no longer listed; zero means never
	times   int        // attempts in a row
}

func (f *fileState) isEmpty() bool {
	return f.own == nil && f.missingSince.IsZero() && len(f.automatic) == 0 && f.pausedUntil.IsZero() &&
		f.unwritten.reason == ""
}

// file returns the state of a file. The caller holds w.mu.
func (w *Writer) file(path string) *fileState {
	if w.files[path] == nil {
		if w.files == nil {
			w.files = make(map[string]*fileState)
		}
		w.files[path] = new(fileState)
	}
	return w.files[path]
}

// recordOwnVersion records the version about to be written, and returns a function that
// reverts this.
func (w *Writer) recordOwnVersion(path string, own ownVersion) (undo func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f := w.file(path)
	before := f.own
	f.own = &own
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		f.own = before
	}
}

// lastExternalChange returns when another program last changed a file, disregarding this
// writer's own version.
func (w *Writer) lastExternalChange(old *source) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	if own := w.file(old.Path).own; own != nil && own.hash == old.hash {
		return own.external
	}
	if at := time.Unix(0, old.Stamp.MTime); at.After(w.now()) {
		return time.Unix(0, old.Stamp.CTime) // the file may come from another machine
	}
	return time.Unix(0, max(old.Stamp.MTime, old.Stamp.CTime))
}

// timeToDeletion returns how long a missing file must still stay missing before it is
// treated as deleted. It returns zero or less if that time is over, if the file
// was never observed, or if this writer removed it.
func (w *Writer) timeToDeletion(path string) time.Duration {
	_, known := w.Vault.Catalogue.Lookup(path)
	now := w.now()
	w.mu.Lock()
	defer w.mu.Unlock()
	f := w.file(path)
	if f.own != nil {
		known = f.own.hash != [32]byte{}
	}
	if !known {
		return 0
	}
	if f.missingSince.IsZero() {
		f.missingSince = now
	}
	left := deletionDelay - now.Sub(f.missingSince)
	if left <= 0 {
		f.own, f.missingSince = nil, time.Time{}
	}
	return left
}

// recordPresent records that a file is not missing.
func (w *Writer) recordPresent(path string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.file(path).missingSince = time.Time{}
}

// checkRate returns an error if a file was changed too often and must not be
// changed for now.
func (w *Writer) checkRate(path string) error {
	now := w.now()
	w.mu.Lock()
	defer w.mu.Unlock()
	f := w.file(path)
	if !now.Before(f.pausedUntil) {
		f.automatic = slices.DeleteFunc(f.automatic,
			func(at time.Time) bool { return now.Before(at) || now.Sub(at) >= rateWindow })
		if len(f.automatic) < cmp.Or(w.MaxChangesPerMinute, DefaultMaxChangesPerMinute) {
			return nil
		}
		f.pausedUntil = now.Add(ratePause)
		w.logger().Error("file changed too often, writing paused", "path", path, "times", len(f.automatic), "until",
			f.pausedUntil)
	}
	return &RefusedError{path,
		fmt.Sprintf("memwatchd changed the file too often within a minute, possibly because another program reverts "+
			"the changes; writing is paused until %s; run `memwatchd journal` to list the changes",
			f.pausedUntil.Format(time.TimeOnly))}
}

// WriterStatus is the state of a [Writer].
type WriterStatus struct {
	// Unable is the likely cause that prevents all writing, such as a full disk
	// or a file system without atomic exchange. It is "" after a successful
	// write.
	Unable string
	// Applied counts the changes made since the start. LostRaces counts the
	// changes delayed or reverted by simultaneous saves.
	Applied, LostRaces int
	// Waiting lists files with a pending change, and Refused lists files that
	// cannot be changed in their present state, both by path. A file leaves the
	// lists when any program changes it, or when no change is needed any more.
	Waiting, Refused []disk.Skipped
}

// Status returns the state of the writer. It does not wait for the disk.
func (w *Writer) Status() WriterStatus {
	now := w.now()
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.status
	for _, path := range slices.Sorted(maps.Keys(w.files)) {
		u := &w.files[path].unwritten
		stamp, _ := w.Vault.Catalogue.Lookup(path)
		switch listed := (disk.Skipped{Path: path, Reason: u.reason}); {
		case stamp != u.stamp, !u.until.IsZero() && now.After(u.until):
			*u = unwritten{} // the file has changed, or the entry has expired
		case u.refused:
			s.Refused = append(s.Refused, listed)
		case u.reason != "":
			s.Waiting = append(s.Waiting, listed)
		}
	}
	return s
}

// recordOutcome records the result of a change, and returns the error for the caller.
func (w *Writer) recordOutcome(c *Change, written Written, err error) error {
	err = writeError(c.Path, err)
	stamp, _ := w.Vault.Catalogue.Lookup(c.Path)
	wait, isWait := errors.AsType[*WaitError](err)
	refused, isRefused := errors.AsType[*RefusedError](err)
	now := w.now()
	w.mu.Lock()
	defer w.mu.Unlock()
	f := w.file(c.Path)
	last := f.unwritten
	if !last.refused || err == nil {
		f.unwritten = unwritten{}
	}
	switch {
	case isWait:
		f.unwritten = unwritten{
			reason: wait.Reason, stamp: stamp, until: now.Add(wait.For + waitingExpiry), times: last.times + 1,
		}
	case isRefused:
		f.unwritten = unwritten{reason: refused.Reason, refused: true, stamp: stamp}
		if refused.Reason == errNoExchange.Error() {
			w.status.Unable = refused.Reason
		}
	case isResourceError(err), errors.Is(err, errJournal):
		w.status.Unable = err.Error()
	case written.Changed:
		w.status.Applied++
		w.status.Unable = ""
		if !c.Requested {
			f.automatic = append(f.automatic, now)
		}
	}
	if f.isEmpty() {
		delete(w.files, c.Path)
	}
	return err
}

// backOff returns the delay before the next attempt at a waiting change.
func (w *Writer) backOff(path string) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return min(shortWait<<min(w.file(path).unwritten.times, 16), longWait)
}

// countLostRace counts a change that conflicted with a save by another program.
func (w *Writer) countLostRace(path string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.status.LostRaces++
	w.logger().Debug("another program saved the file first", "path", path)
}
