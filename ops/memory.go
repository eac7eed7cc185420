// Package ops does the operations that package api describes.
//
// A [Memory] has an index, files and what changes them. Each operation is a
// function in a file of its name or of its family; bind.go has the table of them.
// A [Call] is who asks: what it may not read does not exist for it.
package ops

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/compactor"
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/todosync"
	"github.com/memwatchd/memwatchd/vault"
)

// A Memory is what the operations ask. Its fields must not change while it is
// in use.
type Memory struct {
	Index  *index.Index
	Files  Files
	Scopes Scopes
	Keeper Keeper

	// What changes files: nil if nothing can be written.
	Writer    *vault.Writer
	Undoer    *vault.Undoer
	Todos     *todosync.Syncer
	Compactor *compactor.Compactor
	Compress  *compactor.Compress
	Turn      *compactor.Turn // of whoever tidies up

	Judge        Judge   // of what in a draft is there already, beside the rules; may be nil
	JudgePrivate bool    // it is told private text too, and so is Reducer
	Reducer      Reducer // of texts that are captured, beside the rules; may be nil

	Parse    func(vault.File) *memory.Document // reads a file as Files does
	Layout   *memory.Layout                    // that it is read by
	DaysIn   string                            // where the days of new sessions lie: root, memory (its directory), or auto, for that directory if there is one
	Disabled bool                              // what would be written is not, and the answer says so
	Used     func(ids []string, now time.Time) // is told, as path#id, which entries were returned; may be nil

	Owner      string         // the subject that owns the root
	Location   *time.Location // of days; UTC if nil
	Recent     int            // how many days are recent; 7 if zero
	Forgetting string         // file of what is to be forgotten; empty if that is not kept
	Injection  bool           // whether context blocks have content
	MaxItems   int            // in a context block
	MaxChars   int            // in a context block of items, or of what is relevant
	MaxFull    int            // of MEMORY.md in a context block, in characters
	Patience   time.Duration  // how long an answer waits to be fresh

	OmitUntrusted bool // what others wrote is left out of context blocks, not marked

	Now func() time.Time // time.Now if nil

	queries Window

	forgetting forgetting
	reductions reductions

	bindOnce sync.Once
	bindings map[string]binding
}

// The operations are methods of types that embed each other, so that those that
// only read cannot reach what writes.
type (
	reading   struct{ *Memory } // searches, lists and shows
	writing   struct{ reading } // adds to files and changes them
	drafting  struct{ writing } // merges the drafts of sessions
	capturing struct{ writing } // keeps what is worth keeping of a text
	keying    struct{ writing } // items by namespace and key
	erasing   struct{ writing } // forgets, in files, archive, journal and index
	admin     struct{ writing } // maintenance, journal, identities, status
)

func (m *Memory) reading() reading     { return reading{m} }
func (m *Memory) writing() writing     { return writing{m.reading()} }
func (m *Memory) drafting() drafting   { return drafting{m.writing()} }
func (m *Memory) capturing() capturing { return capturing{m.writing()} }
func (m *Memory) keying() keying       { return keying{m.writing()} }
func (m *Memory) erasing() erasing     { return erasing{m.writing()} }
func (m *Memory) admin() admin         { return admin{m.writing()} }

// Files gives the files of memory as they are now. An error that is
// fs.ErrNotExist says that there is none of that name, or none that is read.
type Files interface {
	Load(path string) (*memory.Document, error)
}

// A Keeper keeps the index in step with the files.
type Keeper interface {
	// Sync returns when everything that was saved before it was called is
	// indexed.
	Sync(ctx context.Context) error
	// Rebuild makes the index anew.
	Rebuild(ctx context.Context) error
	// Purge makes the index anew, so that nothing is left of what files said
	// before: neither in it, nor in what was kept of older ones.
	Purge(ctx context.Context) error
	// Check compares files and index by content, below a path or everywhere.
	Check(ctx context.Context, path string) (*api.CheckAnswer, error)
	// Mend makes the index hold what the files at these paths say, whatever it
	// holds and knows of them.
	Mend(ctx context.Context, paths []string) error
	// State says how far answers can be trusted. It is asked for with each of
	// them, so it takes next to no time; Size may be missing.
	State() api.IndexStatus
	// Report says how things are going.
	Report() api.Status
	// Subscribe calls f with what happens from now on, until the context ends.
	Subscribe(ctx context.Context, f func(Change) error) error
}

func (m *Memory) now() time.Time {
	if m.Now != nil {
		return m.Now()
	}
	return time.Now()
}

func (m *Memory) location() *time.Location {
	if m.Location != nil {
		return m.Location
	}
	return time.UTC
}

// day is a calendar day of memory, some days away from today.
func (m *Memory) day(days int) string {
	now := m.now().In(m.location())
	return time.Date(now.Year(), now.Month(), now.Day()+days, 12, 0, 0, 0, m.location()).Format(time.DateOnly)
}

// sync waits for what was saved before, as long as there is patience. What was
// saved may say who may read what, too: the call's view is the one after that.
func (m *Memory) sync(ctx context.Context, c *Call, f api.Fresh) (bool, error) {
	if f.Sync != nil && !*f.Sync {
		return false, nil
	}
	wait, cancel := context.WithTimeout(ctx, m.Patience)
	defer cancel()
	synced := m.Keeper.Sync(wait) == nil
	return synced, m.look(c)
}

// look finds out what the caller may read now. While the index is not whole that
// may be less than it should be, even if it has become whole by the time that
// the answer is ready.
func (m *Memory) look(c *Call) (err error) {
	c.degraded = m.Keeper.State().Degraded
	c.Scope = m.Scopes.Scope(c.Scope.Subject, c.Scope.Context)
	if c.View, err = m.Scopes.View(c.Scope); err != nil {
		return api.Errorf(api.Invalid, "%v", err)
	}
	return nil
}

// state is the state of the index, for one caller.
func (m *Memory) state(c Call, synced bool) api.IndexState {
	report := m.Keeper.State()
	s := api.IndexState{Synced: synced, Degraded: report.Degraded || c.degraded}
	if c.Whole {
		s.Revision, s.Pending, s.Problem = &report.Revision, &report.Pending, report.Problem
	}
	return s
}

// load is a file as the caller may see it: from here on, there is nothing in it
// that the caller may not. What is not there, and what holds nothing for the
// caller, is the same error, and takes the same time.
func (m *Memory) load(c Call, path string) (*memory.Document, memory.Shown, error) {
	path = m.unsaid(c, path)
	if info, ok := m.Index.File(path); ok && !info.Readable(c.View) {
		return nil, memory.Shown{}, notFound("file", path)
	}
	doc, err := m.Files.Load(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, memory.Shown{}, err
	}
	if err == nil && !stolen(c, doc) {
		if doc = doc.For(c.View); doc != nil {
			return doc, doc.Shown(c.View), nil
		}
	}
	return nil, memory.Shown{}, notFound("file", path)
}

// stolen reports whether a file lies in a directory that the caller's view takes
// for the caller's, and says itself that it is somebody else's: it may have been
// written a moment ago.
func stolen(c Call, doc *memory.Document) bool {
	return doc.Claim != "" && doc.Claim != c.View.SubjectOf(doc.Own)
}

// unsaid is the path of a file whose name is no text: what asks for it has a
// replacement character for each byte that cannot be said.
func (m *Memory) unsaid(c Call, path string) string {
	if !strings.ContainsRune(path, utf8.RuneError) {
		return path
	}
	meant := m.Index.Files(func(f *index.FileInfo) bool {
		return f.Path == path || string([]rune(f.Path)) == path && f.Readable(c.View)
	})
	for _, f := range meant {
		if f.Path == path {
			return path
		}
	}
	if len(meant) == 0 {
		return path
	}
	return meant[0].Path
}

// readable gives the files that the caller can read and keep says yes to, in the
// order of paths.
func (m *Memory) readable(c Call, keep func(*index.FileInfo) bool) iter.Seq2[*memory.Document, memory.Shown] {
	list := m.Index.Files(func(f *index.FileInfo) bool { return keep(f) && f.Readable(c.View) })
	return func(yield func(*memory.Document, memory.Shown) bool) {
		for _, info := range list {
			if doc, shown, err := m.load(c, info.Path); err == nil && !yield(doc, shown) {
				return
			}
		}
	}
}
