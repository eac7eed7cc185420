package ops

import (
	"context"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/memory"
)

func (m readOps) related(ctx context.Context, c Call, r *api.RelatedRequest) (*api.RelatedAnswer, error) {
	if (r.Path == "") == (r.ID == "") {
		return nil, api.Errorf(api.Invalid, "set either `path` or `id`")
	}
	c, err := m.withRootOf(ctx, c, r.Path+r.ID)
	if err != nil {
		return nil, err
	}
	var doc *memory.Document
	var entries []*memory.Entry
	at := readTarget{id: r.ID}
	if r.ID == "" {
		at, err = m.findTarget(ctx, c, r.Path)
		if err != nil {
			return nil, err
		}
	}
	if at.id != "" {
		d, e, err := m.findEntry(ctx, c, at.id)
		if err != nil {
			return nil, err
		}
		doc, entries = d, []*memory.Entry{e}
	} else {
		d, _, err := m.loadFile(c, at.path)
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
	shown, resolver := doc.Shown(c.View), m.linkResolver(c)
	for _, e := range entries {
		for _, l := range e.Links {
			if len(answer.To) == r.Limit {
				break
			}
			path, err := resolver.Resolve(ctx, doc.Place.Path, &l)
			if err != nil {
				return nil, err
			}
			answer.To = append(answer.To, api.LinkTo{
				Line: shown.Line(e.Line), Text: l.Text, Target: l.Target, Path: path, Anchor: l.Anchor,
				Missing: path == "" && l.MeansNote(), Untrusted: e.Author().Untrusted(c.View),
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
		if e == nil {
			continue
		}
		links, err := resolver.AnyTo(ctx, ref.Path, e, doc.Place.Path)
		if err != nil {
			return nil, err
		}
		if !links {
			continue
		}
		text, _ := index.FirstRunes(e.Text, maxHitText)
		answer.From = append(answer.From,
			api.LinkFrom{Place: api.Place{ID: ref.Path + "#" + ref.ID, Path: ref.Path, Line: ref.Line}, Text: text,
				Untrusted: e.Author().Untrusted(c.View)})
	}
	return answer, nil
}

func (m readOps) linkResolver(c Call) *index.LinkResolver {
	return &index.LinkResolver{Index: m.Index, View: c.View, Layout: m.Layout,
		Load: func(path string) *memory.Document {
			doc, _, err := m.loadFile(c, path)
			if err != nil {
				return nil
			}
			return doc
		},
		Moved: func(path string) string { return m.archivedFile(c, path) },
	}
}
