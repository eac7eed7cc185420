// Package journal records every change to a memory file so that it can be
// undone. Each change has a record file, which exists before the change begins.
package journal

import (
	"bufio"
	"cmp"
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

	"github.com/memwatchd/memwatchd/internal/state"
)

// A Journal stores changes to memory files for as long as they can be undone: one file
// per change, in a private directory, and the contents before and after the changes, in
// another one below it. Both are durable on disk before the change is made, so that
// repair can resolve it after a crash.
//
// The name of a record's file contains the state of the change.
// <id>.intent.json, the record of a pending change, is renamed to <id>.json
// when the change is complete, and removed if the change was not made. Neither
// operation needs space on a full disk. The journal does not store that a
// change was undone: this state follows from a later change that undoes it.
//
// All methods are safe for concurrent use.
type Journal struct {
	// Now returns the current time; if nil, time.Now is used.
	Now func() time.Time
	// Completed, if not nil, is called with each completed change of memwatchd. It must
	// not block or call the journal.
	Completed func(Record)

	Dir       string        // the directory of the records; set by Open
	Retention time.Duration // retention of changes; zero means forever

	log       *fileLog
	mu        sync.Mutex
	store     *versionStore
	records   []Record // sorted by ID
	last      int64    // the newest ID as a number
	completed int      // number of changes that were completed
	history   history
	problems  []string
	outdated  int // number of removed records of an earlier build
}

const (
	intentSuffix = ".intent.json"
	doneSuffix   = ".json"

	versionsDir = "versions"

	// maxHeader exceeds the length of the header of an undo of a million changes.
	maxHeader = 16 << 20
)

// Errors that callers distinguish.
var (
	// ErrNoRecord reports that the journal has no change with the given ID.
	ErrNoRecord = errors.New("no such change in the journal")
	// ErrAmbiguous reports that the IDs of several changes have the given
	// prefix.
	ErrAmbiguous = errors.New("ambiguous change id")
)

// Open opens the journal in the directory dir and creates the directory if it
// is missing. Changes are kept for keep, or forever if keep is zero. If the
// directory cannot be created or read, Open returns nil and an error.
//
// Open leaves damaged and foreign files in place; see [Journal.Problems].
func Open(dir string, keep time.Duration) (*Journal, error) {
	versions := filepath.Join(dir, versionsDir)
	j := &Journal{Dir: dir, Retention: keep}
	err := errors.Join(state.PrivateDir(dir), state.PrivateDir(versions))
	if err == nil {
		j.log, err = openLog(dir)
	}
	if err == nil {
		j.store, err = openVersions(versions)
	}
	var entries []fs.DirEntry
	if err == nil {
		entries, err = os.ReadDir(dir) // sorted by name
	}
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	for _, e := range entries {
		j.loadFile(e)
	}
	if j.outdated > 0 {
		j.problems = append(j.problems, fmt.Sprintf("removed records in a format that no release had: %d", j.outdated))
	}
	j.markUndone()
	return j, nil
}

// errorText returns the text of an error without the path, which the caller adds.
func errorText(err error) string {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		err = path.Err
	}
	return err.Error()
}

// loadFile reads the record in one file of the directory. It removes temporary
// files, and records a problem for damaged and foreign files.
func (j *Journal) loadFile(e fs.DirEntry) {
	name := e.Name()
	id, ending, _ := strings.Cut(name, ".")
	n, ok := parseID(id)
	ending = "." + ending
	switch {
	case name == "CACHEDIR.TAG", name == versionsDir, name == logName:
		return
	case ok && e.Type().IsRegular() && strings.HasSuffix(name, state.TempSuffix):
		os.Remove(filepath.Join(j.Dir, name)) // the record was incomplete, so the change had not begun
		return
	case !ok || !e.Type().IsRegular() || ending != intentSuffix && ending != doneSuffix:
		j.problems = append(j.problems, name+": unexpected file in the journal")
		return
	}
	j.last = max(j.last, n)
	r, err := readHeader(filepath.Join(j.Dir, name))
	if errors.Is(err, errOutdated) {
		os.Remove(filepath.Join(j.Dir, name))
		j.outdated++
		return
	}
	if err == nil && r.ID != id {
		err = errors.New("file name and id differ")
	}
	if n := len(j.records) - 1; n >= 0 && j.records[n].ID == id {
		// The power failed, and the log restored the file under its old name.
		if err != nil {
			os.Remove(filepath.Join(j.Dir, name))
			return
		}
		os.Remove(j.recordPath(j.records[n]))
		j.records = j.records[:n]
	}
	if err != nil {
		j.problems = append(j.problems, name+": "+errorText(err))
		return
	}
	r.State = StateDone
	if ending == intentSuffix {
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
		return Record{}, errors.New("damaged: incomplete header")
	}
	if err != nil {
		return Record{}, err
	}
	return decodeRecord(line)
}

// markUndone computes which changes are undone: those undone by a change that is
// not undone itself. An undo is newer than the changes that it undoes, so one
// pass from the newest to the oldest change is enough.
func (j *Journal) markUndone() {
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

// Problems returns a description of each unusable file in the directory of the
// journal.
func (j *Journal) Problems() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.problems)
}

// Begin records a change that is about to be made. It returns the record with
// its ID, its Time if that was zero, and its Group if that was empty. If Begin
// succeeds, the record is durable on disk, and the caller must then call
// [Journal.Done] or [Journal.Abandon]. On error nothing is recorded, and the
// change must not be made.
func (j *Journal) Begin(r Record) (Record, error) {
	j.mu.Lock()
	external := j.externalChanges(r)
	all, files, err := j.add(append(external, r))
	var end int64
	if err == nil {
		end, err = j.log.begin(files)
	}
	j.mu.Unlock()
	if err == nil {
		err = j.log.finish(end, files)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if err != nil {
		j.withdraw(all, files)
		return Record{}, fmt.Errorf("journal: %w", err)
	}
	for _, e := range external {
		j.history.current[e.Path] = e.After
	}
	return all[len(external)], nil
}

// add registers records and their versions, and returns the records with their IDs, and
// the files to write.
func (j *Journal) add(records []Record) ([]Record, map[string][]byte, error) {
	files := map[string][]byte{}
	last := j.last
	for i := range records {
		r := &records[i]
		if r.Time.IsZero() {
			r.Time = j.now()
		}
		last = max(last+1, idNumber(r.Time))
		if last >= 1<<(5*idLength) {
			return nil, nil, fmt.Errorf("no id for a change at %s: correct the clock", r.Time.Format(time.RFC3339))
		}
		r.ID, r.State = formatID(last), StateIntent
		if r.External {
			r.State = StateDone
		}
		r.Group = cmp.Or(r.Group, r.ID)
		text, err := r.encode()
		if err != nil {
			return nil, nil, err
		}
		files[r.fileName()] = text
	}
	for _, r := range records {
		j.addVersions(r, files)
	}
	j.last = last
	for i := range records {
		records[i].Old, records[i].New = nil, nil
	}
	j.records = append(j.records, records...)
	return records, files, nil
}

// withdraw removes records and versions whose files could not be written.
func (j *Journal) withdraw(records []Record, files map[string][]byte) {
	j.records = slices.DeleteFunc(j.records, func(r Record) bool {
		return slices.ContainsFunc(records, func(other Record) bool { return other.ID == r.ID })
	})
	for name := range files {
		if name, ok := strings.CutPrefix(name, versionsDir+"/"); ok {
			name, _, _ = strings.Cut(name, ".")
			j.store.unregister(name)
		}
	}
}

// addVersions registers the contents of a change that are not stored yet, and adds their
// files.
func (j *Journal) addVersions(r Record, files map[string][]byte) {
	near := versionName(r.Before)
	if !j.has(r.Before) || near == "" {
		near = versionName(j.lastVersion(r.Path))
	}
	for _, v := range []struct {
		content []byte
		digest  string
	}{{r.Old, r.Before}, {r.New, r.After}} {
		if name := versionName(v.digest); v.content != nil && !j.has(v.digest) {
			e := j.store.encode(name, v.content, near)
			j.store.register(name, e.storedVersion)
			files[filepath.Join(versionsDir, filepath.Base(j.store.path(name, e.storedVersion)))] = e.data
		}
	}
}

// lastVersion returns the digest of the newest recorded content of a file, or "".
func (j *Journal) lastVersion(path string) string {
	for _, r := range slices.Backward(j.records) {
		if r.FilePath() == path && r.After != "" {
			return r.After
		}
	}
	return ""
}

// Done records that a change is complete, unless the journal has it as complete or does not
// have it any more. After a power failure, the change may be pending again.
func (j *Journal) Done(id string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	i, ok := j.findRecord(id)
	if !ok || j.records[i].State != StateIntent {
		return nil
	}
	r := &j.records[i]
	made := *r
	made.State = StateDone
	if err := j.log.rename(r.fileName(), made.fileName()); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	*r = made
	j.completed++
	j.recordCurrent(made)
	if len(r.Undoes) > 0 {
		j.markUndone()
	}
	if j.Completed != nil {
		j.Completed(*r)
	}
	return nil
}

// Abandon deletes the record of a change, if there is one, that was not made and will not
// be, or that was reverted at once.
func (j *Journal) Abandon(id string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	i, ok := j.findRecord(id)
	if !ok {
		return nil
	}
	if err := j.log.remove(j.records[i].fileName()); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	undoes := len(j.records[i].Undoes) > 0
	j.records = slices.Delete(j.records, i, i+1)
	if undoes {
		j.markUndone()
	}
	return nil
}

func (j *Journal) findRecord(id string) (int, bool) {
	return slices.BinarySearchFunc(j.records, id, func(r Record, id string) int { return strings.Compare(r.ID, id) })
}

func (j *Journal) recordPath(r Record) string { return filepath.Join(j.Dir, r.fileName()) }

func (r *Record) fileName() string {
	if r.State == StateIntent {
		return r.ID + intentSuffix
	}
	return r.ID + doneSuffix
}

func (j *Journal) now() time.Time {
	if j.Now != nil {
		return j.Now()
	}
	return time.Now()
}
