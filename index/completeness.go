package index

// A completeness records whether the index holds every file. It is the one place
// that decides whether an answer may claim to be complete.
//
// An answer covers a save if four things hold:
//
//   - synced: the watcher's barrier has passed, so every save before the
//     question that the watcher saw has been applied to the table in use.
//   - complete: since the table was last opened, every file has been compared
//     with it. An opened table may lack files that an earlier process, or
//     the failed table before it, had applied.
//   - owners known: every file that claims a directory for a subject has been
//     read, so the caller's view includes the caller's directories.
//   - nothing unread: no walk has failed to look at a directory without a later
//     scan whose marks have been delivered, and no file failed to be read.
//
// An answer is degraded if the index is not complete or something is unread.
//
// The transitions, each atomic under the index's lock:
//
//	open     a store is opened, at start or after a failure: epoch+1, incomplete
//	apply    files are applied to the table: unchanged
//	confirm  every file has been compared since the epoch was read: complete,
//	         unless the epoch has changed
//
// The daemon's side is daemon.confirmIndex. It reads the epoch, then requests a scan,
// then waits for the barrier, then declares the owners known, then confirms
// unless something is unread. A reload starts from the beginning with a new
// index and unknown owners. A request waits for the barrier, then reads whether
// the answer is degraded, then takes its view, then searches, and reads it again.
// Each order matters: TestCoverageModel runs all interleavings.
type completeness struct {
	epoch    uint64
	complete bool
}

// markOpened records that a table was opened that may lack files.
func (c *completeness) markOpened() {
	c.epoch++
	c.complete = false
}

// markComplete records that every file has been compared with the table since the
// epoch was read. It reports whether that still holds.
func (c *completeness) markComplete(epoch uint64) bool {
	if c.epoch != epoch {
		return false
	}
	c.complete = true
	return true
}
