package vault

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/memwatchd/memwatchd/memory"
)

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
	Waiting, Refused []memory.Skipped
}

// counts are the data of a WriterStatus.
type counts struct {
	applied, lostRaces int
	unable             string
	waiting, refused   map[string]unwritten
}

type unwritten struct {
	reason string
	stamp  memory.Stamp // the catalogue's stamp when the entry was made
	until  time.Time    // when the entry expires; zero means never
	times  int          // attempts in a row
}

// waitingExpiry is how long after its next possible attempt a waiting change is
// listed. After that it is considered withdrawn.
const waitingExpiry = time.Minute

// Status returns the state of the writer. It does not wait for the disk.
func (w *Writer) Status() WriterStatus {
	now := w.now()
	w.mu.Lock()
	defer w.mu.Unlock()
	c := &w.counts
	w.dropExpired(c.waiting, now)
	w.dropExpired(c.refused, now)
	return WriterStatus{
		Unable: c.unable, Applied: c.applied, LostRaces: c.lostRaces,
		Waiting: sortUnwritten(c.waiting), Refused: sortUnwritten(c.refused),
	}
}

// dropExpired removes expired entries and entries of files that have changed.
func (w *Writer) dropExpired(from map[string]unwritten, now time.Time) {
	maps.DeleteFunc(from, func(path string, h unwritten) bool {
		stamp, _ := w.Vault.Catalogue.Lookup(path)
		return !h.until.IsZero() && now.After(h.until) || stamp != h.stamp
	})
}

func (w *Writer) recordOutcome(path string, written Written, err error) {
	stamp, _ := w.Vault.Catalogue.Lookup(path)
	wait, isWait := errors.AsType[*WaitError](err)
	refused, isRefused := errors.AsType[*RefusedError](err)
	w.mu.Lock()
	defer w.mu.Unlock()
	c := &w.counts
	if c.waiting == nil {
		c.waiting, c.refused = make(map[string]unwritten), make(map[string]unwritten)
	}
	times := c.waiting[path].times + 1
	delete(c.waiting, path)
	switch {
	case isWait:
		c.waiting[path] = unwritten{wait.Reason, stamp, w.now().Add(wait.For + waitingExpiry), times}
	case isRefused:
		c.refused[path] = unwritten{reason: refused.Reason, stamp: stamp}
		if refused.Reason == errNoExchange.Error() {
			c.unable = refused.Reason
		}
	case isResourceError(err), errors.Is(err, errJournal), errors.Is(err, ErrRoot):
		c.unable = err.Error()
	case err == nil:
		delete(c.refused, path)
		if written.Changed {
			c.applied++
			c.unable = ""
		}
	}
}

// backOff returns the delay before the next attempt at a waiting change.
func (w *Writer) backOff(path string) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return min(shortWait<<min(w.counts.waiting[path].times, 16), longWait)
}

// countLostRace counts a change that conflicted with a save by another program.
func (w *Writer) countLostRace(path string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts.lostRaces++
	w.logger().Debug("another program saved the file first", "path", path)
}

func sortUnwritten(from map[string]unwritten) []memory.Skipped {
	list := make([]memory.Skipped, 0, len(from))
	for _, path := range slices.Sorted(maps.Keys(from)) {
		list = append(list, memory.Skipped{Path: path, Reason: from[path].reason})
	}
	return list
}
