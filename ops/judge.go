package ops

import (
	"bytes"
	"context"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// A Judge is somebody, such as a model, who says which items of a draft are about
// the same thing as items of a file, and what both come to. What check says no to
// is an error. Errors are sentences for a person.
type Judge interface {
	Propose(ctx context.Context, existing, draft []memory.Mergeable, check func(*memory.Proposal) error) (*memory.Proposal, error)
}

// How a draft was merged.
const (
	mergedByRules  = "rules"
	mergedSemantic = "semantic" // what was the same was judged by somebody
)

// maxTold is how many bytes an item may have that is judged.
const maxTold = 4 << 10

// A judgement is what was said of a draft and a file as it was then.
type judgement struct {
	file     []byte
	existing []memory.Mergeable
	draft    []memory.Mergeable
	proposal *memory.Proposal // nil if there is none
	followed bool             // the last time that the draft was merged
	why      string           // rules decided, though somebody was there to judge; empty if nothing was to be judged
}

// judge asks about a draft for a file. That takes its time, so it is done before
// the file is written, and counts only if the file is still the same then. The
// error is that of the context.
func (m drafting) judge(ctx context.Context, c Call, d *sessionDraft, path string, isOurs func(*memory.Document) error) (*judgement, error) {
	j := &judgement{}
	if m.Judge == nil || len(d.parts) == 0 {
		return j, nil
	}
	file, err := m.Writer.Vault.Read(path)
	if err != nil {
		return j, nil // there is nothing to compare with
	}
	doc := m.Parse(file)
	if isOurs(doc) != nil || doc.For(c.View) == nil {
		return j, nil
	}
	merge, err := m.Layout.Merge(c.View, doc, d.parts)
	if err != nil {
		return j, nil // who writes will say so
	}
	if j.existing, j.draft = merge.Undecided(m.tellJudge); len(j.draft) == 0 {
		if doc.Own.Visibility != memory.PublicOK && !m.JudgePrivate {
			j.why = "the file is private, and private text is not sent to the model"
		}
		return j, nil
	}
	j.file = file.Data
	j.proposal, err = m.Judge.Propose(ctx, j.existing, j.draft, func(p *memory.Proposal) error {
		if err := merge.Follow(p, j.existing, j.draft, m.mergedText); err != nil {
			return err
		}
		merge.ByRules()
		r := doc.Revise()
		merge.Revise(r, d.source, d.head.Now)
		_, err := r.Apply(func(source []byte) *memory.Document {
			return m.Parse(vault.File{Path: file.Path, Data: source, ModTime: file.ModTime, Unsettled: file.Unsettled})
		})
		return err
	})
	if err != nil {
		j.why = err.Error()
	}
	return j, ctx.Err()
}

// heed does what was proposed, if the file is the one that was asked about.
// What is decided then is not up to the rules any more.
func (m drafting) heed(j *judgement, merge *memory.Merge, doc *memory.Document) {
	if j.followed = false; j.proposal == nil {
		return
	}
	if !bytes.Equal(doc.Source, j.file) {
		j.why = "the file was changed while the model was asked"
		return
	}
	merge.Undecided(m.tellJudge)
	if err := merge.Follow(j.proposal, j.existing, j.draft, m.mergedText); err != nil {
		j.why = err.Error()
		return
	}
	j.followed = true
}

// tell says how a draft was merged.
func (j *judgement) tell(answer *api.SessionAnswer) {
	switch answer.Merge = mergedByRules; {
	case j.followed:
		answer.Merge = mergedSemantic
	case j.why != "":
		answer.Hints = append(answer.Hints, "merged by rules: "+j.why)
	}
}

// tellJudge reports whether a text may be told to a judge: not what is private,
// unless that was allowed; what has a credential in it, which must not come back
// as a redaction, never.
func (m drafting) tellJudge(v memory.Visibility, text string) bool {
	return (v == memory.PublicOK || m.JudgePrivate) && len(text) <= maxTold && m.secretIn(text) == ""
}

// mergedText says no to a text that a judge gives for a file.
func (m drafting) mergedText(text string) error { return m.outside("the merged text", text) }
