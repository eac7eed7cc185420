package daemon

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/clock"
	"github.com/memwatchd/memwatchd/internal/diff"
	"github.com/memwatchd/memwatchd/memory"
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
	// maxOwnChanges bounds the changes of a file that are compared with a removed copy.
	maxOwnChanges = 100
	// maxOverwritten bounds the recorded entries.
	maxOverwritten = 1000
)

// overwritten finds entries that the daemon wrote, that another program removed soon
// after, and that no conflict copy contains. Without the history it finds only those of
// removed copies.
type overwritten struct {
	journal *journal.Journal
	files   *files
	layout  *memory.Layout
	copies  *copies
	logger  *slog.Logger

	mu   sync.Mutex
	lost []lostEntry
}

// A lostEntry is an entry that another program removed.
type lostEntry struct{ path, id, norm string }

// replaced examines a file, from which another program removed text, after a while.
func (o *overwritten) replaced(path string) {
	since := clock.Now().Add(-overwriteWindow)
	if len(o.journal.List(since, path, 1)) > 0 {
		time.AfterFunc(overwriteDelay, func() { o.find(path, o.journal.List(since, path, 0), nil) })
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
	only := map[string]bool{}
	for i := range doc.Entries {
		only[doc.Entries[i].Norm] = true
	}
	time.AfterFunc(overwriteDelay, func() { o.find(of, o.journal.List(time.Time{}, of, maxOwnChanges), only) })
}

// find records the entries that changes of a file wrote, newest first, and that are
// missing now. If only is not nil, it limits the entries.
func (o *overwritten) find(path string, changes []journal.Record, only map[string]bool) {
	present, front, ok := o.present(path)
	if !ok {
		return
	}
	var found []lostEntry
	for _, r := range changes {
		before, after, err := o.journal.Contents(r)
		if err != nil || r.FilePath() != path {
			continue
		}
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

// present returns the entries of a file and its copies, and the last line of the
// frontmatter. It reports false if the file cannot be read.
func (o *overwritten) present(path string) (norms map[string]bool, front int, ok bool) {
	norms = map[string]bool{}
	for i, p := range append([]string{path}, o.copies.before(path, "\xff")...) {
		file, err := o.files.Read(p)
		if err != nil && i == 0 {
			return nil, 0, false
		}
		d := o.layout.Parse(path, file.Data, memory.Meta{})
		if i == 0 && d.Front.Present {
			front = strings.Count(string(file.Data[:d.Front.Span.End]), "\n")
		}
		for i := range d.Entries {
			norms[d.Entries[i].Norm] = true
		}
	}
	return norms, front, true
}

// norms returns the entries of a part of a file.
func (o *overwritten) norms(path string, text []byte) map[string]bool {
	norms, d := map[string]bool{}, o.layout.Parse(path, text, memory.Meta{})
	for i := range d.Entries {
		norms[d.Entries[i].Norm] = true
	}
	return norms
}

// problems calls add for each file with entries that are still missing.
func (o *overwritten) problems(add func(path, code, message string)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	missing := map[string][]lostEntry{}
	o.lost = slices.DeleteFunc(o.lost, func(e lostEntry) bool {
		present, _, ok := o.present(e.path)
		if r, err := o.journal.Get(e.id); !ok || present[e.norm] || err != nil || r.Forgotten {
			return true
		}
		missing[e.path] = append(missing[e.path], e)
		return false
	})
	for path, list := range missing {
		var ids []string
		for _, e := range list {
			if !slices.Contains(ids, e.id) {
				ids = append(ids, e.id)
			}
		}
		slices.Sort(ids)
		add(path, "overwritten", fmt.Sprintf("another program removed text that memwatchd wrote with the changes %s; "+
			"to write it again, run `memwatchd undo --again` with each of them", strings.Join(ids, ", ")))
	}
}
