package share

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/internal/state"
)

const refusedName = "refused.jsonl"

// Status returns the state of the publisher, without the URL of the store.
func (p *Publisher) Status() api.ShareStatusAnswer {
	p.statusMu.Lock()
	s := api.ShareStatusAnswer{ShareStatus: p.status}
	for _, id := range slices.Sorted(maps.Keys(p.refused)) {
		s.Refusals = append(s.Refusals, api.ShareRefusal{ID: p.refused[id].MemoryID, Reason: p.refused[id].Reason})
	}
	p.statusMu.Unlock()
	s.Host, s.Refused = p.Rules.Host, len(s.Refusals)
	open, permanent, lastOK, lastError := p.Breaker.status()
	s.State, s.LastOK, s.LastError = "publishing", lastOK.UTC(), lastError
	switch {
	case permanent:
		s.State = "failed"
	case open, lastError != "":
		s.State = "waiting"
	}
	return s
}

// recordProblem updates the status. The caller holds p.mu or is the only user.
func (p *Publisher) recordProblem(ctx context.Context, err error) {
	p.statusMu.Lock()
	defer p.statusMu.Unlock()
	p.status = api.ShareStatus{Published: p.sent.live, Spooled: p.waiting, Bytes: p.boxBytes,
		Verified: p.sent.verified.UTC()}
	if err != nil && ctx.Err() == nil {
		p.status.Problem = err.Error()
	}
}

// recordRefused records the objects of a batch that the store refuses, and those
// that it accepts now.
func (p *Publisher) recordRefused(batch []Object, refused []Refusal) {
	p.statusMu.Lock()
	defer p.statusMu.Unlock()
	before := maps.Clone(p.refused)
	for _, o := range batch {
		delete(p.refused, o.ID)
		for _, r := range refused {
			if r.ID == o.ID {
				p.refused[o.ID] = Refused{RecordType: o.Collection, MemoryID: o.text("memory_id"), ID: o.ID,
					Reason: r.Reason}
			}
		}
	}
	if maps.Equal(before, p.refused) {
		return
	}
	var text bytes.Buffer
	for _, id := range slices.Sorted(maps.Keys(p.refused)) {
		json.NewEncoder(&text).Encode(p.refused[id]) // strings have an encoding
	}
	if err := state.Write(filepath.Join(p.Dir, refusedName), text.Bytes()); err != nil {
		p.Logger.Warn("write the refused entries of share", "err", err)
	}
}

// loadRefused reads the objects that the store refused before.
func (p *Publisher) loadRefused() {
	text, err := state.Read(filepath.Join(p.Dir, refusedName))
	if err != nil {
		return // there is none; a comparison with the store finds the objects again
	}
	for dec := json.NewDecoder(bytes.NewReader(text)); ; {
		var r Refused
		if dec.Decode(&r) != nil {
			return
		}
		p.refused[r.ID] = r
	}
}
