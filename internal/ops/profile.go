package ops

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/compactor"
	"github.com/memwatchd/memwatchd/memory"
)

func (m writeOps) profile(ctx context.Context, c Call, r *api.ProfileRequest) (*api.SummaryAnswer, error) {
	return m.writeSummary(ctx, c, "profile", r.Name, r.Text, r.Basis)
}

func (m writeOps) project(ctx context.Context, c Call, r *api.ProjectRequest) (*api.SummaryAnswer, error) {
	return m.writeSummary(ctx, c, "project", r.Name, r.Text, r.Basis)
}

// writeSummary writes a summary to one of the subject's files and replaces the summary
// with the same name and readers. Because a summary speaks for the subject,
// writeSummary needs a private context even for a new name.
func (m writeOps) writeSummary(ctx context.Context, c Call, namespace, name, text string,
	b api.Basis) (*api.SummaryAnswer, error) {
	s := memory.Summary{Title: oneLine(name), Text: oneLine(text), Evidence: b.Evidence}
	if err := cmp.Or(m.checkLogText("name", name), m.checkLogText("text", text), checkText("source", b.Source),
		checkText("evidence", b.Evidence...), checkNamed("text", name, text)); err != nil {
		return nil, err
	}
	dir, err := m.subjectDir(ctx, &c)
	if err != nil {
		return nil, err
	}
	path, visibility := dir+"/"+namespace+".md", orPrivate(b.Visibility)
	if err := m.checkEvidence(c, &s, visibility); err != nil {
		return nil, err
	}
	if err := s.Check(path, m.Layout); err != nil {
		return nil, api.Errorf(api.Invalid, "name, text: %v", err).
			WithHint("remove emphasis from the name, and an anchor such as ^id from the end of the text")
	}
	answer := &api.SummaryAnswer{}
	var doc *memory.Document
	err = eachTarget(m.targets(c, path, memory.PrivateOnly.String(), visibility, memory.NewItems(c.Scope.Subject)),
		func(t writeTarget) (err error) {
			answer.Path = t.path
			doc, _, err = m.editFile(ctx, c, fileEdit{writeTarget: t, cause: namespace,
				change: func(doc *memory.Document, r *memory.Revision) (err error) {
					answer.Replaced, err = m.putSummary(c, s, b.Source, doc, r)
					return err
				}})
			return err
		})
	if err != nil {
		return nil, err
	}
	shown := doc.For(c.View)
	for i := range shown.Entries {
		if e := &shown.Entries[i]; e.IsSummary() && s.Matches(e) {
			answer.Line = e.Line
		}
	}
	return answer, nil
}

// putSummary inserts a summary into a file. A summary with the same text stays
// unchanged. The other attributes of a replaced summary are kept.
func (m writeOps) putSummary(c Call, s memory.Summary, source string, doc *memory.Document,
	r *memory.Revision) (replaced bool, err error) {
	var same []int
	for i := range doc.Entries {
		e := &doc.Entries[i]
		if e.Readable(c.View) && isSummary(e, &s) {
			same = append(same, i)
		}
	}
	now := m.Now().UTC().Format(time.RFC3339)
	s.Attributes = map[string]string{"created": now}
	switch len(same) {
	case 0:
	case 1:
		e := &doc.Entries[same[0]]
		if s.Matches(e) && e.Title == s.Title && strings.HasSuffix(e.Text, s.Text) {
			return false, nil
		}
		s.Attributes = maps.Clone(e.Attributes)
	default:
		return false, api.Errorf(api.Conflict, "more than one summary is named %q", s.Title).
			WithHint("choose another name, or delete the duplicates in %s", doc.Place.Path)
	}
	s.Attributes["source"], s.Attributes["updated"] = sourceAttribute(c, source), now
	if len(same) == 0 {
		r.Append([]string{memory.SummarySection}, s.String())
	} else {
		r.Replace(same[0], s.String())
	}
	return len(same) > 0, nil
}

// isSummary reports whether an entry is a summary with the name of another.
func isSummary(e *memory.Entry, s *memory.Summary) bool {
	return e.IsSummary() && memory.Fold(e.Title) == memory.Fold(s.Title)
}

// checkEvidence returns an error if a summary must not cite its evidence. Every reader
// of the summary must be able to read the evidence.
func (m writeOps) checkEvidence(c Call, s *memory.Summary, visibility string) error {
	evidence := compactor.Evidence{Files: m.Files, Layout: m.Layout, View: c.View}
	switch err := evidence.Check(s.Evidence); {
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
	if err := evidence.Check(s.Evidence); err != nil {
		return api.Errorf(api.Invalid, "%v for public readers", err).
			WithHint("remove the evidence, or set `visibility` to private_only")
	}
	return nil
}
