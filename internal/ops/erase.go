package ops

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/internal/disk"
	"github.com/memwatchd/memwatchd/internal/lazyregexp"
	"github.com/memwatchd/memwatchd/internal/state"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// Text to be forgotten is in files, in the journal, the use counts and the index. It
// leaves the files last but for the index, so that a repeated request finds what an
// interrupted one left.

// An erasure selects text outside of the files, and lists the files that lose text.
type erasure struct {
	paths []string
	holds func(path string, content []byte) bool // as for [journal.Journal.Erase]
	used  func(path, id, text string) bool
	waits func(text string) bool // of a request of a hook
}

// erase removes text: from its copies, by remove from the files, and from the copies that
// other programs have caused meanwhile. The problem is why copies remain.
func (m adminOps) erase(ctx context.Context, c Call, e erasure, remove func()) (problem string, err error) {
	// The next start purges the index, if this run does not get there.
	if err := state.Save(m.ErasureFile, true); err != nil {
		return "", api.Errorf(api.Unavailable, "cannot record the removal, nothing was removed: %v", err)
	}
	failed := m.eraseCopies(ctx, e)
	remove()
	failed = errors.Join(failed, m.eraseCopies(ctx, e), m.purgeIndex(ctx))
	if failed != nil {
		problem = erasureProblem(c, failed)
	}
	return problem, nil
}

// erasureProblem returns the problem of an erasure for the answer. Only the
// owner sees the reason, which may describe data of other subjects.
func erasureProblem(c Call, failed error) string {
	reason := "copies of the text remain"
	if c.FullAccess {
		reason = oneLine(failed.Error())
	}
	return reason + "; repeat the request"
}

// eraseCopies removes the text of an erasure from the temporary files of earlier changes,
// the journal, the use counts and the requests of hooks. State files that were set aside go.
func (m adminOps) eraseCopies(ctx context.Context, e erasure) error {
	var errs []error
	for _, path := range e.paths {
		if err := m.Writer.Clear(ctx, path); err != nil {
			errs = append(errs, fmt.Errorf("saved copies of %s: %w", path, err))
		}
	}
	errs = append(errs, m.Writer.Journal.Erase(e.holds), m.EraseSpool(e.waits),
		state.RemoveFiles(filepath.Dir(m.ErasureFile), "*"+state.AsideSuffix))
	if m.Compactor.Uses != nil {
		errs = append(errs, m.Compactor.Uses.Forget(e.used))
	}
	return errors.Join(errs...)
}

// purgeIndex removes earlier contents of the files from the index.
func (m adminOps) purgeIndex(ctx context.Context) error {
	err := m.Indexer.Purge(ctx)
	if err == nil {
		err = os.Remove(m.ErasureFile)
	}
	return err
}

// FinishErasures completes what an earlier run of the daemon left of removals: it purges the
// index, and drops contents of the journal that nothing refers to. Call it after all files have
// been read.
func (m *Memory) FinishErasures(ctx context.Context) error {
	m.forgetLists.eraseMu.Lock()
	defer m.forgetLists.eraseMu.Unlock()
	var err error
	if m.Writer != nil {
		err = m.Writer.Journal.EraseUnused()
	}
	if _, missing := os.Stat(m.ErasureFile); missing != nil {
		return err
	}
	return errors.Join(err, m.adminOps().purgeIndex(ctx))
}

// forgetListed removes the chosen entries of a list.
func (m adminOps) forgetListed(ctx context.Context, c Call, r *api.ForgetRequest, answer *api.ForgetAnswer) error {
	m.forgetLists.eraseMu.Lock()
	defer m.forgetLists.eraseMu.Unlock()
	l, err := m.forgetLists.findList(c, r.Token)
	if err != nil {
		return err
	}
	chosen, err := l.chooseOccurrences(r.IDs)
	if err != nil {
		return err
	}
	if err := m.waitAllIndexed(ctx, &c); err != nil {
		return err
	}
	gone := newGoneText(l.match, chosen)
	e := erasure{
		holds: m.holdsGone(c, gone),
		used:  func(path, id, text string) bool { return gone.ids[path+"#"+id] || gone.in(text) },
		waits: func(text string) bool { return c.FullAccess && gone.in(text) },
	}
	for _, t := range chosen {
		if !slices.Contains(e.paths, t.Path) {
			e.paths = append(e.paths, t.Path)
		}
	}
	answer.Problem, err = m.erase(ctx, c, e, func() {
		answer.Removed, answer.Failed = m.removeEntries(ctx, c, e.paths, chosen, gone)
	})
	if err != nil {
		return err
	}
	if err := m.syncIndex(ctx, &c); err != nil {
		return err
	}
	addOccurrences(answer, l.match, m.findOccurrences(c, l.match))
	answer.Beyond = outOfReach
	return nil
}

// chooseOccurrences returns the occurrences with the given ids, and the listed archived copies
// of these entries. Without ids it returns none; this is valid only if no occurrence
// has an id, when the text can still be removed from the journal and other
// copies.
func (l *forgetList) chooseOccurrences(ids []string) (chosen []occurrence, err error) {
	if len(ids) == 0 && slices.ContainsFunc(l.occurrences, func(t occurrence) bool { return t.ID != "" }) {
		return nil, api.Errorf(api.Invalid, "ids are missing").
			WithHint("set `ids` to the listed entries to remove")
	}
	named, norms := map[string]bool{}, map[string]bool{}
	for _, id := range ids {
		id = strings.TrimSpace(id)
		at := slices.IndexFunc(l.occurrences, func(t occurrence) bool { return t.ID == id })
		if at < 0 {
			return nil, api.Errorf(api.Invalid, "ids: %q is not in the list of the token", id)
		}
		named[id], norms[normalizeLine(l.occurrences[at].source)] = true, true
	}
	for _, t := range l.occurrences {
		copied := t.Kind == memory.Archive.String() && t.What == "entry" && norms[normalizeLine(t.source)]
		if t.ID != "" && (copied || named[t.ID]) {
			chosen = append(chosen, t)
		}
	}
	return chosen, nil
}

// removeEntries removes entries from files, and then their lines from the conflict copies
// beside these files. It returns the ids of the removed entries and the reasons for failures.
func (m adminOps) removeEntries(ctx context.Context, c Call, paths []string, chosen []occurrence,
	gone *goneText) (removed []string, failed []api.Refused) {
	removed = []string{}
	group := ""
	for _, path := range paths {
		entries := slices.DeleteFunc(slices.Clone(chosen), func(o occurrence) bool { return o.Path != path })
		if entries[0].What == earlierVersion { // nothing in the file
			removed = append(removed, entries[0].ID)
			continue
		}
		written, err := m.Writer.Write(ctx, vault.Change{
			Path: path, Cause: "forget", Group: group, Requested: true, Secret: true,
			Edit: func(old *vault.File) ([]byte, error) { return m.eraseEntries(ctx, c, path, old, entries) },
		})
		group = cmp.Or(group, written.ID)
		for _, t := range entries {
			if err == nil {
				removed = append(removed, t.ID)
			} else {
				failed = append(failed, api.Refused{ID: t.ID, Reason: asError(writeError(err)).Message})
			}
		}
	}
	for _, path := range paths {
		err := m.Writer.EditConflictCopies(ctx, path, func(kept *vault.File) ([]byte, error) {
			return m.eraseInCopy(c, path, kept, gone), nil
		})
		if err != nil {
			failed = append(failed, api.Refused{ID: path,
				Reason: "saved copy of the file: " + oneLine(asError(writeError(err)).Message)})
		}
	}
	return removed, failed
}

// eraseInCopy returns a conflict copy of the file at path without the lines of removed
// entries, or nil. A copy that the caller cannot read stays.
func (m adminOps) eraseInCopy(c Call, path string, kept *vault.File, gone *goneText) []byte {
	if kept == nil || m.Parse(vault.File{Path: path, Data: kept.Data}).For(c.View) == nil {
		return nil
	}
	rest := slices.DeleteFunc(slices.Collect(strings.Lines(string(kept.Data))), gone.removed)
	return []byte(strings.Join(rest, ""))
}

// eraseEntries returns the file without the chosen entries, all of which must be
// unchanged. The rest of the file changes only where it is derived from the entries.
func (m adminOps) eraseEntries(ctx context.Context, c Call, path string, old *vault.File,
	chosen []occurrence) ([]byte, error) {
	if old == nil {
		return nil, notFound("file", path)
	}
	doc := m.parseFile(*old)
	if doc.For(c.View) == nil {
		return nil, notFound("file", path)
	}
	rev, found := doc.Revise(), 0
	for i := range doc.Entries {
		e := &doc.Entries[i]
		var lines [][2]int
		for _, t := range chosen {
			if t.entry == e.ID && t.digest == digestOf(doc.SourceLines(e.Line, e.EndLine)) {
				lines = append(lines, [2]int{e.Line + t.lines[0] - 1, e.Line + t.lines[1] - 1})
				found++
			}
		}
		rev.RemoveLines(i, lines)
	}
	for _, t := range chosen {
		if t.entry == summaryID && t.digest == digestOf(summaryOf(doc)) {
			found++
			rev.SetField("summary", "")
		}
	}
	if found < len(chosen) {
		return nil, api.Errorf(api.Conflict, "%s has changed since the list was made", path).
			WithHint("list the entries again")
	}
	rev.SetTitles()
	rev.SetCounters()
	data, err := rev.Apply(m.parser(ctx, *old))
	if err != nil {
		err = fmt.Errorf("%w: %w", memory.ErrUnwritable, err)
	}
	return data, err
}

// A goneText finds the text that a removal takes away.
type goneText struct {
	match   index.Phrase
	removed func(line string) bool // reports whether a line is one of a removed entry
	ids     map[string]bool        // of the removed occurrences
	marks   []string               // ids of their entries, as in attributes
}

// minLine is the minimum length of a line without the matched text that is searched for by
// itself, in bytes. Shorter lines are too common.
const minLine = 12

func newGoneText(match index.Phrase, chosen []occurrence) *goneText {
	lines := map[string]bool{}
	n := &goneText{match: match, ids: map[string]bool{},
		removed: memoize(func(line string) bool { return lines[normalizeLine(line)] })}
	for _, t := range chosen {
		n.ids[t.ID] = true
		n.marks = append(n.marks, t.entry)
		for line := range strings.Lines(t.source) {
			line = normalizeLine(line)
			lines[line] = len(line) >= minLine || match.In(line)
		}
	}
	return n
}

var (
	commentRE = lazyregexp.New(`<!--.*?-->`)
	markerRE  = lazyregexp.New(`^[\s>]*(?:[-*+]\s+|\d+[.)]\s+)?(?:\[.\]\s+)?`)
)

// normalizeLine returns a line without the parts that differ between its copies.
func normalizeLine(line string) string {
	line = markerRE().ReplaceAllString(commentRE().ReplaceAllString(line, ""), "")
	return memory.TaskNorm(strings.TrimSpace(line))
}

// in reports whether a text contains the matched text or a line of a removed entry.
func (n *goneText) in(text string) bool { return n.match.In(text) || n.hasLine(text) }

// hasLine reports whether a text contains a line of a removed entry.
func (n *goneText) hasLine(text string) bool {
	for line := range strings.Lines(text) {
		if n.removed(line) {
			return true
		}
	}
	return false
}

// holdsGone returns a function that reports whether a content that a file at path has or had
// must not stay: it contains the text, or a line or a version of a removed entry. Of a file that
// others share, only what the caller may change counts, because others may have written the same
// text.
func (m adminOps) holdsGone(c Call, gone *goneText) func(path string, content []byte) bool {
	type access struct{ may, shared bool }
	known := map[string]access{}
	return func(path string, content []byte) bool {
		a, ok := known[path]
		if !ok {
			a.may, a.shared = m.mayForget(c, path)
			known[path] = a
		}
		text := string(bytes.ToValidUTF8(content, nil))
		return a.may && (gone.hasLine(text) || !a.shared && gone.match.In(text) || m.inEntries(c, path, content, gone))
	}
}

// inEntries reports whether an entry of a content that the caller may change contains the text
// or has the id of a removed entry.
func (m adminOps) inEntries(c Call, path string, content []byte, gone *goneText) bool {
	text := string(content)
	if !gone.match.MayBeIn(text) && !slices.ContainsFunc(gone.marks, func(id string) bool {
		return strings.Contains(text, id)
	}) {
		return false
	}
	doc := m.Parse(vault.File{Path: path, Data: content}).For(c.View)
	if doc == nil {
		return false
	}
	may := m.mayChangeEntry(c, path)
	return slices.ContainsFunc(doc.Entries, func(e memory.Entry) bool {
		return may(&e) && (gone.ids[path+"#"+e.ID] || matchingParts(doc, &e, gone.match) != nil)
	})
}

// memoize returns f with a memory of its results.
func memoize[V any](f func(string) V) func(string) V {
	known := map[string]V{}
	return func(s string) V {
		result, ok := known[s]
		if !ok {
			s = strings.Clone(s) // the rest of its content must not stay in memory
			result = f(s)
			known[s] = result
		}
		return result
	}
}

// mayForget reports whether the caller may erase earlier contents of a file, and whether
// the file may contain text of others.
func (m adminOps) mayForget(c Call, path string) (may, shared bool) {
	place, inbox := m.Layout.Place(path), m.inbox(c)
	switch {
	case inbox != "" && !disk.Within(path, inbox):
		return false, true
	case place.Owner != "" && memory.InboxOf(path) == "":
		return c.View.Readable(memory.Partition{Owner: place.Owner}), false
	}
	doc, err := m.Files.Load(path)
	if err != nil { // the file is gone, so its readers are unknown
		return c.Scope.Subject == m.Owner, false
	}
	return doc.For(c.View) != nil, !m.mayChange(c, path, doc.Partition, memory.Author{})
}
