package ipc

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/compactor"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// CompactRequest asks to make room in long-term files.
type CompactRequest struct {
	Path    string `json:"path" arg:"1" complete:"path" doc:"only this long-term file, those below this directory, or those matching this glob"`
	DryRun  bool   `json:"dry_run" doc:"tell what would go, and change nothing"`
	Explain bool   `json:"explain" doc:"take every score apart, and list what stays as well"`
	Fresh
	Scope
}

// CompactAnswer says what goes, or has gone, to the archive.
type CompactAnswer struct {
	Plan    []*compactor.Plan `json:"plan"`           // of the files that are not well within their limits, by path
	Diff    []FileDiff        `json:"diff,omitempty"` // of a dry run: what it would make of these files; in the archive, it only adds
	Applied int               `json:"applied"`        // items that have gone
	DryRun  bool              `json:"dry_run"`
	AsOf    time.Time         `json:"as_of"`          // that ages are counted from
	Since   time.Time         `json:"since,omitzero"` // since when uses are counted

	Redaction
}

// compact tells and does what makes room. The plans have the text of all files.
func (m *Memory) compact(ctx context.Context, c Call, r *CompactRequest) (*CompactAnswer, error) {
	switch {
	case !c.Whole:
		return nil, Errorf(Forbidden, "making room is for the owner, in private")
	case m.Compactor == nil:
		return nil, cannotWrite()
	}
	if _, err := m.sync(ctx, &c, r.Fresh); err != nil {
		return nil, err
	}
	if !r.DryRun {
		back, err := m.Turn.Take(ctx)
		if err != nil {
			return nil, err
		}
		defer back()
	}
	report, err := m.Compactor.Compact(ctx, compactor.Request{Path: r.Path, DryRun: r.DryRun, Explain: r.Explain, Asked: true})
	switch {
	case errors.Is(err, compactor.ErrUnlimited):
		return nil, Errorf(Invalid, "path: %q is no long-term file with a limit", r.Path).hint("compactor.limits in the configuration names those that have one")
	case err != nil:
		return nil, tidyError(err)
	}
	answer := &CompactAnswer{Plan: report.Plans, Applied: report.Applied, DryRun: r.DryRun, AsOf: report.Time, Since: report.Since}
	var differ differ
	for _, p := range report.Plans {
		if len(p.Hunks) > 0 {
			answer.Diff = append(answer.Diff, differ.file(p.Path, p.Hunks))
		}
	}
	return answer, nil
}

// tidyError is why nothing was tidied up, or not all.
func tidyError(err error) error {
	if p, ok := errors.AsType[*compactor.PassiveError](err); ok {
		return Errorf(Conflict, "%s tidies up this memory", p.Host).hint("ask there, or set compactor.host on each machine")
	}
	return Errorf(Unavailable, "%v", err)
}

func cannotWrite() *Error {
	return Errorf(Unavailable, "nothing can be written to files").hint("status says why")
}

// RestoreRequest asks to bring an archived entry back.
type RestoreRequest struct {
	ID string `json:"id" arg:"1" complete:"archived" doc:"the archived entry, as path#id, or by the id that was given to it"`
	Fresh
	Scope
}

// RestoreAnswer says where the entry is now.
type RestoreAnswer struct {
	ID   string `json:"id"`
	Path string `json:"path"`
	Line int    `json:"line"`
}

// restore brings an archived entry back to where it comes from.
func (m *Memory) restore(ctx context.Context, c Call, r *RestoreRequest) (*RestoreAnswer, error) {
	switch {
	case !c.View.Private():
		return nil, Errorf(Forbidden, "what is archived comes back in private only")
	case r.ID == "":
		return nil, Errorf(Invalid, "id is needed").hint("search with include_archived finds it")
	case m.Compactor == nil:
		return nil, cannotWrite()
	}
	if _, err := m.sync(ctx, &c, r.Fresh); err != nil {
		return nil, err
	}
	id, err := m.archived(ctx, c, r.ID)
	if err != nil {
		return nil, err
	}
	doc, e, err := m.entry(ctx, c, id)
	if err != nil {
		return nil, err
	}
	if doc.Place.Kind != memory.Archive {
		return nil, restoreError(id, compactor.ErrNotArchived, true)
	}
	back, err := m.Compactor.Restore(ctx, doc.Place.Path, e.ID)
	if err != nil {
		from, _, unread := m.load(c, e.Attributes["from"])
		return nil, restoreError(id, err, c.Whole || doc.Owned(c.View) && unread == nil && from.Owned(c.View))
	}
	return &RestoreAnswer{ID: back.Path + "#" + back.ID, Path: back.Path, Line: back.Line}, nil
}

// archived makes path#id of an id: of several entries that have it, the one in
// an archive is meant.
func (m *Memory) archived(ctx context.Context, c Call, id string) (string, error) {
	if strings.Contains(id, "#") {
		return id, nil
	}
	refs, err := m.Index.ByID(ctx, c.View, id)
	if err != nil {
		return "", err
	}
	kept := refs[:0]
	for _, ref := range refs {
		if info, ok := m.Index.File(ref.Path); ok && info.Kind == memory.Archive {
			kept = append(kept, ref)
		}
	}
	switch len(kept) {
	case 0:
		return "", notFound("archived entry", id)
	case 1:
		return kept[0].Path + "#" + kept[0].ID, nil
	}
	return "", Errorf(Conflict, "more than one archived entry has the id %q", id).hint("%s", candidates(kept))
}

// restoreError is why an entry is where it was. What both files are like as a
// whole is told to those only who may read all of them.
func restoreError(id string, err error, owned bool) error {
	switch {
	case errors.Is(err, compactor.ErrNotArchived):
		return Errorf(Invalid, "%s is not an archived entry that says where it comes from", id)
	case !owned:
		return errHidden
	case errors.Is(err, vault.ErrBusy):
		return Errorf(Busy, "%v", err).hint("ask again when it is left alone")
	}
	return writeError(err, true)
}

// used notes that entries were returned: what is hardly ever used is what goes
// first when there must be room. Nothing that is answered depends on it.
func (m *Memory) used(ids ...string) {
	if m.Used != nil && len(ids) > 0 {
		m.Used(ids, m.now())
	}
}

// nearLimits are hints for those long-term files of the caller that are nearly
// full.
func (m *Memory) nearLimits(c Call) []string {
	if m.Compactor == nil || !c.View.Private() {
		return nil
	}
	var hints []string
	for _, f := range m.longTerm(c) {
		if fill, ok := m.Compactor.FillOf(f.doc); ok && fill.Hint() != "" {
			hints = append(hints, fill.Hint())
		}
	}
	return hints
}
