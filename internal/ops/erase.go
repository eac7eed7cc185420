package ops

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/internal/lazyregexp"
	"github.com/memwatchd/memwatchd/internal/state"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
	"github.com/memwatchd/memwatchd/vault/journal"
)

// Text to be forgotten is in files, in the journal, the use counts and the index. It
// leaves the files last but for the index, so that a repeated request finds what an
// interrupted one left.

// An erasure selects text outside of the files, and lists the files that lose text.
type erasure struct {
	paths []string
	find  func(path string, content []byte) [][2]int // as for [journal.Journal.Erase]
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
	errs = append(errs, m.Writer.Journal.Erase(e.find), m.EraseSpool(e.waits),
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
// index, and drops contents of the journal that an earlier build could not reach. Call it
// after all files have been read.
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
	if err := m.checkUnchanged(c, l.match, chosen); err != nil {
		return err
	}
	words := newTextMatcher(&l, chosen)
	e := erasure{find: m.findStored(c, words), used: func(path, id, text string) bool {
		return words.matchesText(text) ||
			slices.ContainsFunc(chosen, func(t occurrence) bool { return t.Path == path && t.entry == id })
	}, waits: func(text string) bool { return c.FullAccess && words.matchesText(text) }}
	for _, t := range chosen {
		if !slices.Contains(e.paths, t.Path) {
			e.paths = append(e.paths, t.Path)
		}
	}
	for _, path := range e.paths {
		words.ours[path] = m.isOurs(path)
	}
	answer.Problem, err = m.erase(ctx, c, e, func() {
		answer.Removed, answer.Failed = m.removeEntries(ctx, c, e.paths, chosen, words)
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
		at := slices.IndexFunc(l.occurrences, func(t occurrence) bool { return t.ID == id && id != "" })
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

// checkUnchanged returns an error if a chosen occurrence has changed since it was
// listed.
func (m adminOps) checkUnchanged(c Call, match index.Phrase, chosen []occurrence) error {
	var now []occurrence
	for i, t := range chosen {
		if t.What == earlierVersion {
			continue
		}
		if i == 0 || chosen[i-1].Path != t.Path {
			now = nil
			if doc, err := m.loadFile(c, t.Path); err == nil {
				now = m.occurrencesIn(c, doc, match)
			}
		}
		if !slices.ContainsFunc(now, func(n occurrence) bool { return n.ID == t.ID && n.digest == t.digest }) {
			return errListChanged(t.ID)
		}
	}
	return nil
}

func errListChanged(object string) error {
	return api.Errorf(api.Conflict, "%s has changed since the list was made", object).WithHint("list the entries again")
}

// removeEntries removes entries from files and from the copies kept beside these files.
// It returns the ids of the removed entries and the reasons for failures.
func (m adminOps) removeEntries(ctx context.Context, c Call, paths []string, chosen []occurrence,
	words *textMatcher) (gone []string, failed []api.Refused) {
	gone = []string{}
	group := ""
	var copies []string // changed conflict copies
	for _, path := range paths {
		entries := slices.DeleteFunc(slices.Clone(chosen), func(t occurrence) bool { return t.Path != path })
		of, copied := memory.CopyOf(path)
		changed, err := m.Writer.EditConflictCopies(ctx, of, func(kept *vault.File) ([]byte, error) {
			return m.eraseInCopy(c, of, *kept, words), nil
		})
		copies = append(copies, changed...)
		switch {
		case entries[0].What == earlierVersion: // the file has nothing to remove
		case !copied:
			if err != nil {
				failed = append(failed, api.Refused{ID: path,
					Reason: "saved copy of the file: " + oneLine(asError(writeError(err)).Message)})
			}
			var written vault.Written
			written, err = m.Writer.Write(ctx, vault.Change{
				Path: path, Cause: "forget", Group: group, Requested: true, Secret: true,
				Edit: func(old *vault.File) ([]byte, error) {
					return m.eraseEntries(ctx, c, path, old, entries, words)
				},
			})
			group = cmp.Or(group, written.ID)
		case err == nil && !slices.Contains(copies, path):
			err = api.Errorf(api.Conflict, "a conflict copy is changed only if the caller may read all of it").
				WithHint("run `memwatchd conflicts merge`")
		}
		for _, t := range entries {
			if err == nil {
				gone = append(gone, t.ID)
			} else {
				failed = append(failed, api.Refused{ID: t.ID, Reason: asError(writeError(err)).Message})
			}
		}
	}
	return gone, failed
}

// eraseInCopy returns a copy of the file at path without the lines of removed text, or nil.
// A copy that the caller cannot read completely stays, and so does one of a sync tool beside
// such a file.
func (m adminOps) eraseInCopy(c Call, path string, kept vault.File, words *textMatcher) []byte {
	whole := func(doc *memory.Document) bool { return doc.For(c.View) == doc }
	if _, copied := memory.CopyOf(kept.Path); copied {
		if doc, err := m.Files.Load(path); err == nil && !whole(doc) {
			return nil
		}
	}
	kept.Path = path
	if !whole(m.Parse(kept)) {
		return nil
	}
	_, shared := m.mayForget(c, path)
	matches := words.containsLine
	if words.everyEntry && !shared {
		matches = words.matchesText
	}
	text := string(kept.Data)
	found := append(findLines(text, matches), words.findEntries(text, normalizeLine, 1)...)
	if len(found) == 0 {
		return nil
	}
	rest, number := []byte{}, 0
	for line := range strings.Lines(text) {
		number++
		if !slices.ContainsFunc(found, func(f [2]int) bool { return f[0] <= number && number <= f[1] }) {
			rest = append(rest, line...)
		}
	}
	return rest
}

// eraseEntries returns the file without the chosen entries, all of which must be
// unchanged. The rest of the file changes only where it is derived from the entries.
func (m adminOps) eraseEntries(ctx context.Context, c Call, path string, old *vault.File, chosen []occurrence,
	words *textMatcher) ([]byte, error) {
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
			switch {
			case t.entry != e.ID || t.digest != digestOf(doc.SourceLines(e.Line, e.EndLine)):
				continue
			case t.lines == [2]int{}:
				rev.Remove(i)
			default:
				lines = append(lines, [2]int{e.Line + t.lines[0] - 1, e.Line + t.lines[1] - 1})
			}
			found++
		}
		rev.RemoveLines(i, lines)
	}
	if slices.ContainsFunc(chosen, func(t occurrence) bool {
		return t.entry == summaryID && t.digest == digestOf(summaryOf(doc))
	}) {
		found++
		rev.SetField("summary", words.withoutMatches(doc.Front.Summary))
	}
	if found < len(chosen) {
		return nil, errListChanged(path)
	}
	rev.SetTitles()
	rev.SetCounters()
	data, err := rev.Apply(m.parser(ctx, *old))
	switch {
	case err != nil:
		err = fmt.Errorf("%w: %w", memory.ErrUnwritable, err)
	case words.ours[path] && hasOnlyHeadings(m.Parse(vault.File{Path: path, Data: data})):
		data, err = nil, vault.ErrRemove
	}
	return data, err
}

// isOurs reports whether memwatchd created a file and no other program has changed it.
func (m adminOps) isOurs(path string) bool {
	file, err := m.Writer.Vault.Read(path)
	version := journal.Digest(file.Data)
	for _, r := range m.Writer.Journal.List(time.Time{}, path, 0) {
		if r.After != version {
			return false
		}
		version = r.Before
	}
	return err == nil && version == ""
}

// hasOnlyHeadings reports whether a file contains nothing but headings.
func hasOnlyHeadings(doc *memory.Document) bool {
	return !doc.Front.Present && len(doc.Hidden) == 0 &&
		!slices.ContainsFunc(doc.Entries, func(e memory.Entry) bool { return e.Block != memory.EmptyHeading })
}

// A textMatcher finds the matched text and the lines of the removed entries outside of
// entries.
type textMatcher struct {
	match      index.Phrase
	chosen     []occurrence
	lines      map[string]bool // normalized by normalizeLine
	blocks     [][]string      // normalized lines of each entry
	everyEntry bool            // all listed entries with the text are removed
	ours       map[string]bool // paths of files without text of other programs
}

// minLine is the minimum length of a line that is searched for by itself, in
// bytes. Shorter lines are too common.
const minLine = 12

func newTextMatcher(l *forgetList, chosen []occurrence) *textMatcher {
	n := &textMatcher{match: l.match, chosen: chosen, everyEntry: true,
		lines: map[string]bool{}, ours: map[string]bool{}}
	for _, t := range chosen {
		var block []string
		for line := range strings.Lines(t.source) {
			line = normalizeLine(line)
			n.lines[line] = len(line) >= minLine
			block = append(block, line)
		}
		if t.What == "entry" {
			n.blocks = append(n.blocks, block)
		}
	}
	for _, t := range l.occurrences {
		n.everyEntry = n.everyEntry && (t.What != "entry" ||
			slices.ContainsFunc(chosen, func(o occurrence) bool { return o.ID == t.ID }))
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

// matchesText reports whether a text contains the matched text or a removed line.
func (n *textMatcher) matchesText(text string) bool { return n.match.In(text) || n.containsLine(text) }

// containsLine reports whether a text contains a line of a removed entry.
func (n *textMatcher) containsLine(text string) bool {
	for line := range strings.Lines(text) {
		if n.lines[normalizeLine(line)] {
			return true
		}
	}
	return false
}

// withoutMatches returns a text without the lines that match, or nothing if a match spans
// several lines or is masked.
func (n *textMatcher) withoutMatches(text string) string {
	rest := strings.Join(slices.DeleteFunc(strings.Split(text, "\n"), n.matchesText), "\n")
	if rest == text || n.matchesText(rest) {
		return ""
	}
	return rest
}

// findStored returns a function that selects the lines to remove of a content that a file
// at path has or had: those that contain the text, entries with it, and those of removed entries.
// Of a file that others share, it selects only what the caller may change, because
// others may have written the same text; and of a content that nothing refers to, all.
func (m adminOps) findStored(c Call, words *textMatcher) func(path string, content []byte) [][2]int {
	type access struct{ may, shared bool }
	known := map[string]access{"": {true, false}}
	matches, removed, normalize := memoize(words.matchesText), memoize(words.containsLine), memoize(normalizeLine)
	return func(path string, content []byte) (found [][2]int) {
		a, ok := known[path]
		if !ok {
			a.may, a.shared = m.mayForget(c, path)
			known[path] = a
		}
		text := string(bytes.ToValidUTF8(content, nil))
		switch {
		case !a.may:
			return nil
		case a.shared:
			found = findLines(text, removed)
		default:
			found = append(findLines(text, matches), words.findEntries(text, normalize, 2)...)
		}
		if path != "" {
			found = append(found, m.findInEntries(c, path, content, words)...)
		}
		whole := path == "" && found != nil ||
			found == nil && !a.shared && words.match.In(text) // the text goes over the end of a line
		if whole {
			return [][2]int{{1, math.MaxInt}}
		}
		return found
	}
}

// findInEntries returns the lines of the entries of a content that contain the text or have
// the id of a removed entry, as far as the caller may change them.
func (m adminOps) findInEntries(c Call, path string, content []byte, words *textMatcher) (found [][2]int) {
	text := string(content)
	named := slices.DeleteFunc(slices.Clone(words.chosen), func(t occurrence) bool {
		return t.Path != path || t.lines != [2]int{} || !strings.Contains(text, t.entry)
	})
	if len(named) == 0 && !words.match.MayBeIn(text) {
		return nil
	}
	doc := m.Parse(vault.File{Path: path, Data: content}).For(c.View)
	if doc == nil {
		return nil
	}
	may := m.mayChangeEntry(c, path)
	for i := range doc.Entries {
		e := &doc.Entries[i]
		if !may(e) {
			continue
		}
		found = append(found, matchingParts(doc, e, words.match)...)
		if slices.ContainsFunc(named, func(t occurrence) bool { return t.entry == e.ID }) {
			found = append(found, [2]int{e.Line, e.EndLine})
		}
	}
	return found
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

// findLines returns the lines, from 1, for which matches returns true.
func findLines(text string, matches func(string) bool) (found [][2]int) {
	number := 0
	for line := range strings.Lines(text) {
		number++
		if matches(line) {
			found = append(found, [2]int{number, number})
		}
	}
	return found
}

// findEntries returns the runs of at least so many lines that are those of a removed entry, of
// which some are too short to be searched for by themselves.
func (n *textMatcher) findEntries(text string, normalize func(string) string, least int) (found [][2]int) {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = normalize(lines[i])
	}
	for _, block := range n.blocks {
		for i := 0; i+len(block) <= len(lines) && len(block) >= least; i++ {
			if slices.Equal(lines[i:i+len(block)], block) {
				found = append(found, [2]int{i + 1, i + len(block)})
			}
		}
	}
	return found
}

// mayForget reports whether the caller may erase earlier contents of a file, and whether
// the file may contain text of others.
func (m adminOps) mayForget(c Call, path string) (may, shared bool) {
	place, inbox := m.Layout.Place(path), m.inbox(c)
	switch {
	case inbox != "" && !memory.Within(path, inbox):
		return false, true
	case place.Owner != "" && !memory.InInbox(path):
		return c.View.Readable(memory.Partition{Owner: place.Owner}), false
	}
	doc, err := m.Files.Load(path)
	if err != nil { // the file is gone, so its readers are unknown
		return c.Scope.Subject == m.Owner, false
	}
	known := doc.For(c.View)
	return known != nil, known != doc || !m.mayChange(c, path, doc.Partition, memory.Author{})
}
