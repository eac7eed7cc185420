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

	mu        sync.Mutex
	store     *versionStore
	records   []Record // sorted by ID
	last      int64    // the newest ID as a number
	completed int      // number of changes that were completed
	history   history
	problems  []string
}

const (
	intentSuffix = ".intent.json"
	doneSuffix   = ".json"
	tempSuffix   = intentSuffix + state.TempSuffix // temporary file of a record

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
	if err := state.PrivateDir(dir); err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	entries, err := os.ReadDir(dir) // sorted by name
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	store, err := openVersions(filepath.Join(dir, versionsDir))
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	j := &Journal{Dir: dir, Retention: keep, store: store}
	for _, e := range entries {
		j.loadFile(e)
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
	case name == "CACHEDIR.TAG", name == versionsDir:
		return
	case !ok || !e.Type().IsRegular() || ending != intentSuffix && ending != doneSuffix && ending != tempSuffix:
		j.problems = append(j.problems, name+": unexpected file in the journal")
		return
	case ending == tempSuffix:
		os.Remove(filepath.Join(j.Dir, name)) // the record was incomplete, so the change had not begun
		return
	}
	j.last = max(j.last, n)
	r, err := readHeader(filepath.Join(j.Dir, name))
	if err == nil && r.ID != id {
		err = errors.New("file name and id differ")
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
	list, err := j.BeginAll([]Record{r})
	if err != nil {
		return Record{}, err
	}
	return list[0], nil
}

// BeginAll is [Journal.Begin] for several changes. It writes their records at the
// same time, so that the disk can sync them together. On error none is recorded.
func (j *Journal) BeginAll(records []Record) ([]Record, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	external := j.externalChanges(records)
	all, err := j.add(append(external, records...), true)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	for _, r := range external {
		j.history.current[r.Path] = r.After
	}
	return all[len(external):], nil
}

// add stores records and their versions, durably if durable is set, and returns the records
// with their IDs. On error it stores none.
func (j *Journal) add(records []Record, durable bool) ([]Record, error) {
	records = slices.Clone(records)
	texts := make([][]byte, len(records))
	last := j.last
	for i := range records {
		r := &records[i]
		if r.Time.IsZero() {
			r.Time = j.now()
		}
		last = max(last+1, idNumber(r.Time))
		if last >= 1<<(5*idLength) {
			return nil, fmt.Errorf("no id for a change at %s: correct the clock", r.Time.Format(time.RFC3339))
		}
		r.ID, r.State = formatID(last), StateIntent
		if r.External {
			r.State = StateDone
		}
		r.Group = cmp.Or(r.Group, r.ID)
		var err error
		texts[i], err = r.encode()
		if err != nil {
			return nil, err
		}
	}
	versions := j.encodeVersions(records)
	if err := j.writeAll(records, texts, versions, durable); err != nil {
		return nil, err
	}
	j.last = last
	for _, v := range versions {
		j.store.register(v.name, v.storedVersion)
	}
	for i := range records {
		records[i].Old, records[i].New = nil, nil
	}
	j.records = append(j.records, records...)
	return records, nil
}

// writeAll writes the files of records and versions at the same time, so that the disk
// can sync them together. On error it leaves none.
func (j *Journal) writeAll(records []Record, texts [][]byte, versions []encodedVersion, durable bool) error {
	errs := make([]error, len(records)+len(versions))
	var group sync.WaitGroup
	for i := range records {
		group.Go(func() { errs[i] = writeFile(j.recordPath(records[i]), texts[i], durable) })
	}
	for i, v := range versions {
		group.Go(func() { errs[len(records)+i] = writeFile(j.store.path(v.name, v.storedVersion), v.data, durable) })
	}
	group.Wait()
	err := errors.Join(errs...)
	if err == nil {
		return nil
	}
	for _, r := range records {
		os.Remove(j.recordPath(r)) // it may exist without being durable
	}
	for _, v := range versions {
		os.Remove(j.store.path(v.name, v.storedVersion))
	}
	return err
}

// writeFile replaces a file, durably if durable is set.
func writeFile(path string, data []byte, durable bool) error {
	if durable {
		return state.Write(path, data)
	}
	err := os.WriteFile(path+state.TempSuffix, data, 0o600)
	if err == nil {
		err = os.Rename(path+state.TempSuffix, path)
	}
	return err
}

// encodeVersions returns the contents of changes that are not stored yet.
func (j *Journal) encodeVersions(records []Record) (list []encodedVersion) {
	add := func(content []byte, digest, near string) {
		name := versionName(digest)
		if _, ok := j.store.versions[name]; !ok && content != nil &&
			!slices.ContainsFunc(list, func(v encodedVersion) bool { return v.name == name }) {
			list = append(list, j.store.encode(name, content, near))
		}
	}
	for _, r := range records {
		near := versionName(r.Before)
		if _, ok := j.store.versions[near]; !ok {
			near = versionName(j.lastVersion(r.Path))
		}
		add(r.Old, r.Before, near)
		add(r.New, r.After, near)
	}
	return list
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

// syncDir makes the names in the directory durable.
func (j *Journal) syncDir() error {
	dir, err := os.Open(j.Dir)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// Done records that a change is complete. It may be called more than once.
func (j *Journal) Done(id string) error { return j.DoneAll([]string{id})[0] }

// DoneAll is [Journal.Done] for several changes, and returns an error for each that
// failed. It syncs the directory once.
func (j *Journal) DoneAll(ids []string) []error {
	j.mu.Lock()
	defer j.mu.Unlock()
	errs := make([]error, len(ids))
	var made []int
	for i, id := range ids {
		var renamed bool
		renamed, errs[i] = j.complete(id)
		if renamed {
			made = append(made, i)
		}
	}
	if len(made) == 0 {
		return errs
	}
	if err := j.syncDir(); err != nil {
		for _, i := range made {
			errs[i] = fmt.Errorf("journal %s: %w", ids[i], err)
		}
	}
	return errs
}

// complete marks a change as complete and reports whether it was pending.
func (j *Journal) complete(id string) (renamed bool, err error) {
	i, ok := j.findRecord(id)
	if !ok {
		return false, fmt.Errorf("journal %s: %w", id, ErrNoRecord)
	}
	r := &j.records[i]
	if r.State != StateIntent {
		return false, nil
	}
	made := *r
	made.State = StateDone
	if err := os.Rename(j.recordPath(*r), j.recordPath(made)); err != nil {
		return false, fmt.Errorf("journal: %w", err)
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
	return true, nil
}

// Abandon deletes the record of a change that was not made and will not be, or
// that was reverted at once. The error is [ErrNoRecord] if there is no such
// record, or that of the disk.
func (j *Journal) Abandon(id string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	i, ok := j.findRecord(id)
	if !ok {
		return fmt.Errorf("journal %s: %w", id, ErrNoRecord)
	}
	if err := os.Remove(j.recordPath(j.records[i])); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("journal: %w", err)
	}
	undoes := len(j.records[i].Undoes) > 0
	j.records = slices.Delete(j.records, i, i+1)
	if undoes {
		j.markUndone()
	}
	if err := j.syncDir(); err != nil {
		return fmt.Errorf("journal %s: %w", id, err)
	}
	return nil
}

func (j *Journal) findRecord(id string) (int, bool) {
	return slices.BinarySearchFunc(j.records, id, func(r Record, id string) int { return strings.Compare(r.ID, id) })
}

func (j *Journal) recordPath(r Record) string {
	ending := doneSuffix
	if r.State == StateIntent {
		ending = intentSuffix
	}
	return filepath.Join(j.Dir, r.ID+ending)
}

func (j *Journal) now() time.Time {
	if j.Now != nil {
		return j.Now()
	}
	return time.Now()
}
