// Package journal records every change that is made to a file of memory, so that it
// can be undone: a file for each, which is there before the change begins.
package journal

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Journal keeps what was changed in people's files, for as long as it can be
// undone: one file a change, in a directory of its own. A change is written
// down, and on the disk, before it is made: what a crash leaves is settled by
// it.
//
// What a file's name says is all of it that changes: <id>.intent.json becomes
// <id>.json when the change has happened, and is removed if it has not, which
// takes no room on a full disk. That a change was undone is not written
// anywhere, but follows from there being another one that undoes it.
//
// All methods are safe for concurrent use.
type Journal struct {
	// Now tells the time; time.Now if nil.
	Now func() time.Time
	// Happened, if not nil, is called with each change that has happened, without
	// its hunks. It must neither wait nor call the journal.
	Happened func(Record)

	Dir  string        // where its files are; set by Open
	Keep time.Duration // how long changes are kept, for ever if zero

	disk Disk

	mu       sync.Mutex
	records  []Record // by id, without hunks
	last     int64    // the newest id, as a number
	problems []string
}

const (
	intentEnding = ".intent.json"
	madeEnding   = ".json"
	draftEnding  = intentEnding + DraftEnding // of a record that is being written

	// maxHeader is more than the longest paths and reasons need.
	maxHeader = 64 << 10
)

// What callers tell apart.
var (
	// ErrNoRecord: the journal has no change of that id.
	ErrNoRecord = errors.New("no such change in the journal")
	// ErrAmbiguous: the ids of several changes begin like this.
	ErrAmbiguous = errors.New("more than one change begins like this")
)

// DraftEnding is what the name of a file ends with that is being written.
const DraftEnding = ".new"

// A Disk makes the directory of a journal and writes its files.
type Disk struct {
	MakeDir func(path string) error              // makes a directory that only we can read, if there is none
	Write   func(path string, data []byte) error // replaces a file at once and durably, by way of path + DraftEnding
}

// Open opens the journal in the directory dir, which is made if there is
// none. Changes are kept for keep, or for ever if it is zero.
//
// Files that are damaged, or not the journal's, are left where they are; see
// [Journal.Problems].
func Open(disk Disk, dir string, keep time.Duration) (*Journal, error) {
	if err := disk.MakeDir(dir); err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	entries, err := os.ReadDir(dir) // sorted by name
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	j := &Journal{Dir: dir, Keep: keep, disk: disk}
	for _, e := range entries {
		j.load(e)
	}
	j.settle()
	return j, nil
}

// reason returns the text of an error without the path, which the caller adds.
func reason(err error) string {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		err = path.Err
	}
	return err.Error()
}

// load takes in one file of the directory.
func (j *Journal) load(e fs.DirEntry) {
	name := e.Name()
	id, ending, _ := strings.Cut(name, ".")
	n, ok := parseID(id)
	switch ending = "." + ending; {
	case name == "CACHEDIR.TAG":
		return
	case !ok || !e.Type().IsRegular() || ending != intentEnding && ending != madeEnding && ending != draftEnding:
		j.problems = append(j.problems, name+": not a file of the journal")
		return
	case ending == draftEnding:
		os.Remove(filepath.Join(j.Dir, name)) // begun, and nothing was changed yet
		return
	}
	j.last = max(j.last, n)
	r, err := readHeader(filepath.Join(j.Dir, name))
	if err == nil && r.ID != id {
		err = errors.New("not what its name says")
	}
	if err != nil {
		j.problems = append(j.problems, name+": "+reason(err))
		return
	}
	r.State = StateDone
	if ending == intentEnding {
		r.State = StateIntent
	}
	j.records = append(j.records, r)
}

func readHeader(path string) (Record, error) {
	f, err := os.Open(path)
	if err != nil {
		return Record{}, err
	}
	defer f.Close()
	line, err := bufio.NewReader(io.LimitReader(f, maxHeader)).ReadBytes('\n')
	if err == io.EOF {
		return Record{}, errors.New("damaged: it has no end")
	}
	if err != nil {
		return Record{}, err
	}
	return decodeHeader(line)
}

// settle finds out which changes are undone: those that another one undoes
// which is not undone itself. What undoes is newer than what it undoes.
func (j *Journal) settle() {
	undone := map[string]bool{}
	for i := range slices.Backward(j.records) {
		r := &j.records[i]
		switch {
		case r.State == StateIntent:
			continue
		case undone[r.ID]:
			r.State = StateUndone
			continue
		}
		r.State = StateDone
		for _, id := range r.Undoes {
			undone[id] = true
		}
	}
}

// Problems says what in the journal's directory cannot be used, a file each.
func (j *Journal) Problems() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.problems)
}

// Begin writes a change down that is about to be made, and returns it with its
// ID, its Time if that is zero, and its Group if it has none. When it returns
// without an error the intent is on the disk. [Journal.Done] or
// [Journal.Abandon] must follow.
func (j *Journal) Begin(r Record) (Record, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if r.Time.IsZero() {
		r.Time = j.now()
	}
	n := max(j.last+1, idNumber(r.Time))
	if n >= 1<<(5*idLength) {
		return Record{}, fmt.Errorf("journal: no id for a change at %s: set the clock right", r.Time.Format(time.RFC3339))
	}
	r.ID, r.State = formatID(n), StateIntent
	if r.Group == "" {
		r.Group = r.ID
	}
	data, err := r.encode()
	if err != nil {
		return Record{}, fmt.Errorf("journal: %w", err)
	}
	if err := j.disk.Write(j.path(r.ID, intentEnding), data); err != nil {
		os.Remove(j.path(r.ID, intentEnding)) // it may be there, and not be on the disk
		return Record{}, fmt.Errorf("journal: %w", err)
	}
	j.last = n
	known := r
	known.Hunks = nil
	j.records = append(j.records, known)
	return r, nil
}

// sync puts on the disk which files there are.
func (j *Journal) sync() error {
	dir, err := os.Open(j.Dir)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// Done says that a change has happened, and that the file is as it was meant to
// be: after is the SHA-256 of it, zero if there is none. If that is not what
// the change was begun with, nothing is noted. It may be said more than once.
func (j *Journal) Done(id string, after [32]byte) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	i, ok := j.find(id)
	if !ok {
		return fmt.Errorf("journal %s: %w", id, ErrNoRecord)
	}
	r := &j.records[i]
	if r.State != StateIntent {
		return nil
	}
	if r.After != DigestOf(after) {
		return fmt.Errorf("journal %s: %s is not what it was to become", id, r.Path)
	}
	if err := os.Rename(j.path(id, intentEnding), j.path(id, madeEnding)); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	r.State = StateDone
	if len(r.Undoes) > 0 {
		j.settle()
	}
	if j.Happened != nil {
		j.Happened(*r)
	}
	if err := j.sync(); err != nil {
		return fmt.Errorf("journal %s: %w", id, err)
	}
	return nil
}

// Abandon says that a change has not happened, and will not, or that it was taken
// back at once: it is forgotten.
func (j *Journal) Abandon(id string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	i, ok := j.find(id)
	if !ok {
		return fmt.Errorf("journal %s: %w", id, ErrNoRecord)
	}
	ending := madeEnding
	if j.records[i].State == StateIntent {
		ending = intentEnding
	}
	if err := os.Remove(j.path(id, ending)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("journal: %w", err)
	}
	undoes := len(j.records[i].Undoes) > 0
	j.records = slices.Delete(j.records, i, i+1)
	if undoes {
		j.settle()
	}
	if err := j.sync(); err != nil {
		return fmt.Errorf("journal %s: %w", id, err)
	}
	return nil
}

func (j *Journal) find(id string) (int, bool) {
	return slices.BinarySearchFunc(j.records, id, func(r Record, id string) int { return strings.Compare(r.ID, id) })
}

func (j *Journal) path(id, ending string) string { return filepath.Join(j.Dir, id+ending) }

func (j *Journal) now() time.Time {
	if j.Now != nil {
		return j.Now()
	}
	return time.Now()
}

// Prune forgets changes that are older than the journal keeps them, counted from
// now or from the last change: a clock that is ahead must not cost all there is to
// undo. Those of one group go together, and none goes of which it is not known
// whether it has happened.
func (j *Journal) Prune(now time.Time) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.Keep <= 0 {
		return nil
	}
	if n := len(j.records); n > 0 && j.records[n-1].Time.Before(now) {
		now = j.records[n-1].Time
	}
	oldest := now.Add(-j.Keep)
	stays := map[string]bool{} // by group
	for _, r := range j.records {
		if r.State == StateIntent || !r.Time.Before(oldest) {
			stays[r.Group] = true
		}
	}
	var errs []error
	j.records = slices.DeleteFunc(j.records, func(r Record) bool {
		if stays[r.Group] {
			return false
		}
		err := os.Remove(j.path(r.ID, madeEnding))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
			return false
		}
		return true
	})
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}
