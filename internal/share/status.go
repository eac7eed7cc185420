package share

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/memwatchd/memwatchd/api"
)

// Status returns the state of the publisher.
func (p *Publisher) Status() api.ShareStatusAnswer {
	p.statusMu.Lock()
	s := api.ShareStatusAnswer{ShareStatus: p.status}
	for _, id := range slices.Sorted(maps.Keys(p.refused)) {
		s.Refusals = append(s.Refusals, p.refused[id])
	}
	for _, n := range p.withheld {
		s.Withheld += n
	}
	p.statusMu.Unlock()
	s.URL, s.Host, s.Refused = p.URL, p.Rules.Host, len(s.Refusals)
	b := p.Breaker.state()
	s.State, s.LastOK, s.LastError = "publishing", b.lastOK.UTC(), b.lastError
	switch {
	case b.permanent:
		s.State, s.Problem = "failed", cmp.Or(s.Problem, s.LastError)
	case b.open, b.lastError != "":
		s.State = "waiting"
	}
	s.Problem = cmp.Or(p.ownerProblem(), s.Problem)
	return s
}

// ownerProblem explains why entries of the default owner are not published.
func (p *Publisher) ownerProblem() string {
	if p.Owner != DefaultOwner || len(p.Rules.Publish) == 0 {
		return ""
	}
	return `entries of the default owner "owner" are not published: set memory.owner to a name of your own`
}

// recordProblem updates the status. The caller holds p.mu or is the only user.
func (p *Publisher) recordProblem(ctx context.Context, err error) {
	p.statusMu.Lock()
	defer p.statusMu.Unlock()
	p.status = api.ShareStatus{Published: p.sent.live, Spooled: p.waiting, Bytes: p.boxBytes,
		Verified: p.sent.listed.UTC()}
	if err != nil && ctx.Err() == nil {
		p.status.Problem = err.Error()
	}
}

// recordRefused records the objects of a batch that the store refuses, and those
// that it accepts now.
func (p *Publisher) recordRefused(batch []Object, refused []Refusal) {
	p.statusMu.Lock()
	defer p.statusMu.Unlock()
	for _, o := range batch {
		delete(p.refused, o.ID)
		for _, r := range refused {
			if r.ID == o.ID {
				p.refused[o.ID] = api.ShareRefusal{ID: o.text("memory_id"), Reason: r.Reason}
			}
		}
	}
}

// recordWithheld records the number of entries of a file that are not published.
func (p *Publisher) recordWithheld(file uint64, n int) {
	p.statusMu.Lock()
	defer p.statusMu.Unlock()
	p.withheld[file] = n
}
