package ops

import (
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
	written map[[2]string]string // texts, by the attributes id and updated
	time    time.Time            // of the last change by another program, or later
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
	case !ok, was == e.Text, !h.time.After(e.Time):
		return e.Time
	default:
		return h.time
	}
}

// readJournal reads the changes of the file, if another program changed it. The oldest
// text with an id and a time is the one that got this time.
func (h *handEdits) readJournal() {
	h.written = map[[2]string]string{}
	file, err := h.m.file(h.path)
	if err != nil {
		return
	}
	h.time = file.ModTime
	next, external := journal.Digest(file.Data), 0
	for _, r := range h.m.changes.List(time.Time{}, h.path, 0) {
		switch {
		case r.After == next && external == 0:
			h.time = r.Time
		case r.After != next: // another program changed this version
			external++
			if text, err := h.m.changes.Version(r.After); err == nil {
				h.addTexts(text)
			}
		}
		next = r.Before
		if external == maxHandEdits {
			break
		}
	}
}

// maxHandEdits bounds the changes by other programs that are examined.
const maxHandEdits = 50

// addTexts adds the entries of a version of the file.
func (h *handEdits) addTexts(text []byte) {
	doc := h.m.Layout.Parse(h.path, text, memory.Meta{})
	for i := range doc.Entries {
		e := &doc.Entries[i]
		if id := e.Attributes["id"]; id != "" {
			h.written[[2]string{id, e.Attributes["updated"]}] = e.Text
		}
	}
}
