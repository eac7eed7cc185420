package vault

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault/journal"
)

// A Merger merges conflict copies into their files. Merges are in the journal and
// can be undone.
type Merger struct {
	Writer *Writer
	Layout *memory.Layout
}

// A CopyMerge is the merge of a conflict copy into its file.
type CopyMerge struct {
	*memory.VersionMerge
	Base bool // a common version of both is known

	Copy, File File // as read

	// Union merges without the common version, so that nothing counts as removed or
	// changed.
	Union bool
}

// Errors of merges, in addition to [memory.ErrWhole].
var (
	// ErrNotCopy reports that a path is not that of a conflict copy.
	ErrNotCopy = errors.New("not a conflict copy")
	// ErrNoOriginal reports that the file of a conflict copy is missing.
	ErrNoOriginal = errors.New("the file is missing; rename the conflict copy")
)

const mergeCause = "merge"

// maxVersions bounds the versions of a file that are compared to find the last
// common one.
const maxVersions = 500

// Plan merges the conflict copy at path in memory.
func (m *Merger) Plan(path string) (*CopyMerge, error) {
	of, ok := memory.CopyOf(path)
	if !ok {
		return nil, ErrNotCopy
	}
	copied, err := m.Writer.Vault.Read(path)
	if err != nil {
		return nil, err
	}
	file, err := m.Writer.Vault.Read(of)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoOriginal
	}
	if err != nil {
		return nil, err
	}
	if copied.Unstable || file.Unstable {
		return nil, ErrChanging
	}
	return m.merge(file, copied, false), nil
}

func (m *Merger) merge(file, copied File, union bool) *CopyMerge {
	var base []byte
	if !union {
		base = m.commonVersion(file, copied)
	}
	merged := m.Layout.MergeVersions(file.Path, base, file.Data, copied.Data)
	return &CopyMerge{VersionMerge: merged, Base: base != nil, Copy: copied, File: file, Union: union}
}

// safe reports whether the merge needs no person: it adds entries and ticks to a
// known common version, or has nothing to add.
func (c *CopyMerge) safe() bool {
	return c.Additions && !c.Whole && (c.Base || c.Union || c.Added+c.Changed == 0)
}

// MergeAdditions merges the conflict copy at path without a request, if both versions
// only added entries and ticks. An urgent merge does not wait until the files are
// quiet. With union it merges without the common version too, and keeps the entries of
// both versions. The error is [memory.ErrWhole] if only a person can merge the copy.
func (m *Merger) MergeAdditions(ctx context.Context, path string, urgent, union bool) (Written, error) {
	c, err := m.Plan(path)
	if err != nil {
		return Written{}, err
	}
	if union && !c.safe() {
		c = m.merge(c.File, c.Copy, true)
	}
	if !c.safe() {
		return Written{}, memory.ErrWhole
	}
	if left := m.Writer.Quiet - m.Writer.now().Sub(c.Copy.ModTime); left > 0 && !urgent {
		return Written{}, &WaitError{path, "the conflict copy has just changed", left}
	}
	return m.write(ctx, c, nil, Change{Urgent: urgent})
}

// Apply writes a requested merge to the file. With keep, or without conflicts, it then
// removes the copy; otherwise the copy stays for a person. If one of the files has changed
// since the plan, the error is [ErrBusy].
func (m *Merger) Apply(ctx context.Context, c *CopyMerge, keep *memory.Keep) (Written, error) {
	return m.write(ctx, c, keep, Change{Requested: true})
}

// Result returns the merged text. If keep is nil, conflicts keep the text of the file, and
// versions that cannot be merged by entries are an error.
func (c *CopyMerge) Result(keep *memory.Keep) ([]byte, error) {
	switch {
	case c.Whole && keep != nil && *keep == memory.KeepOurs:
		return c.File.Data, nil
	case c.Whole && keep != nil && *keep == memory.KeepTheirs:
		return c.Copy.Data, nil
	case c.Whole:
		return nil, memory.ErrWhole
	case keep == nil:
		return c.Text(memory.KeepOurs)
	}
	return c.Text(*keep)
}

func (m *Merger) write(ctx context.Context, c *CopyMerge, keep *memory.Keep, how Change) (Written, error) {
	text, err := c.Result(keep)
	if err != nil {
		return Written{}, err
	}
	how.Path, how.Cause, how.Reason = c.File.Path, mergeCause, "merge of "+c.Copy.Path
	how.Edit = c.File.replace(text, nil)
	written, err := m.Writer.Write(ctx, how)
	if err != nil || keep == nil && len(c.Conflicts) > 0 {
		return written, err
	}
	how.Path, how.Group, how.Reason = c.Copy.Path, written.ID, "merged into "+c.File.Path
	how.Edit = func(old *File) ([]byte, error) {
		if old == nil {
			return nil, nil // another program removed the copy
		}
		return c.Copy.replace(nil, ErrRemove)(old)
	}
	removed, err := m.Writer.Write(ctx, how)
	written.ID = cmp.Or(written.ID, removed.ID)
	return written, err
}

// replace returns an edit that returns a text and an error if the file still has this
// version, and else [ErrBusy].
func (f File) replace(text []byte, err error) func(*File) ([]byte, error) {
	return func(old *File) ([]byte, error) {
		if old == nil || !bytes.Equal(old.Data, f.Data) {
			return nil, ErrBusy
		}
		return text, err
	}
}

// commonVersion returns the largest version of one of the files, according to the
// journal, whose body the other one contains completely, or nil if the journal has none.
// Another version may be newer than the common one; text that the other file lacks
// would then seem removed. Of versions with the same body, apart from ticks, it is the
// oldest: the other machine may not have the ticks and the frontmatter of the newer ones.
func (m *Merger) commonVersion(file, copied File) (best []byte) {
	body := "" // of best
	for _, pair := range [2][2][]byte{{file.Data, copied.Data}, {copied.Data, file.Data}} {
		there := map[string]bool{}
		for line := range strings.Lines(openBody(pair[1]) + "\n") {
			there[strings.TrimRight(line, "\r\n")] = true
		}
		lacks := func(line string) bool { return !there[strings.TrimRight(line, "\r\n")] }
		for _, version := range m.versions(file.Path, pair[0]) {
			text := openBody(version)
			if best == nil || len(text) > len(body) || text == body {
				if !slices.ContainsFunc(slices.Collect(strings.Lines(text)), lacks) {
					best, body = version, text
				}
			}
		}
	}
	return best
}

// openBody returns the text below the frontmatter with open boxes.
func openBody(text []byte) string {
	body := string(text)
	if rest, ok := strings.CutPrefix(body, "---\n"); ok {
		if _, below, ok := strings.Cut("\n"+rest, "\n---\n"); ok {
			body = below
		}
	}
	return strings.NewReplacer("[x]", "[ ]", "[X]", "[ ]").Replace(body)
}

// versions returns the versions of a file up to a content that the journal
// recorded, newest first. It returns none for a content that memwatchd did not
// write.
func (m *Merger) versions(path string, now []byte) (list [][]byte) {
	if m.Writer.Journal == nil {
		return nil
	}
	digest := journal.Digest(now)
	for _, r := range m.Writer.Journal.List(time.Time{}, path, 0) {
		if r.After != digest || r.FilePath() != path || len(list) == maxVersions {
			continue
		}
		old, err := m.Writer.Journal.Version(r.Before)
		if err != nil || r.Forgotten {
			return list
		}
		switch {
		case len(list) == 0:
			list = append(list, now)
		case r.State == journal.StateUndone:
			list = list[:len(list)-1] // what was undone is not history
		}
		if r.Before == "" {
			return append(list, []byte{})
		}
		list, now, digest = append(list, old), old, r.Before
	}
	return list
}
