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
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
	"github.com/memwatchd/memwatchd/vault/journal"
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

	Host    string  // the name of this machine, which stands in the names of archives: see [HostName]
	Limits  []Limit // the first that a path matches counts; DefaultLimits when nil
	Soft    []Limit // those that only lead to hints; SoftLimits when nil
	MaxLoss float64 // the share of a file's items that one run may take; one may always go, and no more does when this is zero

	Location *time.Location   // of the months of archives; UTC when nil
	Now      func() time.Time // time.Now when nil

	// Moved, if not nil, is told what has gone from a file to which archive.
	Moved func(path, archive string, items int)
	// Claim is called before anything is changed, if it is not nil. See
	// [Host.Claim].
	Claim func(ctx context.Context, asked bool) error

	fills fills
}

// A Request asks for a run.
type Request struct {
	Path    string // only files of this path, below this directory, or matching this pattern; empty for all
	DryRun  bool   // plan, and change nothing
	Explain bool   // with every score, and what stays
	Asked   bool   // by somebody who waits for it, not by the clock
}

// A Report says what a run did.
type Report struct {
	Time    time.Time     // that ages were counted from
	Plans   []*Plan       // of the files that are not simply within their limits, by path
	Since   time.Time     // since when uses are counted; zero if they are not
	Applied int           // items that have gone to an archive
	Wait    time.Duration // after which it is worth another try, where somebody was at a file; zero if nobody was
}

// ErrUnlimited: no limit says how large a file may be.
var ErrUnlimited = errors.New("no limit in compactor.limits is for a long-term file of that path")

// Compact makes one run over the files with a limit. What cannot be done with
// one file is said in its plan, and keeps nobody from the others. Runs that
// change something share a [Turn].
func (c *Compactor) Compact(ctx context.Context, r Request) (*Report, error) {
	report := &Report{Time: c.now().UTC().Truncate(time.Second), Plans: []*Plan{}}
	if c.Uses != nil {
		report.Since = c.Uses.Since()
	}
	paths := c.Paths()
	slices.Sort(paths)
	found := false
	for _, path := range paths {
		limit, ok := matching(c.limits(), path)
		if !ok || !asked(r.Path, path) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return report, fmt.Errorf("compact: %w", err)
		}
		doc, err := c.Files.Load(path)
		if err != nil || doc.Place.Kind != memory.Longterm {
			continue // it has gone, or it is another kind of file that a wide pattern names
		}
		found = true
		terms, err := c.terms(ctx, doc, limit, report.Time)
		if err != nil {
			return report, fmt.Errorf("compact %s: %w", path, err)
		}
		terms.Explain = r.Explain
		plan := PlanFile(doc, terms)
		if err := c.carryOut(ctx, doc, plan, terms, r, report); err != nil {
			return report, fmt.Errorf("compact: %w", err)
		}
		if len(plan.Steps) > 0 || plan.Problem != "" || plan.State != Within || r.Path != "" || r.Explain {
			report.Plans = append(report.Plans, plan)
		}
	}
	if r.Path != "" && !found {
		return nil, fmt.Errorf("compact %s: %w", r.Path, ErrUnlimited)
	}
	return report, nil
}

// asked reports whether a path is meant.
func asked(pattern, path string) bool {
	if pattern == "" || path == pattern || strings.HasPrefix(path, strings.TrimSuffix(pattern, "/")+"/") {
		return true
	}
	_, ok := matching([]Limit{{Pattern: pattern}}, path)
	return ok
}

// carryOut does what a plan says. Only that nothing may be written at all is an
// error.
func (c *Compactor) carryOut(ctx context.Context, doc *memory.Document, plan *Plan, terms Terms, r Request, report *Report) error {
	if len(plan.Steps) == 0 {
		return nil
	}
	if dir, _, err := archiveOf(doc); err == nil {
		plan.Archive = c.archiveName(dir, terms.Now, 1)
	}
	if r.DryRun {
		entries := make([]int, len(plan.Steps))
		for i, s := range plan.Steps {
			entries[i] = s.entry
		}
		if text, _ := c.takeOut(doc, entries); text != nil {
			plan.Hunks = journal.Hunks(doc.Source, text)
		}
		return nil
	}
	if c.Claim != nil {
		if err := c.Claim(ctx, r.Asked); err != nil {
			return err
		}
	}
	gone, err := c.apply(ctx, doc, plan, terms, r.Asked)
	report.Applied += gone
	if gone > 0 && c.Moved != nil {
		c.Moved(plan.Path, plan.Archive, gone)
	}
	switch wait, waits := errors.AsType[*vault.WaitError](err); {
	case err == nil:
		if gone > 0 {
			c.Logger.Info("long-term file compacted", "path", plan.Path, "items", gone, "archive", plan.Archive)
		}
	case errors.Is(err, vault.ErrOff) || ctx.Err() != nil:
		return err
	case waits:
		report.Wait = max(report.Wait, wait.For)
		fallthrough
	default:
		plan.Problem = err.Error()
		c.Logger.Warn("long-term file could not be compacted", "path", plan.Path, "err", err)
	}
	return nil
}

// terms are those on which a file is planned.
func (c *Compactor) terms(ctx context.Context, doc *memory.Document, limit Limit, now time.Time) (Terms, error) {
	t := Terms{
		Limit: limit, MaxLoss: c.MaxLoss, Now: now,
		Copy: func(doc *memory.Document, e *memory.Entry) ([]byte, error) { return c.copyOf(doc, e, now) },
		Stuck: func(doc *memory.Document, entries []int) []int {
			_, stuck := c.takeOut(doc, entries)
			return stuck
		},
	}
	if c.Uses != nil {
		t.Since = c.Uses.Since()
		t.Uses = func(id string) Use { return c.Uses.Of(doc.Place.Path, id, now) }
	}
	if c.Links != nil {
		links, err := c.Links(ctx, doc)
		if err != nil {
			return t, err
		}
		t.Links = func(id string) int { return links[id] }
	}
	return t, nil
}

func (c *Compactor) now() time.Time {
	if c.Now != nil {
		return c.Now()
	}
	return time.Now()
}
