package ops

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
)

// A testJudge returns a proposal, and records the items that it received.
type testJudge struct {
	proposal string
	received string
	work     func() // during the request; may be nil
}

func (j *testJudge) ProposeMerge(_ context.Context, existing, draft []memory.Mergeable,
	check func(*memory.Proposal) error) (*memory.Proposal, error) {
	for _, m := range slices.Concat(existing, draft) {
		j.received += fmt.Sprintf("the model received %s: %s: %q %q\n", m.ID, m.Section, m.Title, m.Text)
	}
	if j.work != nil {
		j.work()
	}
	p := decodeAnswer[memory.Proposal](j.proposal)
	return &p, check(&p)
}

// TestJudgedFileChanges checks that the rules merge a draft if its file changes during the
// request to the model.
func TestJudgedFileChanges(t *testing.T) {
	const path, file = "2026-02-05/s.md", "---\nsession_id: s\n---\n\n## Temporary Facts\n1. **Port**: it listens on 8080\n"
	d := newDisk(t, map[string]string{path: file})
	d.judge = testJudge{proposal: `{"same":[{"existing":"e1","draft":"d1","text":"it listens on 8081"}]}`,
		work: func() { d.write(t, path, file+"2. **Host**: atlas\n") }}
	d.memory.Judge = &d.judge
	a, err := do[api.SessionAnswer](t, d.memory, owner, api.SessionRequest{Session: "s",
		Draft: api.Draft{Facts: []api.DraftItem{{Title: "Address", Text: "it listens on 8081"}}}})
	if err != nil || a.Merge != "rules" || !strings.Contains(strings.Join(a.Hints, ";"), "the file changed during the request to the model") {
		t.Errorf("%+v, %v", a, err)
	}
	if text := d.read(t, path); !strings.Contains(text, "8080\n2. **Host**: atlas\n3. **Address**: it listens on 8081") {
		t.Errorf("the file is %s", text)
	}
}
