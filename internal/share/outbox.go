package share

import (
	"context"
	"io"
	"maps"
	"path/filepath"
	"time"

	"github.com/memwatchd/memwatchd/internal/state"
)

// boxNames are the names of the files of the outbox, for items and summaries. While the
// store does not answer, the outbox contains the changes that the store lacks, for other
// programs. The publisher does not read it: it derives the changes from the files.
var boxNames = [2]string{"short_term.jsonl", "long_term.jsonl"}

// quickOutbox is the time for writing the outbox above which it is not written after each
// change: that shall take at most a twentieth of the time.
const quickOutbox = 500 * time.Millisecond

// writeOutbox replaces the outbox by the changes that the store lacks, or by nothing if
// they are larger than MaxSpool.
func (p *Publisher) writeOutbox(ctx context.Context) error {
	p.boxWait = time.Until(p.boxDue)
	p.dirtyMu.Lock()
	all, dirty, spooled := p.all, maps.Clone(p.dirty), p.spooled
	p.spooled = spooled || p.boxWait <= 0
	p.dirtyMu.Unlock()
	if spooled || p.boxWait > 0 {
		return nil
	}
	start := time.Now()
	defer func() {
		if took := time.Since(start); took > quickOutbox {
			p.boxDue = time.Now().Add(20 * took)
		}
	}()
	count, size := 0, int64(0)
	err := state.WriteFrom(filepath.Join(p.Dir, boxNames[0]), func(items io.Writer) error {
		return state.WriteFrom(filepath.Join(p.Dir, boxNames[1]), func(summaries io.Writer) error {
			boxes := [2]io.Writer{items, summaries}
			return p.eachChange(ctx, all, dirty, func(_ context.Context, changes []change) error {
				for i := range changes {
					l := changes[i].line()
					l.Payload = changes[i].Properties
					text, err := l.encode()
					count, size = count+1, size+int64(len(text))
					if k, _ := l.key(); err == nil && size <= p.MaxSpool {
						_, err = boxes[min(k.collection, 1)].Write(text)
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

// clearOutbox empties the outbox once the store has all changes.
func (p *Publisher) clearOutbox() error {
	p.dirtyMu.Lock()
	p.spooled = false
	p.dirtyMu.Unlock()
	p.waiting, p.boxWait = 0, 0
	if p.boxBytes == 0 {
		return nil
	}
	p.boxBytes = 0
	return p.emptyOutbox()
}
