// Package compactor keeps long-term memory within its limits.
//
// Long-term memory is read at the start of every session, so it must stay
// short. The compactor periodically moves completed, superseded, duplicate and
// rarely used items of long-term files to an archive, from which they can be
// restored unchanged.
//
// Its rules:
//
//   - A pure function of the file, the limits and the counts
//     ([Compactor.planFile]) plans every step; a dry run returns the plan.
//   - Only top-level list items are moved. Paragraphs, tables, code and quotes
//     stay, and so do files without a limit.
//   - An item is removed only once its copy is safely in the archive. An item
//     whose copy does not restore the exact bytes stays.
//   - A run removes at most a quarter of a file's items, and its changes can be
//     undone together.
//   - Usage counts only affect which items are moved. No search and no answer
//     depends on them.
package compactor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// Files loads memory files in their current or last known state. An error
// matching fs.ErrNotExist means that there is no such file.
type Files interface {
	Load(path string) (*memory.Document, error)
}

// Disk reads the current content of a file, never a cached one.
type Disk interface {
	Read(path string) (vault.File, error)
}

// A Writer changes files. Move is atomic and never overwrites another file.
type Writer interface {
	Write(context.Context, vault.Change) (vault.Written, error)
	Move(ctx context.Context, from, to string, c vault.Change) (vault.Written, error)
}

// A Root is the memory that maintenance works on.
type Root struct {
	Files    Files
	Disk     Disk
	Writer   Writer
	Parse    func(vault.File) *memory.Document
	Layout   *memory.Layout
	Paths    func() []string                             // returns the paths of all memory files, in any order
	Claim    func(ctx context.Context, asked bool) error // called before any change, if not nil; see [Host.Claim]
	Location *time.Location                              // time zone of days and of the months of archives; UTC if nil
	Now      func() time.Time
}

// day returns the calendar day of the time that is age before now.
func (r *Root) day(age time.Duration) string {
	return r.Now().Add(-age).In(cmp.Or(r.Location, time.UTC)).Format(time.DateOnly)
}

// parser returns a function that parses a version of a file that is not written yet.
func (r *Root) parser(path string, modified time.Time) func([]byte) *memory.Document {
	return func(data []byte) *memory.Document {
		return r.Parse(vault.File{Path: path, Data: data, ModTime: modified})
	}
}

// contested reports whether a file in a directory, which ends in a slash,
// belongs to another subject.
func (r *Root) contested(dir, subject string) bool {
	return slices.ContainsFunc(r.Paths(), func(path string) bool {
		if !strings.HasPrefix(path, dir) {
			return false
		}
		doc, err := r.Files.Load(path)
		return err == nil && doc.Claim != "" && doc.Claim != subject
	})
}

// A Compactor compacts the long-term files of one root. Its fields must not
// change while it is in use; its methods are safe for concurrent use.
type Compactor struct {
	Root
	Uses   *Uses // nil: no counts, and scores alone remove items only from files over twice their limit
	Logger *slog.Logger

	// Links returns the number of links to the entries of a file, by entry id.
	// Nil disables the count.
	Links func(context.Context, *memory.Document) (map[string]int, error)

	Host    string             // name of this machine, used in the names of archives: see [HostName]
	Limits  []api.CompactLimit // the first match applies
	Soft    []api.CompactLimit // limits that only cause hints
	MaxLoss float64            // maximum share of a file's items removed by one run; one item is always allowed

	// Moved, if not nil, is called after items have moved from a file to an
	// archive.
	Moved func(path, archive string, items int)
}

// A Request describes a run.
type Request struct {
	Path      string // a file, a directory or a pattern; empty for all files
	DryRun    bool   // plan without changing files
	Explain   bool   // include all scores and the items that stay
	Requested bool   // a caller waits for the run, which is not a scheduled one

	// Diff returns the difference between two versions of a file, for the answer to a
	// dry run; nil for none.
	Diff func(path string, before, after []byte) api.FileDiff
}

// ErrUnlimited reports that no limit matches a path.
var ErrUnlimited = errors.New("not a long-term file with a limit in compactor.limits")

// Compact makes one run over the files with a limit. A failure in one file is
// recorded in its plan and does not stop the run. If r.Path matches no such
// file, Compact returns nil and [ErrUnlimited]. After any other error the
// answer contains the files processed so far. Runs that change files must share
// a [semaphore.Weighted].
func (c *Compactor) Compact(ctx context.Context, r Request) (*api.CompactAnswer, error) {
	answer := &api.CompactAnswer{Plan: []api.CompactPlan{}, DryRun: r.DryRun, AsOf: c.Now().UTC().Truncate(time.Second)}
	if c.Uses != nil {
		c.Uses.update()
		answer.Since = c.Uses.Since()
	}
	paths := c.Paths()
	slices.Sort(paths)
	found := false
	for _, path := range paths {
		limit, ok := matchLimit(c.Limits, path)
		if !ok || !matchesRequest(r.Path, path) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return answer, fmt.Errorf("compact: %w", err)
		}
		doc, err := c.Files.Load(path)
		if err != nil || doc.Place.Kind != memory.Longterm || doc.Place.Root != "" {
			continue // the file is gone, or a wide pattern matches a file of another kind or of a folder
		}
		found = true
		var links map[string]int
		if c.Links != nil {
			links, err = c.Links(ctx, doc)
			if err != nil {
				return answer, fmt.Errorf("compact %s: %w", path, err)
			}
		}
		plan := c.planFile(doc, limit, links, answer.AsOf, r.Explain)
		if err := c.executePlan(ctx, doc, plan, r, answer); err != nil {
			return answer, fmt.Errorf("compact: %w", err)
		}
		if len(plan.Steps) > 0 || plan.Problem != "" || plan.State != api.Within || r.Path != "" || r.Explain {
			answer.Plan = append(answer.Plan, plan.CompactPlan)
		}
	}
	if r.Path != "" && !found {
		return nil, fmt.Errorf("compact %s: %w", r.Path, ErrUnlimited)
	}
	return answer, nil
}

func matchesRequest(pattern, path string) bool {
	if pattern == "" || path == pattern || strings.HasPrefix(path, strings.TrimSuffix(pattern, "/")+"/") {
		return true
	}
	_, ok := matchLimit([]api.CompactLimit{{Pattern: pattern}}, path)
	return ok
}

// executePlan executes a plan, or computes its diff for a dry run. It records a
// failure in the plan and returns an error only if the run must stop.
func (c *Compactor) executePlan(ctx context.Context, doc *memory.Document, plan *filePlan, r Request,
	answer *api.CompactAnswer) error {
	if len(plan.Steps) == 0 {
		return nil
	}
	if dir, _, err := archiveOf(doc); err == nil {
		plan.Archive = c.archiveName(dir, doc.Partition.Visibility, answer.AsOf, 1)
	}
	if r.DryRun {
		if text, _ := c.withoutEntries(doc, plan.entries()); text != nil && r.Diff != nil {
			answer.Diff = append(answer.Diff, r.Diff(plan.Path, doc.Source, text))
		}
		return nil
	}
	if c.Claim != nil {
		if err := c.Claim(ctx, r.Requested); err != nil {
			return err
		}
	}
	gone, err := c.applyPlan(ctx, doc, plan, answer.AsOf, r.Requested)
	answer.Applied += gone
	switch {
	case errors.Is(err, vault.ErrOff) || ctx.Err() != nil:
		return err
	case err != nil:
		plan.Problem = err.Error()
		c.Logger.Warn("cannot compact a long-term file", "path", plan.Path, "err", err)
	case gone > 0:
		c.Logger.Info("long-term file compacted", "path", plan.Path, "items", gone, "archive", plan.Archive)
		if c.Moved != nil {
			c.Moved(plan.Path, plan.Archive, gone)
		}
	}
	return nil
}
