package vault

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/memwatchd/memwatchd/memory"
)

// WriterStatus is how writing is going.
type WriterStatus struct {
	// Enabled is false if nothing is written that nobody asked for.
	Enabled bool
	// Unable says what, in all likelihood, keeps everything from being written: a
	// full disk, a file system without what it takes. It is "" when something was
	// written since.
	Unable string
	// Applied counts changes that were made, LostRaces those that were held up
	// because somebody was just saving, both since the start.
	Applied, LostRaces int
	// Waiting and Refused list files with a change that could not be made yet, and
	// files that are not changed as they are, by path. A file is off the lists
	// when it is changed, by us or by others, and when there is nothing to do any
	// more.
	Waiting, Refused []Hindered
	// Kept lists files in which lies what others have saved and what was in the
	// way of something saved later. They are left to a person.
	Kept []string
}

// Hindered is a file that is not changed, and why.
type Hindered struct{ Path, Reason string }

// counts are what the status is made of.
type counts struct {
	applied, lost    int
	unable           string
	waiting, refused map[string]hindered
	kept             map[string]bool
}

type hindered struct {
	reason string
	stamp  memory.Stamp // what the file was last seen to look like
	until  time.Time    // when it is out of date; zero is never
	times  int          // how often in a row
}

// waitingFor is how long after it could have been tried again a change is taken
// for one that nobody wishes any more.
const waitingFor = time.Minute

// Status says how writing is going. It does not wait for the disk.
func (w *Writer) Status() WriterStatus {
	now, enabled := w.now(), w.enabled()
	w.mu.Lock()
	defer w.mu.Unlock()
	c := &w.counts
	w.forget(c.waiting, now)
	w.forget(c.refused, now)
	return WriterStatus{
		Enabled: enabled, Unable: c.unable, Applied: c.applied, LostRaces: c.lost,
		Waiting: listed(c.waiting), Refused: listed(c.refused), Kept: slices.Sorted(maps.Keys(c.kept)),
	}
}

// forget drops what is out of date: of files that look different now.
func (w *Writer) forget(from map[string]hindered, now time.Time) {
	maps.DeleteFunc(from, func(path string, h hindered) bool {
		stamp, _ := w.Vault.Catalogue.Lookup(path)
		return !h.until.IsZero() && now.After(h.until) || stamp != h.stamp
	})
}

// note remembers what became of a change.
func (w *Writer) note(path string, written Written, err error) {
	stamp, _ := w.Vault.Catalogue.Lookup(path)
	var wait *WaitError
	var refused *RefusedError
	w.mu.Lock()
	defer w.mu.Unlock()
	c := &w.counts
	if c.waiting == nil {
		c.waiting, c.refused = make(map[string]hindered), make(map[string]hindered)
	}
	times := c.waiting[path].times + 1
	delete(c.waiting, path)
	switch {
	case errors.As(err, &wait):
		c.waiting[path] = hindered{wait.Reason, stamp, w.now().Add(wait.For + waitingFor), times}
	case errors.As(err, &refused):
		c.refused[path] = hindered{reason: refused.Reason, stamp: stamp}
		if refused.Reason == errNoExchange.Error() {
			c.unable = refused.Reason
		}
	case passing(err), errors.Is(err, errJournal), errors.Is(err, ErrRoot):
		c.unable = err.Error()
	case err == nil:
		delete(c.refused, path)
		if written.Changed {
			c.applied++
			c.unable = ""
		}
	}
}

// backOff is after which a change is worth another try that was tried in vain.
func (w *Writer) backOff(path string) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return min(shortWait<<min(w.counts.waiting[path].times, 16), longWait)
}

// lost counts a change that somebody else was faster than.
func (w *Writer) lost(path string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts.lost++
	w.logger().Debug("somebody has saved a file that was to be changed", "path", path)
}

// kept remembers a file that is left to a person.
func (w *Writer) kept(path string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.counts.kept == nil {
		w.counts.kept = make(map[string]bool)
	}
	w.counts.kept[path] = true
	w.logger().Warn("a file holds what somebody has saved, and something was saved later; compare the two, then remove it", "path", path)
}

func listed(from map[string]hindered) []Hindered {
	list := make([]Hindered, 0, len(from))
	for path, h := range from {
		list = append(list, Hindered{path, h.reason})
	}
	slices.SortFunc(list, func(a, b Hindered) int { return cmp.Compare(a.Path, b.Path) })
	return list
}
