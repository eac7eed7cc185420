package daemon

import (
	"bytes"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/internal/diff"
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
	// maxOverwritten bounds the recorded entries.
	maxOverwritten = 1000
)

// overwritten finds entries that the daemon wrote, that another program removed soon
// after, and that no conflict copy contains. It needs the versions of memwatchd's own
// changes only, so it also works without the history.
type overwritten struct {
	journal *journal.Journal
	files   *files
	layout  *memory.Layout
	copies  *copies
	logger  *slog.Logger

	written sync.Map // paths of files → the last ownChange
	waiting sync.Map // files that are about to be examined
	mu      sync.Mutex
	lost    []lostEntry
}

// An ownChange is a change by memwatchd.
type ownChange struct {
	at    time.Time
	after string // digest of the file
}

// A lostEntry is an entry that another program removed.
type lostEntry struct{ path, id, norm string }

// wrote records a change by memwatchd. It examines the file later, if another program changed
// the file since the last one.
func (o *overwritten) wrote(r journal.Record) {
	last, ok := o.written.Swap(r.FilePath(), ownChange{r.Time, r.After})
	if ok && last.(ownChange).after != r.Before {
		o.examineLater(r.FilePath())
	}
}

// changed examines a file with a new content later, if memwatchd wrote another one recently.
func (o *overwritten) changed(path string, doc *memory.Document) {
	last, ok := o.written.Load(path)
	switch {
	case !ok:
	case config.Now().Sub(last.(ownChange).at) > overwriteWindow:
		o.written.Delete(path)
	case doc != nil && journal.Digest(doc.Source) != last.(ownChange).after:
		o.examineLater(path)
	}
}

func (o *overwritten) examineLater(path string) {
	if _, waiting := o.waiting.LoadOrStore(path, true); !waiting {
		time.AfterFunc(overwriteDelay, func() {
			o.waiting.Delete(path)
			o.find(path, nil)
		})
	}
}

// findMissed examines the files that memwatchd changed before it was restarted.
func (o *overwritten) findMissed() {
	seen := map[string]bool{}
	for _, r := range o.journal.List(config.Now().Add(-missedWindow), "", 0) {
		if path := r.FilePath(); !seen[path] {
			seen[path] = true
			o.find(path, nil)
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
	time.AfterFunc(overwriteDelay, func() { o.find(of, normsOf(doc)) })
}

// find records the entries that recent changes of a file wrote and that are missing now,
// unless they were edited in place. Recent are the changes of the last minute before another
// program changed the file. If only is not nil, find examines these entries and older changes.
func (o *overwritten) find(path string, only map[string]bool) {
	file, present, front, ok := o.present(path)
	if !ok {
		return
	}
	since, limit := time.Unix(0, max(file.Stamp.MTime, file.Stamp.CTime)).Add(-overwriteWindow), 0
	if only != nil {
		since, limit = time.Time{}, maxOwnChanges
	}
	changes, digest := o.journal.List(since, path, limit), journal.Digest(file.Data)
	if only == nil && !slices.ContainsFunc(changes, func(r journal.Record) bool {
		follows := r.After == digest
		digest = r.Before
		return !follows
	}) {
		return // no other program changed the file in between
	}
	var found []lostEntry
	next := file.Data // the version that followed a change
	for _, r := range changes {
		before, after, err := o.journal.Contents(r)
		if err != nil || r.FilePath() != path {
			continue
		}
		if !bytes.Equal(after, next) {
			o.addEdited(present, path, after, next)
		}
		next = before
		replaced := map[string]bool{}
		for _, h := range diff.Hunks(before, after) { // large files would take long to parse
			if r.Before != "" && h.Line <= front {
				continue // a key of the frontmatter
			}
			maps.Copy(replaced, o.norms(path, h.Old))
			for norm := range o.norms(path, h.New) {
				if !r.Automatic && r.State == journal.StateDone && !present[norm] && !replaced[norm] &&
					(only == nil || only[norm]) {
					found = append(found, lostEntry{path, r.ID, norm})
				}
			}
		}
		maps.Copy(present, replaced) // removed or replaced by this change
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, e := range found {
		if !slices.Contains(o.lost, e) && len(o.lost) < maxOverwritten {
			o.lost = append(o.lost, e)
			o.logger.Warn("another program removed an entry that memwatchd wrote", "path", path, "change", e.id)
		}
	}
}

// addEdited adds to present the entries of a version that have a similar one at the same
// place in the next version: a person has corrected them.
func (o *overwritten) addEdited(present map[string]bool, path string, from, to []byte) {
	for _, h := range diff.Hunks(from, to) {
		old := o.norms(path, h.Old)
		for text := range o.norms(path, h.New) {
			best, most := "", 0.75
			for norm := range old {
				if share := similarity(norm, text); share >= most && !present[norm] {
					best, most = norm, share
				}
			}
			present[best] = true
		}
	}
}

// similarity returns the share of the pairs of characters that two texts have in common.
func similarity(a, b string) float64 {
	pairs, total, common := map[[2]rune]int{}, 1, 0
	for i, text := range [][]rune{[]rune(a), []rune(b)} {
		for k := 1; k < len(text); k++ {
			pair := [2]rune{text[k-1], text[k]}
			total++
			if i == 0 {
				pairs[pair]++
			} else if pairs[pair] > 0 {
				pairs[pair]--
				common++
			}
		}
	}
	return float64(2*common) / float64(total)
}

// present returns a file, the entries of the file and its copies, and the last line of the
// frontmatter. It reports false if the file cannot be read.
func (o *overwritten) present(path string) (file vault.File, norms map[string]bool, front int, ok bool) {
	file, err := o.files.Read(path)
	if err != nil {
		return file, nil, 0, false
	}
	doc := o.layout.Parse(path, file.Data, memory.Meta{})
	norms = normsOf(doc)
	for _, copied := range o.copies.list(path) {
		if c, err := o.files.Read(copied); err == nil {
			maps.Copy(norms, o.norms(path, c.Data))
		}
	}
	return file, norms, strings.Count(string(file.Data[:doc.Front.Span.End]), "\n"), true
}

// norms returns the entries of a part of a file.
func (o *overwritten) norms(path string, text []byte) map[string]bool {
	return normsOf(o.layout.Parse(path, text, memory.Meta{}))
}

func normsOf(doc *memory.Document) map[string]bool {
	norms := map[string]bool{}
	for i := range doc.Entries {
		norms[doc.Entries[i].Norm] = true
	}
	return norms
}

// problems calls add for each file with entries that are still missing.
func (o *overwritten) problems(add func(path, code, message string)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	missing := map[string]map[string]bool{} // the changes, by path
	o.lost = slices.DeleteFunc(o.lost, func(e lostEntry) bool {
		_, present, _, ok := o.present(e.path)
		if r, err := o.journal.Get(e.id); !ok || present[e.norm] || err != nil || r.Forgotten {
			return true
		}
		if missing[e.path] == nil {
			missing[e.path] = map[string]bool{}
		}
		missing[e.path][e.id] = true
		return false
	})
	for path, ids := range missing {
		add(path, "overwritten", fmt.Sprintf("another program removed text that memwatchd wrote with the changes %s; "+
			"to write it again, run `memwatchd undo --again` with each of them",
			strings.Join(slices.Sorted(maps.Keys(ids)), ", ")))
	}
}
