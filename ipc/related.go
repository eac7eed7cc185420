package ipc

import (
	"context"
	"slices"

	"github.com/memwatchd/memwatchd/memory"
)

// RelatedRequest asks what a file or an entry is linked with.
type RelatedRequest struct {
	Path  string `json:"path" arg:"1" complete:"path" doc:"the file, relative to the root"`
	ID    string `json:"id" doc:"an entry instead, as path#id or by the id that was given to it"`
	Limit int    `json:"limit" default:"20" min:"1" max:"100" doc:"how many to return in each direction"`
	Fresh
	Scope
}

// RelatedAnswer lists links, in the order of the files.
type RelatedAnswer struct {
	Path  string     `json:"path"`
	To    []LinkTo   `json:"to"`   // what it links to
	From  []LinkFrom `json:"from"` // what links to it
	Index IndexState `json:"index"`

	Redaction
}

// LinkTo is a link that stands in what was asked about.
type LinkTo struct {
	Line      int    `json:"line"` // of the entry with the link
	Text      string `json:"text"`
	Target    string `json:"target"`         // as it is written
	Path      string `json:"path,omitempty"` // the file that it leads to, if there is one
	Anchor    string `json:"anchor,omitempty"`
	Untrusted bool   `json:"untrusted,omitempty"` // written by others than the subject
}

// LinkFrom is an entry that links to what was asked about.
type LinkFrom struct {
	Place
	Text      string `json:"text"`
	Untrusted bool   `json:"untrusted,omitempty"` // written by others than the subject
}

func (m *Memory) related(ctx context.Context, c Call, r *RelatedRequest) (*RelatedAnswer, error) {
	if (r.Path == "") == (r.ID == "") {
		return nil, Errorf(Invalid, "either path or id is needed")
	}
	synced, err := m.sync(ctx, &c, r.Fresh)
	if err != nil {
		return nil, err
	}
	var doc *memory.Document
	var entries []*memory.Entry
	if r.ID != "" {
		d, e, err := m.entry(ctx, c, r.ID)
		if err != nil {
			return nil, err
		}
		doc, entries = d, []*memory.Entry{e}
	} else {
		d, _, err := m.load(c, r.Path)
		if err != nil {
			return nil, err
		}
		doc = d
		for i := range doc.Entries {
			if e := &doc.Entries[i]; e.Readable(c.View) {
				entries = append(entries, e)
			}
		}
	}
	answer := &RelatedAnswer{Path: doc.Place.Path, To: []LinkTo{}, From: []LinkFrom{}, Index: m.state(c, synced)}
	shown := doc.Shown(c.View)
	for _, e := range entries {
		for _, l := range e.Links {
			if len(answer.To) == r.Limit {
				break
			}
			answer.To = append(answer.To, LinkTo{
				Line: shown.Line(e.Line), Text: l.Text, Target: l.Target, Path: m.follow(c, l), Anchor: l.Anchor, Untrusted: e.Untrusted(),
			})
		}
	}
	refs, err := m.Index.LinksTo(ctx, c.View, doc.Place.Path)
	if err != nil {
		return nil, err
	}
	for _, ref := range refs {
		if len(answer.From) == r.Limit {
			break
		}
		other, _, err := m.load(c, ref.Path)
		if err != nil {
			continue // it has gone meanwhile
		}
		e := entryOf(c, other, ref.ID)
		if e == nil || !slices.ContainsFunc(e.Links, func(l memory.Link) bool { return m.follow(c, l) == doc.Place.Path }) {
			continue
		}
		text, _ := firstRunes(e.Text, maxHitText)
		answer.From = append(answer.From, LinkFrom{Place: Place{ID: ref.Path + "#" + ref.ID, Path: ref.Path, Line: ref.Line}, Text: text, Untrusted: e.Untrusted()})
	}
	return answer, nil
}

// follow is the file that a link leads to: the first of those it may mean that
// the caller can read.
func (m *Memory) follow(c Call, l memory.Link) string {
	for _, path := range l.Paths {
		if _, _, err := m.load(c, path); err == nil {
			return path
		}
	}
	return ""
}
