package ops

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// forgetListed removes the chosen entries of a list.
func (m adminOps) forgetListed(ctx context.Context, c Call, r *api.ForgetRequest, answer *api.ForgetAnswer) error {
	m.forgetLists.eraseMu.Lock()
	defer m.forgetLists.eraseMu.Unlock()
	l, err := m.forgetLists.findList(c, r.Token, m.Now())
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
	if err := m.checkUnchanged(c, l.match, chosen); err != nil {
		return err
	}
	words := newTextMatcher(l.match, chosen)
	words.everyEntry = !slices.ContainsFunc(l.occurrences, func(t occurrence) bool {
		return t.What == "entry" && !slices.ContainsFunc(chosen, func(c occurrence) bool { return c.ID == t.ID })
	})
	plan := newErasure(c.Scope.Subject, chosen, words)
	var problem error
	newest := m.Writer.Journal.Newest()
	plan.Journal, problem = m.findHunks(c, words, "")
	before, err := m.recordErasure(plan)
	if err != nil {
		return err
	}
	answer.Removed = []string{}
	gone, failed := m.removeListed(ctx, c, &plan, words)
	answer.Removed, answer.Failed = append(answer.Removed, gone...), failed
	// Other programs may have written to the files meanwhile.
	more, err := m.findHunks(c, words, newest)
	plan.Journal = append(plan.Journal, more...)
	problem = errors.Join(problem, err, m.eraseCopies(ctx, &plan, words))
	if problem == nil {
		problem = m.writeErasures(before)
	}
	if problem != nil {
		answer.Problem = erasureProblem(c, problem)
	}
	if err := m.syncIndex(ctx, &c); err != nil {
		return err
	}
	addOccurrences(answer, l.match, m.findOccurrences(c, l.match, &l))
	answer.Beyond = outOfReach
	return nil
}

// erasureProblem returns the problem of an erasure for the answer. Only the
// owner sees the reason, which may describe data of other subjects.
func erasureProblem(c Call, problem error) string {
	reason := "copies of the text remain"
	if c.FullAccess {
		reason = oneLine(problem.Error())
	}
	return reason + "; the removal is retried when the daemon starts"
}

// newErasure returns the record that erases the chosen occurrences, grouped by
// file.
func newErasure(subject string, chosen []occurrence, words *textMatcher) erasure {
	plan := erasure{Subject: subject}
	for _, t := range chosen {
		_, id, _ := cutID(t.ID)
		id = strings.TrimSuffix(id, partSuffix(t.lines[0]))
		if n := len(plan.Files); n == 0 || plan.Files[n-1].Path != t.Path {
			plan.Files = append(plan.Files, erasedFile{Path: t.Path})
		}
		f := &plan.Files[len(plan.Files)-1]
		f.Entries = append(f.Entries, erasedEntry{id, t.digest, t.lines[0], t.lines[1]})
		if id == summaryID {
			f.Summary = words.matchingLines(t.Text)
		}
	}
	return plan
}

// cutID splits path#id into the path, which may contain #, and the id of the
// entry. It reports false for an id without a path.
func cutID(id string) (path, entry string, ok bool) {
	i := strings.LastIndexByte(id, '#')
	return id[:max(i, 0)], id[i+1:], i >= 0
}

// chooseOccurrences returns the occurrences with the given ids, and the listed archived copies
// of these entries. Without ids it returns none; this is valid only if no occurrence
// has an id, when the text can still be removed from the journal and other
// copies.
func (l *forgetList) chooseOccurrences(ids []string) ([]occurrence, error) {
	var chosen []occurrence
	if len(ids) == 0 && slices.ContainsFunc(l.occurrences, func(t occurrence) bool { return t.ID != "" }) {
		return nil, api.Errorf(api.Invalid, "ids are missing").
			WithHint("set `ids` to the listed entries to remove")
	}
	norms := map[string]bool{}
	for _, id := range ids {
		at := slices.IndexFunc(l.occurrences,
			func(t occurrence) bool { return t.ID == strings.TrimSpace(id) && t.ID != "" })
		if at < 0 {
			return nil, api.Errorf(api.Invalid, "ids: %q is not in the list of the token", id)
		}
		if t := l.occurrences[at]; t.What == "entry" {
			norms[t.normalized] = true
		}
	}
	for _, t := range l.occurrences {
		copied := t.Kind == memory.Archive.String() && t.What == "entry" && norms[t.normalized]
		if t.ID != "" && (copied ||
			slices.ContainsFunc(ids, func(id string) bool { return strings.TrimSpace(id) == t.ID })) {
			chosen = append(chosen, t)
		}
	}
	return chosen, nil
}

// checkUnchanged returns an error if a chosen occurrence has changed since it was
// listed.
func (m adminOps) checkUnchanged(c Call, match index.Phrase, chosen []occurrence) error {
	var now []occurrence
	for i, t := range chosen {
		if i == 0 || chosen[i-1].Path != t.Path {
			now = nil
			if doc, shown, err := m.loadFile(c, t.Path); err == nil {
				now = m.occurrencesIn(c, doc, shown, match)
			}
		}
		if !slices.ContainsFunc(now, func(n occurrence) bool { return n.ID == t.ID && n.digest == t.digest }) {
			return api.Errorf(api.Conflict, "%s has changed since the list was made", t.ID).
				WithHint("list the entries again")
		}
	}
	return nil
}

// removeListed removes entries from their files and from the copies kept beside
// these files. It returns the ids of the removed entries and the reasons for
// failures.
func (m adminOps) removeListed(ctx context.Context, c Call, plan *erasure, words *textMatcher) (gone []string,
	failed []api.Refused) {
	group := ""
	for _, f := range plan.Files {
		if len(f.Entries) == 0 {
			continue
		}
		of, copied := memory.CopyOf(f.Path)
		_, copyErr := m.Writer.EditConflictCopies(ctx, of,
			func(kept *vault.File) ([]byte, error) { return m.eraseInCopy(c, of, *kept, words) })
		err := copyErr
		switch {
		case !copied:
			var written vault.Written
			written, err = m.eraseInFile(ctx, c, f, group, words)
			group = cmp.Or(group, written.ID)
			if copyErr != nil {
				failed = append(failed, api.Refused{ID: f.Path,
					Reason: "saved copy of the file: " + oneLine(asError(writeError(copyErr)).Message)})
			}
		case err == nil:
			err = m.checkErased(f)
		}
		for _, e := range f.Entries {
			id := f.Path + "#" + e.partID()
			if err == nil {
				gone = append(gone, id)
			} else {
				failed = append(failed, api.Refused{ID: id, Reason: asError(writeError(err)).Message})
			}
		}
	}
	return gone, failed
}

// eraseInFile removes the entries of f from their file.
func (m adminOps) eraseInFile(ctx context.Context, c Call, f erasedFile, group string,
	words *textMatcher) (vault.Written, error) {
	return m.Writer.Write(ctx, vault.Change{
		Path: f.Path, Cause: "forget", Group: group, Requested: true, Secret: true,
		Edit: func(old *vault.File) ([]byte, error) {
			if old == nil {
				return nil, notFound("file", f.Path)
			}
			data, err := m.eraseEntries(c, f, *old, words)
			if _, told := errors.AsType[*api.Error](err); err != nil && !told {
				err = fmt.Errorf("%w: %w", memory.ErrUnwritable, err)
			}
			return data, err
		},
	})
}

// eraseInCopy returns a copy of the file at path without the entries that match
// words. A conflict copy of a sync tool stays unless the caller may read all of
// the copy and of the file.
func (m adminOps) eraseInCopy(c Call, path string, kept vault.File, words *textMatcher) ([]byte, error) {
	if _, copied := memory.CopyOf(kept.Path); copied {
		doc, err := m.Files.Load(path)
		if err == nil && doc.For(c.View) != doc {
			return nil, nil
		}
	}
	return m.eraseEntries(c, erasedFile{Path: path}, kept, words)
}

// checkErased returns an error if a conflict copy still contains one of the
// entries of f.
func (m adminOps) checkErased(f erasedFile) error {
	doc, err := m.Files.Load(f.Path)
	if err != nil {
		return nil
	}
	for i := range doc.Entries {
		if slices.ContainsFunc(f.Entries, func(o erasedEntry) bool { _, ok := o.isIn(doc, &doc.Entries[i]); return ok }) {
			return api.Errorf(api.Conflict, "a conflict copy is changed only if the caller may read all of it").
				WithHint("run `memwatchd conflicts merge`")
		}
	}
	return nil
}

// eraseEntries returns the file without the entries of f, all of which must be
// unchanged. If f has no entries, it removes those that match words and that
// the caller may change; a file that the caller cannot read completely stays. The rest
// of the file changes only where it is derived from the entries.
func (m adminOps) eraseEntries(c Call, f erasedFile, file vault.File, words *textMatcher) ([]byte, error) {
	path, lost := f.Path, f.Entries
	file.Path = path
	parse := func(source []byte) *memory.Document {
		next := file
		next.Data = source
		return m.Parse(next)
	}
	doc := parse(file.Data)
	switch known := doc.For(c.View); {
	case known == doc:
	case lost == nil:
		return nil, nil
	case known == nil:
		return nil, notFound("file", path)
	default:
		return nil, errPartial(path)
	}
	may := m.mayChangeEntry(c, path)
	drop, cut, found := make([]bool, len(doc.Entries)), make([][][2]int, len(doc.Entries)), 0
	for i := range doc.Entries {
		e := &doc.Entries[i]
		if lost == nil && may(e) {
			drop[i], cut[i] = words.matchesEntry(doc, e)
			if drop[i] || cut[i] != nil {
				found++
			}
		}
		for _, o := range lost {
			switch lines, ok := o.isIn(doc, e); {
			case ok && o.From == 0:
				found, drop[i] = found+1, true
			case ok:
				found, cut[i] = found+1, append(cut[i], lines)
			}
		}
	}
	summary := slices.Contains(lost, erasedEntry{ID: summaryID, Digest: digestOf(summaryOf(doc))})
	if lost == nil {
		summary = words.everyEntry && words.matchesText(summaryOf(doc)) &&
			m.mayChange(c, path, doc.Own, doc.Front.Author())
		f.Summary = words.matchingLines(doc.Front.Summary)
	}
	if summary {
		found++
	}
	switch {
	case found == 0 && lost == nil:
		return nil, nil
	case found < len(lost):
		return nil, api.Errorf(api.Conflict, "%s has changed since the list was made", path).
			WithHint("list the entries again")
	}
	rev := doc.Revise()
	for i, gone := range drop {
		if gone {
			rev.Remove(i)
		} else {
			rev.RemoveLines(i, cut[i])
		}
	}
	if summary && !doc.HasGeneratedSummary() {
		rev.SetField("summary", withoutLines(doc.Front.Summary, f.Summary))
	}
	rev.SetTitles()
	rev.SetCounters()
	return rev.Apply(parse)
}

// eraseCopies removes the text of an erasure from every place except the files
// themselves.
func (m adminOps) eraseCopies(ctx context.Context, plan *erasure, words *textMatcher) error {
	var errs []error
	for _, f := range plan.Files {
		if err := m.Writer.Clear(ctx, f.Path); err != nil {
			errs = append(errs, fmt.Errorf("saved copies of %s: %w", f.Path, err))
		}
	}
	errs = append(errs, m.Writer.Journal.Forget(plan.Journal))
	if m.Compactor != nil && m.Compactor.Uses != nil {
		errs = append(errs, m.Compactor.Uses.Forget(func(path, id, text string) bool {
			return plan.erasesEntry(path, id) ||
				words.matchesText(text)
		}))
	}
	return errors.Join(append(errs, m.Indexer.Purge(ctx))...)
}
