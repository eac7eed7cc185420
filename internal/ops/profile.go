package ops

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/compactor"
	"github.com/memwatchd/memwatchd/internal/letters"
	"github.com/memwatchd/memwatchd/memory"
)

func (m writeOps) profile(ctx context.Context, c Call, r *api.ProfileRequest) (*api.SummaryAnswer, error) {
	return m.writeSummary(ctx, c, "profile", r.Name, r.Text, r.Basis)
}

func (m writeOps) project(ctx context.Context, c Call, r *api.ProjectRequest) (*api.SummaryAnswer, error) {
	return m.writeSummary(ctx, c, "project", r.Name, r.Text, r.Basis)
}

// writeSummary writes a summary to one of the subject's files and replaces the first summary
// with the same name and readers. Because a summary speaks for the subject,
// writeSummary needs a private context even for a new name.
func (m writeOps) writeSummary(ctx context.Context, c Call, namespace, name, text string,
	b api.Basis) (*api.SummaryAnswer, error) {
	now := m.Now().UTC().Format(time.RFC3339)
	p := &addition{Put: memory.Put{Form: memory.FactForm, Title: oneLine(name), Text: oneLine(text), Evidence: b.Evidence,
		Attributes: map[string]string{"created": now, "source": sourceAttribute(c, b.Source), "updated": now}}}
	if err := cmp.Or(m.checkLogText("name", name), m.checkLogText("text", text), checkText("source", b.Source),
		checkText("evidence", b.Evidence...), checkNamed("text", name, text)); err != nil {
		return nil, err
	}
	dir, err := m.subjectDir(ctx, &c)
	if err != nil {
		return nil, err
	}
	path, visibility := dir+"/"+namespace+".md", orPrivate(b.Visibility)
	if err := m.checkEvidence(c, b.Evidence, visibility); err != nil {
		return nil, err
	}
	after, err := m.put(ctx, c, m.targets(c, path, memory.PrivateOnly.String(), visibility,
		memory.NewItems(c.Scope.Subject)), &putEdit{cause: namespace, puts: []*addition{p}, same: isSummary, replace: true,
		insert: func(_ *writeTarget, _ *memory.Document, r *memory.Revision, puts []*memory.Put) {
			r.Append([]string{memory.SummarySection}, puts...)
		}})
	if err != nil {
		return nil, err
	}
	return &api.SummaryAnswer{Path: after.Place.Path, Line: p.line(), Replaced: p.same}, nil
}

// isSummary reports whether an entry is a summary with the name of another.
func isSummary(e *memory.Entry, p *addition) bool {
	return e.IsSummary() && letters.FoldCase(e.Title) == letters.FoldCase(p.Title)
}

// checkEvidence returns an error if a summary must not cite its evidence. Every reader
// of the summary must be able to read the evidence.
func (m writeOps) checkEvidence(c Call, list []string, visibility string) error {
	evidence := compactor.Evidence{Files: m.Files, Layout: m.Layout, View: c.View}
	switch err := evidence.Check(list); {
	case errors.Is(err, compactor.ErrEvidenceNotFound):
		return api.Errorf(api.NotFound, "%v", err)
	case err != nil:
		return api.Errorf(api.Invalid, "%v", err)
	case visibility != memory.PublicOK.String():
		return nil
	}
	c.Scope.Context = memory.Public
	if err := m.setView(&c); err != nil {
		return err
	}
	evidence.View = c.View
	if err := evidence.Check(list); err != nil {
		return api.Errorf(api.Invalid, "%v for public readers", err).
			WithHint("remove the evidence, or set `visibility` to private_only")
	}
	return nil
}
