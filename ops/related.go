package ops

import (
	"cmp"
	"context"
	"slices"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
)

func (m readOps) related(ctx context.Context, c Call, r *api.RelatedRequest) (*api.RelatedAnswer, error) {
	if (r.Path == "") == (r.ID == "") {
		return nil, api.Errorf(api.Invalid, "set either path or id")
	}
	var doc *memory.Document
	var entries []*memory.Entry
	if r.ID != "" {
		d, e, err := m.findEntry(ctx, c, r.ID)
		if err != nil {
			return nil, err
		}
		doc, entries = d, []*memory.Entry{e}
	} else {
		d, _, err := m.loadFile(c, cmp.Or(m.archivedFile(c, r.Path), r.Path))
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
	answer := &api.RelatedAnswer{Path: doc.Place.Path, To: []api.LinkTo{}, From: []api.LinkFrom{},
		Index: m.indexState(c)}
	shown := doc.Shown(c.View)
	for _, e := range entries {
		for _, l := range e.Links {
			if len(answer.To) == r.Limit {
				break
			}
			answer.To = append(answer.To, api.LinkTo{
				Line: shown.Line(e.Line), Text: l.Text, Target: l.Target, Path: m.resolveLink(c, l), Anchor: l.Anchor,
				Untrusted: e.Author().Untrusted(c.View),
			})
		}
		if len(answer.To) < r.Limit {
			evidence, err := m.evidenceLinks(ctx, c, e, shown.Line(e.Line))
			if err != nil {
				return nil, err
			}
			answer.To = append(answer.To, evidence[:min(len(evidence), r.Limit-len(answer.To))]...)
		}
	}
	refs, err := m.Index.LinksTo(ctx, c.View, doc.Place.Path, doc.NameKeys())
	if err != nil {
		return nil, err
	}
	for _, ref := range refs {
		if len(answer.From) == r.Limit {
			break
		}
		other, _, err := m.loadFile(c, ref.Path)
		if err != nil {
			continue // it was removed meanwhile
		}
		e := entryOf(c, other, ref.ID)
		if e == nil || !slices.ContainsFunc(e.Links,
			func(l memory.Link) bool { return m.resolveLink(c, l) == doc.Place.Path }) {
			continue
		}
		text, _ := firstRunes(e.Text, maxHitText)
		answer.From = append(answer.From,
			api.LinkFrom{Place: api.Place{ID: ref.Path + "#" + ref.ID, Path: ref.Path, Line: ref.Line}, Text: text,
				Untrusted: e.Author().Untrusted(c.View)})
	}
	return answer, nil
}

// resolveLink returns the first possible target of a link that the caller can read,
// there or in an archive, or an empty string.
func (m readOps) resolveLink(c Call, l memory.Link) string {
	for _, path := range l.Paths {
		if _, _, err := m.loadFile(c, path); err == nil {
			return path
		}
	}
	for _, path := range l.Paths {
		if archived := m.archivedFile(c, path); archived != "" {
			return archived
		}
	}
	return ""
}
