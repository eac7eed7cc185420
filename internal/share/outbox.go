package share

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"path/filepath"
	"time"

	"github.com/memwatchd/memwatchd/internal/state"
)

// boxNames are the names of the files of the outbox, for items and summaries. While the
// store does not answer, the outbox contains the changes that the store lacks, as far as
// it has answered since the start, for other programs. The publisher does not read it: it
// derives the changes from the files.
var boxNames = [2]string{"short_term.jsonl", "long_term.jsonl"}

// A line is a line of the outbox. An outbox without tombstones is an export in JSON lines.
type line struct {
	RecordType string         `json:"record_type"`
	Op         string         `json:"op"`
	Tenant     string         `json:"tenant"`
	ID         string         `json:"id"`
	Rev        int64          `json:"rev"`
	Payload    map[string]any `json:"payload"`
}

// writeOutbox replaces the outbox by the changes that the store lacks, or by nothing if
// they are larger than MaxSpool. It does not append, because removed text must leave the
// outbox; instead, a slow write postpones the next one.
func (p *Publisher) writeOutbox(ctx context.Context) error {
	p.boxMu.Lock()
	defer p.boxMu.Unlock()
	began := p.Now()
	if began.Before(p.boxDue) {
		return nil
	}
	defer func() { p.boxDue = p.Now().Add(20 * p.Now().Sub(began)) }()
	p.dirtyMu.Lock()
	all, dirty, spooled := p.all && p.Source.Complete(), maps.Clone(p.dirty), p.spooled
	p.spooled = true
	p.dirtyMu.Unlock()
	if spooled {
		return nil
	}
	count, size := 0, int64(0)
	err := state.WriteFrom(filepath.Join(p.Dir, boxNames[0]), func(items io.Writer) error {
		return state.WriteFrom(filepath.Join(p.Dir, boxNames[1]), func(summaries io.Writer) error {
			boxes := [2]io.Writer{items, summaries}
			return p.eachChange(ctx, all, dirty, func(_ context.Context, changes []change) error {
				for _, c := range changes {
					text, err := json.Marshal(line{RecordType: c.Collection, Op: c.op, Tenant: c.Tenant, ID: c.ID,
						Rev: c.rev(), Payload: c.Properties})
					count, size = count+1, size+int64(len(text))+1
					if err == nil && size <= p.MaxSpool {
						_, err = boxes[min(keyOf(&c.Object).collection, 1)].Write(append(text, '\n'))
					}
					if err != nil {
						return err
					}
				}
				return nil
			})
		})
	})
	if err == nil && size > p.MaxSpool {
		p.Logger.Warn("outbox of share is too large and is left empty", "bytes", size)
		size = 0
		err = p.emptyOutbox()
	}
	p.waiting, p.boxBytes = count, size
	return err
}

// emptyOutbox removes all lines of the outbox.
func (p *Publisher) emptyOutbox() (err error) {
	for _, name := range boxNames {
		if err == nil {
			err = state.Write(filepath.Join(p.Dir, name), nil)
		}
	}
	return err
}

// EraseOutbox empties the outbox at once, because it may contain text that was removed
// from the files. The next step writes it again.
func (p *Publisher) EraseOutbox() error {
	p.boxMu.Lock()
	defer p.boxMu.Unlock()
	p.dirtyMu.Lock()
	p.spooled = false
	p.dirtyMu.Unlock()
	p.boxDue = time.Time{}
	p.wakeUp()
	return p.emptyOutbox()
}

// clearOutbox empties the outbox once the store has all changes.
func (p *Publisher) clearOutbox() error {
	p.dirtyMu.Lock()
	p.spooled = false
	p.dirtyMu.Unlock()
	p.boxMu.Lock()
	defer p.boxMu.Unlock()
	p.waiting = 0
	if p.boxBytes == 0 {
		return nil
	}
	p.boxBytes = 0
	return p.emptyOutbox()
}
