package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// externalCause is the cause of the changes of other programs.
const externalCause = "external"

// A history holds the data about the changes of other programs.
type history struct {
	size    int64             // bound of all versions, in bytes; zero if the history is off
	keep    time.Duration     // retention of the changes; zero means forever
	current map[string]string // digests of the files as they were seen last, by path
	full    bool              // the versions that must stay exceed the size, as of the last trimming
}

// KeepHistory makes the journal record the changes of other programs, for keep, or
// forever if keep is zero, as long as all versions, also those of memwatchd, have at most size
// bytes.
func (j *Journal) KeepHistory(size int64, keep time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.history = history{size: size, keep: keep, current: map[string]string{}}
	for _, r := range j.records {
		j.recordCurrent(r)
	}
}

// Known sets the digest of the content of a file before the first [Journal.Seen] for the
// file, such as that of the last run. It reports whether the journal has this content.
func (j *Journal) Known(path, digest string) (stored bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if _, ok := j.history.current[path]; !ok && j.history.size > 0 {
		j.history.current[path] = digest
	}
	return j.store.has(versionName(digest))
}

// Seen records the present content of a file, which read returns; nil if there is no
// file. If another program overwrote text of the file since the last call, and the journal has the
// content before, it records this change. Unlike changes of memwatchd, these need not
// survive a power failure.
func (j *Journal) Seen(path string, read func() ([]byte, error)) error {
	for {
		j.mu.Lock()
		completed := j.completed
		j.mu.Unlock()
		content, err := read()
		if err != nil {
			return err
		}
		j.mu.Lock()
		if completed == j.completed { // else the content may be that before a change of memwatchd
			err = j.seen(path, content)
			j.mu.Unlock()
			return err
		}
		j.mu.Unlock()
	}
}

// seen implements [Journal.Seen] for the present content. The caller holds j.mu.
func (j *Journal) seen(path string, content []byte) (err error) {
	if j.history.size <= 0 {
		return nil
	}
	digest := Digest(content)
	before, known := j.history.current[path]
	if known && before == digest && j.has(digest) {
		return nil
	}
	j.history.current[path] = digest
	if j.isPending(path, digest) {
		return nil
	}
	if !j.history.full && j.store.total > j.history.size {
		if err := j.trimHistory(); err != nil {
			return err
		}
		j.history.full = j.store.total > j.history.size
	}
	if j.history.full {
		return nil
	}
	r := Record{Path: path, Before: before, After: digest, New: content}
	var list []Record
	files := map[string][]byte{}
	if j.overwrites(&r) {
		list, files, err = j.add([]Record{r})
	} else {
		j.addVersions(r, files)
	}
	for name, data := range files {
		if err == nil {
			err = writeFile(filepath.Join(j.Dir, name), data)
		}
	}
	if err != nil {
		j.withdraw(list, files)
	}
	return err
}

// overwrites completes the record of a change by another program, and reports whether the
// journal has the content before, and this content was not just extended.
func (j *Journal) overwrites(r *Record) bool {
	r.Cause, r.External = externalCause, true
	old, err := j.store.read(versionName(r.Before))
	return err == nil && !bytes.HasPrefix(r.New, old)
}

// isPending reports whether memwatchd is giving a file the content with a digest.
func (j *Journal) isPending(path, digest string) bool {
	return slices.ContainsFunc(j.records[max(0, len(j.records)-maxPending):], func(r Record) bool {
		return r.State == StateIntent && r.FilePath() == path && r.After == digest
	})
}

// maxPending exceeds the number of changes that are pending at a time.
const maxPending = 64

// has reports whether a content is stored; no file counts as stored.
func (j *Journal) has(digest string) bool { return j.store.has(versionName(digest)) || digest == "" }

// externalChanges returns the change of another program that precedes the given change
// and has not been seen, if there is one.
func (j *Journal) externalChanges(r Record) []Record {
	external := Record{Path: r.Path, Before: j.history.current[r.Path], After: r.Before, New: r.Old}
	if r.Old != nil && j.overwrites(&external) {
		return []Record{external}
	}
	return nil
}

// recordCurrent records the contents after a complete change.
func (j *Journal) recordCurrent(r Record) {
	if j.history.size <= 0 || r.State == StateIntent {
		return
	}
	if r.To != "" {
		j.history.current[r.Path] = ""
	}
	j.history.current[r.FilePath()] = r.After
}

// usedVersions returns the names of the versions that changes refer to, and those of the
// present files.
func (j *Journal) usedVersions() map[string]bool {
	used := map[string]bool{}
	for _, r := range j.records {
		used[versionName(r.Before)], used[versionName(r.After)] = true, true
	}
	for _, digest := range j.history.current {
		used[versionName(digest)] = true
	}
	return used
}

// trimHistory removes the oldest changes of other programs until the versions have nine tenths
// of the size.
func (j *Journal) trimHistory() error {
	for {
		external := 0
		for _, r := range j.records {
			if r.External {
				external++
			}
		}
		if external <= maxExternal && j.store.total <= j.history.size/10*9 {
			return nil
		}
		if external == 0 {
			return j.store.retain(j.usedVersions())
		}
		drop := external/8 + 1
		err := j.dropRecords(func(r *Record) bool {
			drop--
			return drop >= 0
		}, true)
		if err = errors.Join(err, j.store.retain(j.usedVersions())); err != nil {
			return err
		}
	}
}

// maxExternal bounds the changes of other programs, which are read at each start.
const maxExternal = 10_000

// dropRecords removes the changes, of other programs or of memwatchd, for which drops returns true. A record that
// cannot be removed stays.
func (j *Journal) dropRecords(drops func(*Record) bool, external bool) error {
	var errs []error
	j.records = slices.DeleteFunc(j.records, func(r Record) bool {
		if r.External != external || !drops(&r) {
			return false
		}
		err := os.Remove(j.recordPath(r))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
			return false
		}
		return true
	})
	return errors.Join(errs...)
}

// Prune deletes changes that are older than Retention, or than the retention of the history if another
// program made them, and the versions that nothing needs any more. A clock that runs ahead
// must not delete the whole undo history: unless the clock is steady, Prune
// measures age from now or from the newest change, whichever is earlier. The
// changes of a group are deleted together, and groups with a pending change are
// kept. A record that cannot be deleted stays and is part of the error.
func (j *Journal) Prune(now time.Time, steady bool) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if n := len(j.records); !steady && n > 0 && j.records[n-1].Time.Before(now) {
		now = j.records[n-1].Time
	}
	expired := func(r *Record, keep time.Duration) bool { return keep > 0 && r.Time.Before(now.Add(-keep)) }
	stays := map[string]bool{} // groups to keep
	for _, r := range j.records {
		if r.State == StateIntent || !expired(&r, j.Retention) {
			stays[r.Group] = true
		}
	}
	err := errors.Join(
		j.log.flush(0),
		j.dropRecords(func(r *Record) bool { return !stays[r.Group] }, false),
		j.dropRecords(func(r *Record) bool { return expired(r, j.history.keep) }, true),
		j.trimHistory(),
		j.store.retain(j.usedVersions()))
	j.history.full = false
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}
