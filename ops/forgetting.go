package ops

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
	"github.com/memwatchd/memwatchd/vault/journal"
)

// What is to be forgotten is noted before anything is done, by ids and numbers
// alone: what a crash leaves undone is done at the next start. Then the text is
// taken out of what lies beside its files, out of the files, out of the journal,
// the counts of use and the index.

// An oblivion is what is to be forgotten.
type oblivion struct {
	Subject string            `json:"subject"` // who asked
	Files   []lostFile        `json:"files,omitempty"`
	Journal []journal.Holding `json:"journal,omitempty"`
}

// A lostFile is a file, with what is to go from it.
type lostFile struct {
	Path    string      `json:"path"`
	Entries []lostEntry `json:"entries,omitempty"` // none: the file itself
	Summary []int       `json:"summary,omitempty"` // lines of the summary, from 0, if that is one of the entries; none: all
	Digest  string      `json:"digest,omitempty"`  // of the file, if it is to go itself
}

// A lostEntry is an entry, or the summary of a file.
type lostEntry struct {
	ID     string `json:"id"`
	Digest string `json:"digest"` // of what it says
}

// forgetListed removes some of what was listed.
func (m erasing) forgetListed(ctx context.Context, c Call, r *api.ForgetRequest, answer *api.ForgetAnswer) error {
	m.forgetting.turn.Lock()
	defer m.forgetting.turn.Unlock()
	l, err := m.forgetting.listed(c, r.Token, m.now())
	if err != nil {
		return err
	}
	chosen, err := l.choose(r.IDs)
	if err != nil {
		return err
	}
	if err := m.allKnown(ctx, &c); err != nil {
		return err
	}
	if err := m.stillThere(c, l.match, chosen); err != nil {
		return err
	}
	words := newNeedles(l.match, chosen)
	words.all = !slices.ContainsFunc(l.traces, func(t trace) bool {
		return t.What == "entry" && !slices.ContainsFunc(chosen, func(c trace) bool { return c.ID == t.ID })
	})
	plan := newOblivion(c.Scope.Subject, chosen, words)
	var problem error
	plan.Journal, problem = m.inJournal(c, words)
	before, err := m.writeDown(plan)
	if err != nil {
		return err
	}
	answer.Removed = []string{}
	gone, failed := m.removeListed(ctx, c, &plan, words)
	answer.Removed, answer.Failed = append(answer.Removed, gone...), failed
	// Others may have written to the files meanwhile.
	more, err := m.inJournal(c, words)
	plan.Journal = append(plan.Journal, more...)
	problem = errors.Join(problem, err, m.clear(ctx, &plan, words))
	if problem == nil {
		problem = m.writeAllDown(before)
	}
	if problem != nil {
		answer.Problem = "it is not gone everywhere yet; that is tried again when the daemon is started"
		if c.Whole { // it may be about what others have
			answer.Problem = oneLine(problem.Error()) + "; it is tried again when the daemon is started"
		}
	}
	if _, err := m.sync(ctx, &c, api.Fresh{}); err != nil {
		return err
	}
	showTraces(answer, m.traces(c, l.match))
	answer.Beyond = beyond
	return nil
}

// newOblivion is what was chosen, in its files.
func newOblivion(subject string, chosen []trace, words *needles) oblivion {
	plan := oblivion{Subject: subject}
	for _, t := range chosen {
		_, id, _ := cutID(t.ID)
		if n := len(plan.Files); n == 0 || plan.Files[n-1].Path != t.Path {
			plan.Files = append(plan.Files, lostFile{Path: t.Path})
		}
		f := &plan.Files[len(plan.Files)-1]
		f.Entries = append(f.Entries, lostEntry{id, t.digest})
		if id == summaryID {
			f.Summary = words.lost(t.Text)
		}
	}
	return plan
}

// cutID takes an id apart.
func cutID(id string) (path, entry string, ok bool) {
	i := strings.LastIndexByte(id, '#')
	if i < 0 {
		return "", "", false
	}
	return id[:i], id[i+1:], true
}

// choose finds what ids stand for, with the archived copies of it that were
// listed as well. With nothing to choose, what no file says any more can still be
// taken out of the rest.
func (l *list) choose(ids []string) ([]trace, error) {
	var chosen []trace
	if len(ids) == 0 && slices.ContainsFunc(l.traces, func(t trace) bool { return t.ID != "" }) {
		return nil, api.Errorf(api.Invalid, "ids: none is given").WithHint("give those of the list that are to be removed")
	}
	norms := map[string]bool{}
	for _, id := range ids {
		at := slices.IndexFunc(l.traces, func(t trace) bool { return t.ID == strings.TrimSpace(id) && t.ID != "" })
		if at < 0 {
			return nil, api.Errorf(api.Invalid, "ids: %q is not in the list of that token", id)
		}
		if t := l.traces[at]; t.What == "entry" {
			norms[t.norm] = true
		}
	}
	for _, t := range l.traces {
		copied := t.Kind == memory.Archive.String() && t.What == "entry" && norms[t.norm]
		if t.ID != "" && (copied || slices.ContainsFunc(ids, func(id string) bool { return strings.TrimSpace(id) == t.ID })) {
			chosen = append(chosen, t)
		}
	}
	return chosen, nil
}

// stillThere says no if something is not what it was when it was listed.
func (m erasing) stillThere(c Call, match string, chosen []trace) error {
	var now []trace
	for i, t := range chosen {
		if i == 0 || chosen[i-1].Path != t.Path {
			now = nil
			if doc, shown, err := m.load(c, t.Path); err == nil {
				now = tracesIn(doc, shown, match)
			}
		}
		if !slices.ContainsFunc(now, func(n trace) bool { return n.ID == t.ID && n.digest == t.digest }) {
			return api.Errorf(api.Conflict, "%s is not what it was when it was listed", t.ID).WithHint("ask with match again")
		}
	}
	return nil
}

// removeListed takes entries out of their files, and out of what was kept beside
// them. It returns their ids, and why some are still there.
func (m erasing) removeListed(ctx context.Context, c Call, plan *oblivion, words *needles) (gone []string, failed []api.Refused) {
	group := ""
	for _, f := range plan.Files {
		if len(f.Entries) == 0 {
			continue
		}
		_, err := m.Writer.EditKept(ctx, f.Path, func(kept *vault.File) ([]byte, error) { return m.without(c, lostFile{Path: f.Path}, *kept, words) })
		if err != nil {
			failed = append(failed, api.Refused{ID: f.Path, Reason: "what was kept beside it: " + oneLine(err.Error())})
		}
		owned := false
		var refused error // by what the file says
		written, err := m.Writer.Write(ctx, vault.Change{
			Path: f.Path, Cause: "forget", Group: group, Asked: true, Secret: true,
			Edit: func(old *vault.File) (data []byte, err error) {
				defer func() { refused = err }()
				if old == nil {
					return nil, notFound("file", f.Path)
				}
				owned = m.Parse(*old).Owned(c.View)
				data, err = m.without(c, f, *old, words)
				if _, told := errors.AsType[*api.Error](err); err != nil && !told {
					err = fmt.Errorf("%w: %w", memory.ErrUnwritable, err)
				}
				return data, err
			},
		})
		if err = cmp.Or(refused, err); err != nil {
			reason := asError(writeError(err, owned)).Message
			for _, e := range f.Entries {
				failed = append(failed, api.Refused{ID: f.Path + "#" + e.ID, Reason: reason})
			}
			continue
		}
		if group == "" {
			group = written.ID
		}
		for _, e := range f.Entries {
			gone = append(gone, f.Path+"#"+e.ID)
		}
	}
	return gone, failed
}

// without is a file without entries: those that are named, all of which must be as
// they were, or, if none is, those that have what is looked for. Of the rest of
// the file nothing changes but what is derived from the entries.
func (m erasing) without(c Call, f lostFile, file vault.File, words *needles) ([]byte, error) {
	path, lost := f.Path, f.Entries
	file.Path = path
	parse := func(source []byte) *memory.Document {
		next := file
		next.Data = source
		return m.Parse(next)
	}
	whole := parse(file.Data)
	doc := whole.For(c.View)
	if doc == nil && lost == nil {
		return nil, nil
	} else if doc == nil {
		return nil, notFound("file", path)
	}
	drop, found := make([]bool, len(doc.Entries)), 0
	for i := range doc.Entries {
		e := &doc.Entries[i]
		source := doc.Said(e.Line, e.EndLine)
		if lost == nil {
			drop[i] = words.entry(e, source)
		} else {
			drop[i] = slices.Contains(lost, lostEntry{e.ID, digestOf(source)})
		}
		if drop[i] {
			found++
		}
	}
	summary := slices.Contains(lost, lostEntry{summaryID, digestOf(summaryOf(doc))})
	if lost == nil {
		summary, f.Summary = words.all && words.in(summaryOf(doc)), words.lost(doc.Front.Summary)
	}
	if summary {
		found++
	}
	switch {
	case found == 0 && lost == nil:
		return nil, nil
	case found < len(lost):
		return nil, api.Errorf(api.Conflict, "%s is not what it was when it was listed", path).WithHint("ask with match again")
	case doc != whole:
		return removePublic(c, whole, doc, drop, summary, f.Summary, parse)
	}
	rev := doc.Revise()
	for i, gone := range drop {
		if gone {
			rev.Remove(i)
		}
	}
	if summary && !doc.Titled() {
		rev.SetField("summary", withoutLines(doc.Front.Summary, f.Summary))
	}
	rev.SetTitles()
	rev.SetCounters()
	return rev.Apply(parse)
}

// removePublic removes entries from a file that has others which the caller may not
// read: what is shown of it is what it would be without these. They stay where they
// are, unless headings or blank lines would tell of them then.
func removePublic(c Call, whole, doc *memory.Document, drop []bool, summary bool, lines []int, parse func([]byte) *memory.Document) ([]byte, error) {
	gone := map[string]bool{} // the same entry has the same id in what the caller may read
	for i, e := range doc.Entries {
		gone[e.ID] = drop[i]
	}
	rev := whole.Revise()
	for i := range whole.Entries {
		if e := &whole.Entries[i]; e.Readable(c.View) && gone[e.ID] {
			rev.Remove(i)
		}
	}
	source, err := rev.Apply(parse)
	text := withoutEntries(c, doc, drop, parse)
	if strings.TrimSpace(text) != "" && (err != nil || parse(source).Shown(c.View).Text() != text) {
		source, err = whole.Rewrite(c.View, text, parse)
	}
	if err != nil {
		return nil, err
	}
	rev = parse(source).Revise()
	if summary {
		rev.SetField("summary", withoutLines(doc.Front.Summary, lines))
	}
	rev.SetCounters()
	return rev.Apply(parse)
}

// withoutEntries is what would be shown of what the caller may read of a file if some
// of its entries went, and there were nothing else in it.
func withoutEntries(c Call, doc *memory.Document, drop []bool, parse func([]byte) *memory.Document) string {
	shown := doc.Shown(c.View)
	if alone := parse([]byte(shown.Text())); len(alone.Entries) == len(doc.Entries) {
		rev := alone.Revise()
		for i, gone := range drop {
			if gone {
				rev.Remove(i)
			}
		}
		if source, err := rev.Apply(parse); err == nil {
			return parse(source).Shown(c.View).Text()
		}
	}
	return cutLines(doc, doc.Shown(c.View), drop)
}

// cutLines is what a file shows without some of its entries, and without the blank
// lines that nobody would leave where they were.
func cutLines(doc *memory.Document, shown memory.Shown, drop []bool) string {
	gone := make([]bool, len(shown.Lines)+1)
	for i, e := range doc.Entries {
		for line := shown.Line(e.Line); drop[i] && line <= shown.Line(e.EndLine); line++ {
			gone[line] = true
		}
	}
	var b strings.Builder
	blank, cut := true, false
	for i, text := range shown.Lines {
		if gone[i+1] {
			cut = true
			continue
		}
		if is := strings.TrimSpace(text) == ""; is && blank && cut {
			continue
		} else {
			blank, cut = is, cut && is
		}
		b.WriteString(text + "\n")
	}
	return b.String()
}

// clear takes what is to be forgotten out of everything but the files.
func (m erasing) clear(ctx context.Context, plan *oblivion, words *needles) error {
	var errs []error
	for _, f := range plan.Files {
		if err := m.Writer.Clear(ctx, f.Path); err != nil {
			errs = append(errs, fmt.Errorf("beside %s: %w", f.Path, err))
		}
	}
	errs = append(errs, m.Writer.Journal.Forget(plan.Journal))
	if m.Compactor != nil && m.Compactor.Uses != nil {
		errs = append(errs, m.Compactor.Uses.Forget(func(path, id, text string) bool { return plan.drops(path, id) || words.in(text) }))
	}
	return errors.Join(append(errs, m.Keeper.Purge(ctx))...)
}

// drops reports whether an entry is to go.
func (o *oblivion) drops(path, id string) bool {
	return slices.ContainsFunc(o.Files, func(f lostFile) bool {
		return f.Path == path && (len(f.Entries) == 0 || slices.ContainsFunc(f.Entries, func(e lostEntry) bool { return e.ID == id }))
	})
}

// writeDown keeps what is to be forgotten beside what was to be before, and returns the
// latter.
func (m erasing) writeDown(plan oblivion) (before []oblivion, err error) {
	if before, err = m.unforgotten(); err == nil {
		err = m.writeAllDown(append(slices.Clip(before), plan))
	}
	if err != nil {
		return nil, api.Errorf(api.Unavailable, "nothing is forgotten without a note of it: %v", err)
	}
	return before, nil
}

func (m erasing) writeAllDown(list []oblivion) error {
	if m.Forgetting == "" {
		return nil
	}
	data, err := json.Marshal(list)
	if err != nil {
		return err
	}
	return vault.WriteState(m.Forgetting, data)
}

// unforgotten is what was to be forgotten, and may still be there.
func (m erasing) unforgotten() ([]oblivion, error) {
	if m.Forgetting == "" {
		return nil, nil
	}
	data, err := vault.ReadState(m.Forgetting)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var left []oblivion
	if err := json.Unmarshal(data, &left); err != nil {
		return nil, fmt.Errorf("what is to be forgotten: %s cannot be read: %w", m.Forgetting, err)
	}
	return left, nil
}

// Forget finishes what was to be forgotten when the daemon was stopped. It is
// called when all files are known.
func (m *Memory) Forget(ctx context.Context) error { return m.erasing().finish(ctx) }

func (m erasing) finish(ctx context.Context) error {
	m.forgetting.turn.Lock()
	defer m.forgetting.turn.Unlock()
	if m.Forgetting == "" || m.Writer == nil {
		return nil
	}
	left, err := m.unforgotten()
	if err != nil || len(left) == 0 {
		return err
	}
	var errs []error
	for i := range left {
		plan := &left[i]
		c := Call{Scope: memory.Scope{Subject: plan.Subject, Context: memory.Private}}
		if err := m.look(&c); err != nil {
			errs = append(errs, err)
			continue
		}
		// What is not there as it was has gone, or was changed by somebody since.
		var there oblivion
		words := &needles{}
		for _, f := range plan.Files {
			if len(f.Entries) == 0 {
				there.Files = append(there.Files, f)
			} else if f = m.left(c, f, words); len(f.Entries) > 0 {
				there.Files = append(there.Files, f)
			}
		}
		_, failed := m.removeListed(ctx, c, &there, words)
		for _, f := range failed {
			errs = append(errs, fmt.Errorf("forget %s: %s", f.ID, f.Reason))
		}
		errs = append(errs, m.removeWiped(ctx, &there, true), m.clear(ctx, plan, words))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return m.writeAllDown(nil)
}

// left is what of a file is still there that is to go.
func (m erasing) left(c Call, f lostFile, words *needles) lostFile {
	there := lostFile{Path: f.Path, Summary: f.Summary}
	doc, _, err := m.load(c, f.Path)
	if err != nil {
		return there
	}
	for i := range doc.Entries {
		e := &doc.Entries[i]
		source := doc.Said(e.Line, e.EndLine)
		if want := (lostEntry{e.ID, digestOf(source)}); slices.Contains(f.Entries, want) {
			there.Entries = append(there.Entries, want)
			words.add(source, e.Norm)
		}
	}
	if want := (lostEntry{summaryID, digestOf(summaryOf(doc))}); slices.Contains(f.Entries, want) {
		there.Entries = append(there.Entries, want)
	}
	return there
}
