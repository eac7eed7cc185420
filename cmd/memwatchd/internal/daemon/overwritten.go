package daemon

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/internal/diff"
	"github.com/memwatchd/memwatchd/internal/letters"
	"github.com/memwatchd/memwatchd/internal/state"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
	"github.com/memwatchd/memwatchd/vault/journal"
)

// Another program may save an old version of a file right after the daemon wrote an
// entry to it, and a sync tool may delete a conflict copy. Both remove text that the
// caller was told is saved. The journal has it, but nothing refers to it.

const (
	// overwriteWindow is the age of a change up to which another program is assumed to
	// have removed it by mistake.
	overwriteWindow = time.Minute
	// overwriteDelay lets a sync tool finish, which may put the text into a copy.
	overwriteDelay = 2 * time.Second
	// missedWindow is the age of the changes that are examined at the start, because the
	// last process may have ended before it examined them.
	missedWindow = time.Hour
	// maxOwnChanges bounds the changes of a file that are compared with a removed copy.
	maxOwnChanges = 100
	// maxMoved bounds the files that are searched for removed text.
	maxMoved = 100
	// maxOverwritten bounds the recorded entries and the dismissed changes.
	maxOverwritten = 1000
)

// overwritten finds entries that the daemon wrote, that another program removed soon
// after, and that no file contains any more. It needs the versions of memwatchd's own
// changes only, so it also works without the history.
//
// One rule tells a loss from an edit: a version of another program that contains something of
// a change by memwatchd was made from it, and lacks the rest of this change and of earlier ones
// on purpose. An entry that was edited in its place, or a heading that lost its entries, is
// something of the change. A version that contains nothing of the change was made from an
// older one.
type overwritten struct {
	journal   *journal.Journal
	files     *files
	layout    *memory.Layout
	copies    *copies
	logger    *slog.Logger
	statePath string // of the dismissed changes

	written sync.Map // paths of files → the last ownChange
	waiting sync.Map // files that are about to be examined

	mu        sync.Mutex
	lost      []lostEntry
	dismissed []string // ids of changes, the latest last
}

// An ownChange is a change by memwatchd.
type ownChange struct {
	at    time.Time
	after string // digest of the file
}

// A lostEntry is an entry that another program removed.
type lostEntry struct{ path, id, words string }

// wrote records a change by memwatchd. It examines the file later, if another program changed
// the file since the last one.
func (o *overwritten) wrote(r journal.Record) {
	last, ok := o.written.Swap(r.FilePath(), ownChange{r.Time, r.After})
	if ok && last.(ownChange).after != r.Before {
		o.examineLater(r.FilePath())
	}
}

// changed examines a file with a new content later, if memwatchd wrote another one recently.
// The document of a removed file is nil.
func (o *overwritten) changed(path string, doc *memory.Document) {
	digest := ""
	if doc != nil {
		digest = journal.Digest(doc.Source)
	}
	last, ok := o.written.Load(path)
	switch {
	case !ok:
	case config.Now().Sub(last.(ownChange).at) > overwriteWindow:
		o.written.Delete(path)
	case digest != last.(ownChange).after:
		o.examineLater(path)
	}
}

// appeared removes the entries that a changed file or conflict copy contains from the lost ones.
func (o *overwritten) appeared(doc *memory.Document) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.lost) > 0 {
		words := doc.Words()
		o.lost = slices.DeleteFunc(o.lost, func(e lostEntry) bool { return strings.Contains(words, e.words) })
	}
}

func (o *overwritten) examineLater(path string) {
	if _, waiting := o.waiting.LoadOrStore(path, true); !waiting {
		time.AfterFunc(overwriteDelay, func() {
			o.waiting.Delete(path)
			o.find(path, "")
		})
	}
}

// findMissed examines the files that memwatchd changed before it was restarted.
func (o *overwritten) findMissed() {
	o.mu.Lock()
	err := state.Load(o.statePath, 0, &o.dismissed)
	o.mu.Unlock()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		o.logger.Warn("changes that were dismissed may be reported again", "err", err)
	}
	seen := map[string]bool{}
	for _, r := range o.journal.List(config.Now().Add(-missedWindow), "", 0) {
		if path := r.FilePath(); !seen[path] {
			seen[path] = true
			o.find(path, "")
		}
	}
}

// copyRemoved examines the entries of a conflict copy that its file lacked, after the
// copy was removed.
func (o *overwritten) copyRemoved(path string, doc *memory.Document) {
	of, _ := memory.CopyOf(path)
	if o.journal == nil || len(doc.Entries) == 0 {
		return
	}
	if last := o.journal.List(time.Time{}, path, 1); len(last) > 0 && last[0].After == "" {
		return // merged or removed by the daemon
	}
	time.AfterFunc(overwriteDelay, func() { o.find(of, doc.Words()) })
}

// find records the entries that recent changes of a file wrote and that another program
// removed. Recent are the changes of the last minute before another program changed the file. If
// copied is not empty, find examines older changes, too, but only entries with these words.
func (o *overwritten) find(path, copied string) {
	file, err := o.files.Read(path)
	if err != nil && !vault.Absent(err) {
		return
	}
	changed := time.Unix(0, max(file.Stamp.MTime, file.Stamp.CTime))
	if err != nil {
		changed = config.Now()
	}
	since, limit := changed.Add(-overwriteWindow), 0
	if copied != "" {
		since, limit = time.Time{}, maxOwnChanges
	}
	changes := o.journal.List(since, path, limit)
	var found []lostEntry
	digest, present := journal.Digest(file.Data), o.layout.Parse(path, file.Data, memory.Meta{})
	for i, r := range changes {
		replaced := r.After != digest && r.FilePath() == path
		digest = r.Before
		if !replaced {
			continue
		}
		next := file.Data // what another program put in place of the change
		if i > 0 {
			next, _, err = o.journal.Contents(changes[i-1])
		}
		_, after, failed := o.journal.Contents(r)
		if failed == nil && (i == 0 || err == nil) {
			found = append(found, o.compare(present, after, next, changes[i:], copied)...)
		}
	}
	o.record(path, found)
}

// compare returns the entries that own changes wrote, newest first, and that another program
// removed by writing the version to in place of from. present is the file as it is now.
func (o *overwritten) compare(present *memory.Document, from, to []byte, own []journal.Record,
	copied string) (found []lostEntry) {
	path, kept := present.Place.Path, present.Words()
	synced := copied != "" || len(o.copies.list(path)) > 0 // the version may be that of another machine
	removed, edited := "", map[string]bool{}
	for _, h := range diff.Hunks(from, to) {
		old := o.layout.Parse(path, h.Old, memory.Meta{})
		removed += old.Words()
		if !synced {
			addEdited(edited, old, o.layout.Parse(path, h.New, memory.Meta{}))
		}
	}
	emptied := map[string]bool{} // headings
	for _, e := range present.Entries {
		emptied[e.Norm] = emptied[e.Norm] || e.Block == memory.EmptyHeading
	}
	front := bytes.Count(present.Source[:present.Front.Span.End], []byte("\n"))
	for _, r := range own {
		before, after, err := o.journal.Contents(r)
		if err != nil || r.FilePath() != path || r.Automatic || r.State != journal.StateDone {
			continue
		}
		known := len(found)
		for _, h := range diff.Hunks(before, after) { // large files would take long to parse
			if r.Before != "" && h.Line <= front {
				continue // a key of the frontmatter
			}
			wrote, was := o.layout.Parse(path, h.New, memory.Meta{}), o.layout.Parse(path, h.Old, memory.Meta{}).Words()
			for _, heading := range wrote.Headings {
				if emptied[letters.FoldCase(heading.Text)] {
					return found[:known]
				}
			}
			for i := range wrote.Entries {
				words := wrote.Entries[i].Words()
				switch {
				case words == "" || strings.Contains(was, words):
				case edited[words] || strings.Contains(kept, words):
					return found[:known]
				case strings.Contains(removed, words) && strings.Contains(cmp.Or(copied, words), words):
					found = append(found, lostEntry{path, r.ID, words})
				}
			}
		}
	}
	return found
}

// addEdited adds the words of the entries of a part of a file that another program replaced by
// at least as many entries with the same title under the same heading.
func addEdited(edited map[string]bool, old, replacement *memory.Document) {
	type place struct{ title, heading string }
	placeOf := func(doc *memory.Document, e *memory.Entry) (p place) {
		p.title = e.Title
		if e.Heading >= 0 {
			p.heading = doc.Headings[e.Heading].Text
		}
		return p
	}
	missing := map[place]int{}
	for i := range old.Entries {
		missing[placeOf(old, &old.Entries[i])]++
	}
	for i := range replacement.Entries {
		missing[placeOf(replacement, &replacement.Entries[i])]--
	}
	for i := range old.Entries {
		if e := &old.Entries[i]; missing[placeOf(old, e)] <= 0 {
			edited[e.Words()] = true
		}
	}
}

// record adds the entries that no other file that changed lately contains to the lost ones.
func (o *overwritten) record(path string, found []lostEntry) {
	if len(found) == 0 {
		return
	}
	elsewhere := o.changedWords(path)
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, e := range found {
		if !strings.Contains(elsewhere, e.words) && !slices.Contains(o.dismissed, e.id) &&
			!slices.Contains(o.lost, e) && len(o.lost) < maxOverwritten {
			o.lost = append(o.lost, e)
			o.logger.Warn("another program removed an entry that memwatchd wrote", "path", path, "change", e.id)
		}
	}
}

// changedWords returns the words of the files that changed last, without those of a file.
func (o *overwritten) changedWords(except string) string {
	root := o.files.roots[0]
	changed := func(path string) int64 {
		stamp, _ := root.Catalogue.Lookup(path)
		return max(stamp.MTime, stamp.CTime)
	}
	paths := slices.DeleteFunc(root.Catalogue.Files(), func(path string) bool { return path == except })
	slices.SortStableFunc(paths, func(a, b string) int { return cmp.Compare(changed(b), changed(a)) })
	var words strings.Builder
	for _, path := range paths[:min(len(paths), maxMoved)] {
		if file, err := o.files.Read(path); err == nil {
			words.WriteString(o.layout.Parse(path, file.Data, memory.Meta{}).Words())
		}
	}
	return words.String()
}

// dismiss stops the reports of a change.
func (o *overwritten) dismiss(id string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	count := len(o.lost)
	o.lost = slices.DeleteFunc(o.lost, func(e lostEntry) bool { return e.id == id })
	if len(o.lost) == count {
		return api.Errorf(api.NotFound, "no problem with the change %q is reported", id).
			WithHint("run `memwatchd check` to list the problems")
	}
	o.dismissed = append(o.dismissed, id)
	o.dismissed = o.dismissed[max(0, len(o.dismissed)-maxOverwritten):]
	return state.Save(o.statePath, o.dismissed)
}

// problems calls add for each file with lost entries.
func (o *overwritten) problems(add func(path, code, message string)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	missing := map[string][]string{} // ids of changes, by path
	o.lost = slices.DeleteFunc(o.lost, func(e lostEntry) bool {
		r, err := o.journal.Get(e.id)
		if err != nil || r.Forgotten {
			return true
		}
		if !slices.Contains(missing[e.path], e.id) {
			missing[e.path] = append(missing[e.path], e.id)
		}
		return false
	})
	for path, ids := range missing {
		slices.Sort(ids)
		add(path, "overwritten", fmt.Sprintf("another program removed text that memwatchd wrote with the changes %s; "+
			"to write it again, run `memwatchd undo --again` with each of them; if that was intended, run "+
			"`memwatchd check --dismiss`", strings.Join(ids, ", ")))
	}
}
