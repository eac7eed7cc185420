package compactor

import (
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

	write   func(string, []byte) error // state.Write; tests replace it
	saving  sync.Mutex                 // held while saving, so that no older counts replace newer ones; before mu
	mu      sync.Mutex
	since   time.Time
	files   map[string]*usedFile // nil before Open
	changed map[string]bool      // files to compare with their counts
	dirty   bool
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
	u.write, u.changed = state.Write, map[string]bool{}
	u.since, u.files = u.Now().UTC().Truncate(time.Second), map[string]*usedFile{}
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
		if f != nil && len(f.Entries) > 0 {
			maps.DeleteFunc(f.Entries, func(_ string, e *usedEntry) bool { return e == nil || !(e.Count > 0) })
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
			f.Entries[id], u.changed[path] = e, true
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
	if f := u.files[path]; f != nil && f.Entries[id] != nil {
		return f.Entries[id].countAt(now)
	}
	return 0
}

// Changed records that a file has changed or is gone, so that its counts follow its
// entries. Changed returns quickly.
func (u *Uses) Changed(path string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.files[path] != nil {
		u.changed[path] = true
	}
}

// Forget permanently drops the counts and stored text of the entries that which
// selects by path, id and stored text. If Forget returns an error, the change
// may not be on disk yet.
func (u *Uses) Forget(which func(path, id, text string) bool) error {
	u.mu.Lock()
	for path, f := range u.files {
		maps.DeleteFunc(f.Entries, func(id string, e *usedEntry) bool { return which(path, id, e.Title+"\n"+e.Within) })
	}
	u.dirty = true
	u.mu.Unlock()
	return u.Save()
}

// Run saves the counts periodically until the context ends, and then once more.
// It logs failures, and returns the error of the context.
func (u *Uses) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
		case <-time.After(saveAfter):
		}
		if err := u.Save(); err != nil {
			u.Logger.Warn("cannot save usage counts, retrying", "err", err)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// Save saves changed counts. After an error the next call retries.
func (u *Uses) Save() error {
	u.saving.Lock()
	defer u.saving.Unlock()
	u.update()
	u.mu.Lock()
	if !u.dirty || u.files == nil {
		u.mu.Unlock()
		return nil
	}
	now := u.Now()
	maps.DeleteFunc(u.files, func(_ string, f *usedFile) bool {
		maps.DeleteFunc(f.Entries, func(_ string, e *usedEntry) bool { return e.countAt(now) < minCount })
		return len(f.Entries) == 0
	})
	data, err := json.Marshal(usesState{Version: 1, Since: u.since, Files: u.files})
	u.dirty = false
	u.mu.Unlock()
	if err == nil {
		err = u.write(u.Path, data)
	}
	if err != nil {
		u.mu.Lock()
		u.dirty = true
		u.mu.Unlock()
		return fmt.Errorf("usage counts: %w", err)
	}
	return nil
}

// update compares the files that have changed, or have newly counted entries, with
// their counts.
func (u *Uses) update() {
	u.mu.Lock()
	paths := slices.Collect(maps.Keys(u.changed))
	u.dirty = u.dirty || len(paths) > 0
	clear(u.changed)
	u.mu.Unlock()
	for _, path := range paths {
		doc, err := u.Files.Load(path)
		u.mu.Lock()
		if f := u.files[path]; f != nil && err == nil {
			f.transferCounts(doc)
		} else if errors.Is(err, fs.ErrNotExist) {
			delete(u.files, path)
		}
		u.mu.Unlock()
	}
}

// transferCounts transfers the counts of edited entries to their new ids. A generated
// id depends on the entry's text, so an edit changes it. The edited entry is the only
// one of the same section with the same title, if its id has no count. Without one,
// the count stays under the old id until it fades: the edit may be reverted.
func (f *usedFile) transferCounts(doc *memory.Document) {
	at := make(map[string]int, len(doc.Entries))
	for i := range doc.Entries {
		at[doc.Entries[i].ID] = i
	}
	for _, id := range slices.Sorted(maps.Keys(f.Entries)) {
		e := f.Entries[id]
		if _, ok := at[id]; ok {
			continue
		}
		if now := findTitled(doc, e.Title, e.Within); now != "" && f.Entries[now] == nil {
			delete(f.Entries, id)
			f.Entries[now] = e
		}
	}
	for id, u := range f.Entries {
		i, ok := at[id]
		if !ok {
			continue
		}
		e := &doc.Entries[i]
		u.Title, u.Within = "", sectionKey(e)
		if findTitled(doc, e.Title, u.Within) == e.ID {
			u.Title = e.Title
		}
	}
}

func sectionKey(e *memory.Entry) string { return strings.Join(e.Sections, "\x1f") }

// findTitled returns the id of the only entry of a section with a title, or "" if
// there are none or several.
func findTitled(doc *memory.Document, title, section string) string {
	found := ""
	for i := range doc.Entries {
		e := &doc.Entries[i]
		if e.Title != title || title == "" || sectionKey(e) != section {
			continue
		}
		if found != "" {
			return ""
		}
		found = e.ID
	}
	return found
}
