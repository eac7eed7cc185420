package ops

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault/journal"
)

// handEdits knows which entries of a file a person changed after memwatchd wrote them.
// A person changes the text of an entry and leaves its attribute updated, which is
// then too old.
type handEdits struct {
	m    readOps
	path string

	read    bool
	written map[[2]string]writtenText // by the attributes id and updated
	time    time.Time                 // of the last change by another program, or later
}

// A writtenText is the text of an entry as memwatchd wrote it.
type writtenText struct {
	text  string
	whole bool // nothing of the text is missing
}

// timeOf returns the time of the last change of an entry in the present file.
func (h *handEdits) timeOf(e *memory.Entry) time.Time {
	id, updated := e.Attributes["id"], e.Attributes["updated"]
	if id == "" || updated == "" || h.m.changes == nil {
		return e.Time
	}
	if !h.read {
		h.read = true
		h.readJournal()
	}
	switch was, ok := h.written[[2]string{id, updated}]; {
	case !ok, was.text == e.Text, !was.whole && strings.Contains(e.Text, was.text), !h.time.After(e.Time):
		return e.Time
	default:
		return h.time
	}
}

// readJournal reads the changes of the file, if another program changed it. The oldest
// text with an id and a time is the one that got this time.
func (h *handEdits) readJournal() {
	h.written = map[[2]string]writtenText{}
	file, err := h.m.file(h.path)
	if err != nil {
		return
	}
	records := h.m.changes.List(time.Time{}, h.path, 0)
	h.time = file.ModTime
	before := journal.Digest(file.Data)
	first := slices.IndexFunc(records, func(r journal.Record) bool { // change before that by another program
		foreign := r.After != before
		if !foreign {
			before, h.time = r.Before, r.Time
		}
		return foreign
	})
	if first < 0 {
		return
	}
	for _, r := range records[first:] {
		whole, err := h.m.changes.Get(r.ID)
		if err != nil {
			continue // without it, the entries count as unchanged
		}
		for _, hunk := range whole.Hunks {
			if bytes.Contains(hunk.New, []byte("id=")) {
				h.addTexts(&hunk)
			}
		}
	}
}

// addTexts adds the entries of a changed part of the file.
func (h *handEdits) addTexts(hunk *journal.Hunk) {
	text := slices.Concat(hunk.Above, hunk.New, hunk.Below)
	lines := bytes.Count(text, []byte("\n"))
	doc := h.m.Layout.Parse(h.path, text, memory.Meta{})
	for i := range doc.Entries {
		e := &doc.Entries[i]
		if id := e.Attributes["id"]; id != "" {
			whole := e.EndLine < lines || len(hunk.Below) == 0
			h.written[[2]string{id, e.Attributes["updated"]}] = writtenText{e.Text, whole}
		}
	}
}
