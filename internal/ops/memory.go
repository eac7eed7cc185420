// Package ops implements the operations that package api describes.
//
// A [Memory] combines the index, the files and the writers that change them.
// Each operation is a function in a file named after the operation or its
// family; bind.go lists all of them. A [Call] describes the caller. Data that
// the caller may not read does not exist for the call.
package ops

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/sync/semaphore"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/compactor"
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/internal/dates"
	"github.com/memwatchd/memwatchd/internal/secrets"
	"github.com/memwatchd/memwatchd/internal/share"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/todosync"
	"github.com/memwatchd/memwatchd/vault"
)

// A Memory holds the data and settings of the operations. Its fields must not
// change while it is in use.
type Memory struct {
	Reading
	Writing
	Administration
}

// A Reading is the part of a memory for operations that only read.
type Reading struct {
	Index   *index.Index
	Files   compactor.Files // the current files of the memory, without excluded ones
	Scopes  Scopes
	Vectors index.Vectors // compares meanings; nil if semantic search is off
	Shared  *share.Reader // searches the entries of other machines; may be nil

	Parse  func(vault.File) *memory.Document // parses a file as Files does
	Layout *memory.Layout                    // the layout that Parse uses
	// parent of new day directories: root, memory, or auto, which follows the existing ones
	DaysIn   string
	Disabled bool                              // nothing is read or written, and answers report that
	Used     func(ids []string, now time.Time) // records the returned entries, as path#id; may be nil

	Owner       string         // the subject that owns the root
	Location    *time.Location // time zone of days
	Recent      int            // number of recent days; 7 if zero
	Injection   bool           // whether context blocks have content
	MaxItems    int            // limit of a context block
	MaxChars    int            // limit of a context block of items or of relevant entries
	MaxFull     int            // limit of MEMORY.md in a context block, in characters
	SyncTimeout time.Duration  // timeout of the wait for a fresh index before an answer

	Roots []Root // folders beside the memory directory

	Now func() time.Time

	queries Window
	shown   shownLines

	injected injectedBlocks
}

// A Writing is the part of a memory for operations that change text.
type Writing struct {
	Writer *vault.Writer    // nil if the memory is read-only
	Todos  *todosync.Syncer // nil as Writer

	Judge        Judge   // finds draft items that duplicate existing ones, in addition to the rules; may be nil
	JudgePrivate bool    // private text may be sent to Judge and Reducer too
	Reducer      Reducer // summarizes captured texts, in addition to the rules; may be nil

	reductions reductionQueue
	waiting    editQueue
	claims     sync.Mutex // held while a directory is claimed
}

// An Administration is the part of a memory for operations that erase text or maintain
// the memory.
type Administration struct {
	Indexer   Indexer
	Undoer    *vault.Undoer // nil if the memory is read-only, as the next ones
	Merger    *vault.Merger
	Compactor *compactor.Compactor
	Compress  *compactor.Compress
	Semaphore *semaphore.Weighted // of weight 1; serializes maintenance runs
	Publisher Publisher           // publishes entries for other machines; nil if nothing is shared

	// RecordHistory records the change of a file by another program that the index
	// contains, or those of all files if path is empty.
	RecordHistory func(ctx context.Context, path string)

	ErasureFile string // file that records unfinished erasures, in the directory of the state

	// EraseSpool removes the requests of hooks that wait for delivery and have a text for
	// which matches returns true.
	EraseSpool func(matches func(text string) bool) error

	forgetLists forgetLists
}

// The operations are methods of three types, each of which has only the parts of the
// memory that its operations need: bindings select the type.
type (
	// readOps searches, lists and shows.
	readOps struct {
		*Reading
		syncer syncer
		limits fillMeter // nil without capacities
	}
	// writeOps adds and changes text.
	writeOps struct {
		readOps
		*Writing
	}
	// adminOps erases text, and maintains the memory.
	adminOps struct {
		writeOps
		*Administration
	}
)

func (m *Memory) readOps() readOps {
	r := readOps{Reading: &m.Reading, syncer: m.Indexer}
	if m.Compactor != nil {
		r.limits = m.Compactor
	}
	return r
}

func (m *Memory) writeOps() writeOps { return writeOps{m.readOps(), &m.Writing} }
func (m *Memory) adminOps() adminOps { return adminOps{m.writeOps(), &m.Administration} }

// A syncer is the part of an [Indexer] that readers use.
type syncer interface {
	Sync(ctx context.Context) error
	SyncRoots(ctx context.Context, names []string) error
	State() api.IndexStatus
}

// A fillMeter knows how full long-term files are.
type fillMeter interface {
	FillOf(doc *memory.Document) compactor.Fill
}

// An Indexer keeps the index consistent with the files.
type Indexer interface {
	// Sync returns when the index contains everything that was saved in the memory
	// directory before the call.
	Sync(ctx context.Context) error
	// SyncRoots is Sync for the folders with the given names.
	SyncRoots(ctx context.Context, names []string) error
	// Rebuild rebuilds the index from the files.
	Rebuild(ctx context.Context) error
	// Purge removes earlier file contents from the index and the vectors.
	Purge(ctx context.Context) error
	// Check compares the files below path with the index by content. An empty
	// path means all files.
	Check(ctx context.Context, path string) (*api.CheckAnswer, error)
	// Dismiss stops the reports of a change that another program removed.
	Dismiss(id string) error
	// Reindex reindexes the files at paths, regardless of their current index
	// records.
	Reindex(ctx context.Context, paths []string) error
	// State reports how far answers can be trusted. Each answer calls State, so
	// it must be fast; Size may be missing.
	State() api.IndexStatus
	// Report returns the status of the memory.
	Report() api.Status
	// Subscribe calls f with each later change until the context ends.
	Subscribe(ctx context.Context, f func(Change) error) error
}

// day returns the calendar day that is the given number of days after today.
func (m readOps) day(days int) string {
	now := m.Now().In(m.Location)
	return time.Date(now.Year(), now.Month(), now.Day()+days, 12, 0, 0, 0, m.Location).Format(time.DateOnly)
}

// syncIndex waits up to SyncTimeout until the index contains everything saved before
// the call, and records whether it does. It then renews the call's view,
// because the saved changes may affect permissions.
func (m readOps) syncIndex(ctx context.Context, c *Call) error {
	wait, cancel := context.WithTimeout(ctx, m.SyncTimeout)
	defer cancel()
	resume := api.PauseWork(ctx)
	c.waits, c.synced = true, m.syncer.Sync(wait) == nil
	resume()
	return m.renewView(c)
}

// renewView sets the call's view to the current permissions of the caller. While the
// index is incomplete, the view may be too narrow; c.degraded records that,
// even if the index is complete by the time of the answer.
func (m readOps) renewView(c *Call) error {
	c.degraded = m.syncer.State().Degraded
	c.Scope = m.Scopes.Scope(c.Scope.Subject, c.Scope.Context)
	if err := m.setView(c); err != nil {
		return err
	}
	if m.Disabled {
		c.View, c.disabled = c.View.Closed(), true
	}
	return nil
}

// setView sets the call's view to that of its scope.
func (m readOps) setView(c *Call) (err error) {
	c.View, err = m.Scopes.View(c.Scope)
	if err != nil {
		return api.Errorf(api.Invalid, "%v", err)
	}
	return nil
}

// indexState returns the state of the index as the caller may see it.
func (m readOps) indexState(c Call) api.IndexState {
	report := m.syncer.State()
	s := api.IndexState{Synced: c.synced, Degraded: report.Degraded || c.degraded}
	if c.FullAccess {
		s.Revision, s.Pending, s.Problem = &report.Revision, &report.Pending, report.Problem
	}
	return s
}

// loadFile returns the file at path, reduced to the parts that the caller may read.
// A missing file and a file without readable parts return the same error after
// the same time.
func (m readOps) loadFile(c Call, path string) (*memory.Document, error) {
	path = m.resolvePath(c, path)
	if info, ok := m.Index.File(path); ok && !info.Readable(c.View) {
		return nil, notFound("file", path)
	}
	doc, err := m.Files.Load(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err == nil && !claimsOtherSubject(c, doc) {
		doc = doc.For(c.View)
		if doc != nil {
			return doc, nil
		}
	}
	return nil, notFound("file", path)
}

// claimsOtherSubject reports whether a file claims another subject although the caller's
// view assigns its directory to the caller. Such a file may have been written a
// moment ago.
func claimsOtherSubject(c Call, doc *memory.Document) bool {
	return doc.Claim != "" && doc.Claim != c.View.SubjectOf(doc.Partition)
}

// resolvePath returns the path of a file whose name answers show in another form:
// with a replacement character for each invalid byte, and with masks of
// credentials. If the names of several files have the same masks, it returns
// none of them.
func (m readOps) resolvePath(c Call, path string) string {
	masked := secrets.CountMasks(path) > 0
	if !masked && !strings.ContainsRune(path, utf8.RuneError) {
		return path
	}
	meant := m.Index.Files(func(f *index.FileInfo) bool {
		return (f.Path == path || shownPath(f.Path) == path) && f.Readable(c.View)
	})
	for _, f := range meant {
		if f.Path == path {
			return path
		}
	}
	if len(meant) == 0 || masked && len(meant) > 1 {
		return path
	}
	return meant[0].Path
}

func shownPath(path string) string {
	path, _ = secrets.Redact(string([]rune(path)))
	return path
}

// readableFiles yields the files that the caller can read and keep accepts, in path
// order.
func (m readOps) readableFiles(c Call, keep func(*index.FileInfo) bool) iter.Seq[*memory.Document] {
	list := m.Index.Files(func(f *index.FileInfo) bool { return keep(f) && f.Readable(c.View) })
	return func(yield func(*memory.Document) bool) {
		for _, info := range list {
			if doc, err := m.loadFile(c, info.Path); err == nil && !yield(doc) {
				return
			}
		}
	}
}

// listFiles returns the files that [readOps.readableFiles] yields.
func (m readOps) listFiles(c Call, keep func(*index.FileInfo) bool) []*memory.Document {
	return slices.Collect(m.readableFiles(c, keep))
}

// parsePeriod returns the first and the last moment of a period that a caller
// names. An empty string returns zero times.
func (m readOps) parsePeriod(name, s string) (first, last time.Time, err error) {
	if s == "" {
		return time.Time{}, time.Time{}, nil
	}
	first, last, ok := dates.Parse(s, m.Now().In(m.Location))
	if year := first.UTC().Year(); !ok || year < 1 || year > maxYear { // answers contain the first moment
		return first, last, api.Errorf(api.Invalid, "%s: %q is not a time", name, s).WithHint(
			"use a day, month, year or time such as 2026-02-04, 2026-02, 2026 or 2026-02-04T12:30:00Z, " +
				"an age such as 36h, 7d or 2w, today, yesterday, a weekday, last week, or 3 days ago")
	}
	return first, last, nil
}

// parseDay returns the day that a caller names, in the form 2026-02-04.
func (m readOps) parseDay(s string) (string, error) {
	first, last, ok := dates.Parse(s, m.Now().In(m.Location))
	if day := first.Format(time.DateOnly); ok && first != last && day == last.Format(time.DateOnly) {
		return day, nil
	}
	return "", api.Errorf(api.Invalid, "day: %q is not a day", s).
		WithHint("use a day such as 2026-02-04, today, yesterday, or a weekday")
}
