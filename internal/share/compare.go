package share

import (
	"context"
)

// A Comparison counts the differences between the store and the last published
// versions.
type Comparison struct {
	Objects int // of this machine in the store
	Missing int // published entries that the store lacks or has in another version
	Extra   int // entries in the store that are not published
}

// compareStore compares the store with the last published versions, and repairs the
// store. All changes must have been sent. A list can lack objects for some time after a server of
// the cluster failed, so a comparison that matters, because the record of published
// objects was lost or differs, is repeated after an hour.
func (p *Publisher) compareStore(ctx context.Context) (c Comparison, err error) {
	found := make(map[key]bool)
	var extra []change
	for o, err := range p.Store.List(ctx, p.Rules.Host) {
		if err != nil {
			p.Breaker.Record(p.Now(), err)
			return c, err
		}
		l := line{RecordType: o.Collection, Op: opPut, Tenant: o.Tenant, ID: o.ID, Rev: o.rev(), Hash: o.text("hash")}
		k, ok := l.key()
		if !ok {
			continue
		}
		s, known := p.sent.known[k]
		found[k] = true
		switch {
		case o.Gone() && !known: // deletes it in time
			l.Op = opGone
			p.sent.apply(&l)
		case o.Gone() && s.gone:
		case o.Gone() || known && !s.gone && s.hash != parseHash(l.Hash):
			delete(found, k) // is written again below
		case !known || s.gone:
			p.sent.apply(&l)
			s = p.sent.known[k]
			extra = append(extra, newTombstone(k, s, p.Rules.Host, max(p.Now().UnixMilli()*1000, s.rev+1)))
		}
		if !o.Gone() {
			c.Objects++
		}
	}
	if ctx.Err() != nil {
		return c, ctx.Err()
	}
	for k, s := range p.sent.known {
		if !found[k] && !s.gone {
			c.Missing++
			s.hash = 0 // differs from every version
			l := k.lineOf(s)
			p.sent.apply(&l)
		}
	}
	c.Extra = len(extra)
	sortChanges(extra)
	if err := p.send(ctx, extra); err != nil {
		return c, err
	}
	if c.Missing+c.Extra > 0 {
		p.Logger.Info("the shared store differs from the published entries and is repaired", "missing", c.Missing,
			"extra", c.Extra)
		p.Changed("")
	}
	return c, p.sent.setVerified(p.Now(), p.sent.verified.IsZero() || c.Missing+c.Extra > 0)
}

// Verify publishes all changes, compares the store with the published entries, and
// repairs the store.
func (p *Publisher) Verify(ctx context.Context) (c Comparison, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	err = p.flushLocked(ctx)
	if err == nil {
		c, err = p.compareStore(ctx)
	}
	if err == nil && c.Missing+c.Extra > 0 {
		err = p.flushLocked(ctx)
	}
	return c, err
}

// Create creates the collections of the store, and publishes and compares all
// entries.
func (p *Publisher) Create(ctx context.Context) (Comparison, error) {
	err := p.Init(ctx)
	p.Breaker.Record(p.Now(), err)
	if err != nil {
		return Comparison{}, err
	}
	return p.Verify(ctx)
}
