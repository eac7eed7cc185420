package compactor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/memwatchd/memwatchd/internal/state"
	"github.com/memwatchd/memwatchd/memory"
)

const (
	// saveAfter is the interval of saves; a crash loses at most the counts of
	// this time.
	saveAfter = time.Minute
	// maxCounted bounds the number of counted entries; the least used ones are
	// dropped.
	maxCounted = 20_000
	// minCount is the count below which a use is dropped, some 200 days after a
	// single use.
	minCount = 0.01
)

// Uses counts how often and how recently each entry was returned or shown. It
// stores the counts in a state file and transfers them when an entry is edited
// in place. The counts only affect trimming and never an answer. Uses is safe
// for concurrent use, and recording a use is fast.
type Uses struct {
	Path   string                 // of the state file
	Counts func(path string) bool // reports whether a file's entries are counted; nil counts all
	Files  Files
	Logger *slog.Logger
	Now    func() time.Time

	write    func(string, []byte) error // state.Write; tests replace it
	saving   sync.Mutex                 // held while saving, so that no older counts replace newer ones; before mu
	mu       sync.Mutex
	loaded   bool
	since    time.Time
	files    map[string]*usedFile
	newFiles map[string]bool // files with entries known only by id
	dirty    bool
}

type usedFile struct {
	Entries map[string]*usedEntry `json:"entries"` // by id
}

// A usedEntry is a used entry with the properties that identify it after an
// edit.
type usedEntry struct {
	Count  float64   `json:"count"` // at the time Last
	Last   time.Time `json:"last"`
	Title  string    `json:"title,omitempty"`
	Within string    `json:"within,omitempty"` // section
}

type usesState struct {
	Version int                  `json:"version"`
	Since   time.Time            `json:"since"`
	Files   map[string]*usedFile `json:"files"`
}

// Open reads the counts. A missing file is not an error. If the file is
// unreadable, Open returns an error and counting restarts, which only delays
// trimming.
func (u *Uses) Open() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.write = state.Write
	u.loaded, u.since, u.files = true, u.Now().UTC().Truncate(time.Second), map[string]*usedFile{}
	var saved usesState
	err := state.Load(u.Path, 1, &saved)
	if err == nil && saved.Since.IsZero() {
		err = state.SetAside(u.Path, errors.New("no start of counting"))
	}
	u.dirty = err != nil
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("usage counts: %w", err)
	}
	u.since = saved.Since
	for path, f := range saved.Files {
		if f == nil {
			continue
		}
		maps.DeleteFunc(f.Entries, func(_ string, e *usedEntry) bool { return e == nil || !(e.Count > 0) })
		if len(f.Entries) > 0 {
			u.files[path] = f
		}
	}
	return nil
}

// Since returns the start of counting, or the zero time before it is known.
func (u *Uses) Since() time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.since
}

// Used records that entries, given as path#id, were returned or shown.
func (u *Uses) Used(ids []string, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, id := range ids {
		i := strings.LastIndexByte(id, '#') // an id contains no #, but a path may
		if i < 0 || u.files == nil || u.Counts != nil && !u.Counts(id[:i]) {
			continue
		}
		path, id := id[:i], id[i+1:]
		f := u.files[path]
		if f == nil {
			f = &usedFile{Entries: map[string]*usedEntry{}}
			u.files[path] = f
		}
		e := f.Entries[id]
		if e == nil {
			e = &usedEntry{}
			f.Entries[id] = e
			if u.newFiles == nil {
				u.newFiles = map[string]bool{}
			}
			u.newFiles[path] = true
		}
		e.Count, e.Last = e.countAt(now)+1, now.UTC().Truncate(time.Second)
		u.dirty = true
	}
}

func (e *usedEntry) countAt(now time.Time) float64 { return e.Count * decay(max(0, now.Sub(e.Last))) }

// Of returns the decayed number of times that an entry of a file was returned
// or shown: each use counts 1, halved every 30 days. It returns 0 for an
// unknown entry.
func (u *Uses) Of(path, id string, now time.Time) float64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	if f := u.files[path]; f != nil {
		if e := f.Entries[id]; e != nil {
			return e.countAt(now)
		}
	}
	return 0
}

// Changed updates the counts of a file and transfers the counts of edited
// entries. A nil doc means that the file is gone, with its counts.
func (u *Uses) Changed(path string, doc *memory.Document) {
	u.mu.Lock()
	defer u.mu.Unlock()
	f := u.files[path]
	switch {
	case f == nil:
	case doc == nil:
		delete(u.files, path)
		u.dirty = true
	default:
		f.transferCounts(doc)
		delete(u.newFiles, path)
		u.dirty = true
	}
}

// Forget permanently drops the counts and stored text of the entries that which
// selects by path, id and stored text. If Forget returns an error, the change
// may not be on disk yet.
func (u *Uses) Forget(which func(path, id, text string) bool) error {
	u.mu.Lock()
	for path, f := range u.files {
		maps.DeleteFunc(f.Entries, func(id string, e *usedEntry) bool { return which(path, id, e.Title+"\n"+e.Within) })
		if len(f.Entries) == 0 {
			delete(u.files, path)
		}
	}
	u.dirty = true
	u.mu.Unlock()
	u.Save()
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.dirty && u.loaded {
		return errors.New("cannot save usage counts")
	}
	return nil
}

// Run saves the counts periodically until the context ends, and then once more.
// It returns the error of the context.
func (u *Uses) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			u.Save()
			return ctx.Err()
		case <-time.After(saveAfter):
			u.Save()
		}
	}
}

// Save saves changed counts. It logs a failure and retries with the next save,
// because no other function depends on the result.
func (u *Uses) Save() {
	u.saving.Lock()
	defer u.saving.Unlock()
	u.readNew()
	u.mu.Lock()
	if !u.dirty || !u.loaded {
		u.mu.Unlock()
		return
	}
	u.dropFaded()
	data, err := json.Marshal(usesState{Version: 1, Since: u.since, Files: u.files})
	u.dirty = false
	u.mu.Unlock()
	if err == nil {
		err = u.write(u.Path, data)
	}
	if err != nil {
		u.Logger.Warn("cannot save usage counts", "path", u.Path, "err", err)
		u.mu.Lock()
		u.dirty = true
		u.mu.Unlock()
	}
}

// readNew reads the files with entries known only by id.
func (u *Uses) readNew() {
	u.mu.Lock()
	paths := slices.Sorted(maps.Keys(u.newFiles))
	u.newFiles = nil
	u.mu.Unlock()
	for _, path := range paths {
		if doc, err := u.Files.Load(path); err == nil {
			u.Changed(path, doc)
		}
	}
}

func (u *Uses) dropFaded() {
	now := u.Now()
	type counted struct {
		path, id string
		count    float64
	}
	var all []counted
	for path, f := range u.files {
		maps.DeleteFunc(f.Entries, func(_ string, e *usedEntry) bool { return e.countAt(now) < minCount })
		for id, e := range f.Entries {
			all = append(all, counted{path, id, e.countAt(now)})
		}
	}
	if len(all) > maxCounted {
		slices.SortFunc(all, func(a, b counted) int {
			return cmp.Or(cmp.Compare(b.count, a.count), strings.Compare(a.path, b.path), strings.Compare(a.id, b.id))
		})
		for _, c := range all[maxCounted:] {
			delete(u.files[c.path].Entries, c.id)
		}
	}
	maps.DeleteFunc(u.files, func(_ string, f *usedFile) bool { return len(f.Entries) == 0 })
}
