package ops

import (
	"bytes"
	"context"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/internal/secrets"
	"github.com/memwatchd/memwatchd/memory"
)

// A Judge, such as a model, proposes which items of a draft match existing
// items of a file. Error messages are written for a person.
type Judge interface {
	ProposeMerge(ctx context.Context, existing, draft []memory.Mergeable) ([]memory.ItemPair, error)
}

// maxJudgedText bounds the size of an item that is sent to a judge, in bytes.
const maxJudgedText = 4 << 10

type judgement struct {
	file     []byte
	existing []memory.Mergeable
	draft    []memory.Mergeable
	pairs    []memory.ItemPair
	answered bool   // the judge proposed the pairs, maybe none
	applied  bool   // in the last merge of the draft
	reason   string // why the rules decided despite a judge; empty if nothing was to be judged
}

// requestProposal requests a proposal for merging a draft into a file. Because that takes
// time, it happens before the write, and the proposal is used only if the file
// is still the same then. The returned error is that of the context.
func (m writeOps) requestProposal(ctx context.Context, c Call, d *sessionDraft, t writeTarget,
	isOurs func(*memory.Document) error) (*judgement, error) {
	j := &judgement{}
	if m.Judge == nil || len(d.entries) == 0 || d.defaultSummary != "" {
		return j, nil // a program that saves a session by rules does not wait for a model
	}
	file, err := m.Writer.Vault.Read(t.path)
	if err != nil {
		return j, nil // there is nothing to compare with
	}
	doc := m.parseFile(file)
	if t.checkTarget(c, doc) != nil || isOurs(doc) != nil {
		return j, nil
	}
	merge, err := m.Layout.Merge(doc, d.entriesFor(doc), m.mayChangeEntry(c, t.path))
	if err != nil {
		return j, nil // the write returns this error
	}
	j.existing, j.draft = merge.Undecided(ctx, m.mayJudge)
	if len(j.draft) == 0 {
		if doc.Partition.Visibility != memory.PublicOK && !m.JudgePrivate {
			j.reason = "private text is not sent to the model"
		}
		return j, nil
	}
	j.file = file.Data
	j.pairs, err = m.Judge.ProposeMerge(ctx, j.existing, j.draft)
	j.answered = err == nil
	if err != nil {
		j.reason = err.Error()
	}
	return j, ctx.Err()
}

// applyProposal applies the proposal if the file is the version that the judge received.
// The rules no longer apply to the items that it decides.
func (m writeOps) applyProposal(ctx context.Context, j *judgement, merge *memory.Merge, doc *memory.Document) {
	j.applied = j.answered && bytes.Equal(doc.Source, j.file)
	if j.applied {
		merge.Undecided(ctx, m.mayJudge)
		merge.ApplyProposal(j.pairs, j.existing, j.draft)
	} else if j.answered {
		j.reason = "the file changed during the request to the model"
	}
}

// recordMerge records in the answer how the draft was merged.
func (j *judgement) recordMerge(answer *api.SessionAnswer) {
	answer.Merge = "rules"
	switch {
	case j.applied:
		answer.Merge = "semantic"
	case j.reason != "":
		answer.Hints = append(answer.Hints, "merged by rules: "+j.reason)
	}
}

// mayJudge reports whether a text may be sent to a judge. Private text needs
// JudgePrivate. Text with a credential is never sent, because the judge would
// return a mask in its place.
func (m writeOps) mayJudge(v memory.Visibility, text string) bool {
	return (v == memory.PublicOK || m.JudgePrivate) && len(text) <= maxJudgedText && secrets.MatchingRule(text) == ""
}
