// Package compactor makes room in long-term memory.
//
// What is long remembered is read at the start of every session, so it must
// stay short. From time to time the compactor looks at the long-term files, and
// moves what is done, superseded, said twice, or hardly ever used into an
// archive, from where it can be brought back as it was.
//
// The rules of it:
//
//   - Every step is planned first, by a pure function of the file, the limits
//     and the counts ([PlanFile]); a dry run is the plan.
//   - Only top-level list items ever go. Paragraphs, tables, code and quotes
//     are left as they are, and so are files that no limit names.
//   - Nothing goes before its copy is safely in the archive. A copy that does
//     not give back the very bytes is none: such an item stays.
//   - A run takes at most a quarter of a file's items, and what it takes can be
//     undone as one.
//   - How often something is used decides what goes, and nothing else: no
//     search and no answer depends on it.
package compactor

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// Files gives files of memory as they are now, or as they last were. An error
// that is fs.ErrNotExist says that there is none.
type Files interface {
	Load(path string) (*memory.Document, error)
}

// Disk reads a file as it is at this moment, and nothing else in its place.
type Disk interface {
	Read(path string) (vault.File, error)
}

// A Writer makes changes to files.
type Writer interface {
	Write(context.Context, vault.Change) (vault.Written, error)
}

// A Compactor makes room in the long-term files of one root. Its fields must not
// change while it is in use; its methods are safe for concurrent use.
type Compactor struct {
	Files  Files
	Disk   Disk
	Writer Writer
	Parse  func(vault.File) *memory.Document
	Paths  func() []string // of all files of memory, in any order
	Uses   *Uses           // nil: nothing is counted, and nothing goes for its score alone unless a file is twice over its limit
	Logger *slog.Logger

	// Links counts the links from anywhere to the entries of a file, by the id
	// of the entry; nil if they are not counted.
	Links func(context.Context, *memory.Document) (map[string]int, error)

	Owner   string  // the subject that owns the root, as in memory.Layout; "owner" when empty
	Host    string  // the name of this machine, as it stands in the names of archives; "local" when empty
	Limits  []Limit // the first that a path matches counts; DefaultLimits when nil
	Soft    []Limit // those that only lead to hints; SoftLimits when nil
	MaxLoss float64 // the share of a file's items that one run may take; one may always go, and no more does when this is zero

	Location *time.Location   // of the months of archives; UTC when nil
	Now      func() time.Time // time.Now when nil

	running sync.Mutex // one run at a time
	fills   fills
}
