package share

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/internal/state"
	"github.com/memwatchd/memwatchd/memory"
)

// A Source reads the files of this machine.
type Source interface {
	// Paths returns the paths of all indexed files.
	Paths() []string
	// Complete reports whether Paths returns every file that exists.
	Complete() bool
	// Load returns the current version of a file, or nil if it does not exist.
	Load(ctx context.Context, path string) (*memory.Document, error)
}

// A Publisher keeps the objects of this machine in a store equal to the published
// entries of its files. Set the exported fields before Open.
type Publisher struct {
	Store      Store
	URL        string // of the store, for the status
	Owner      string // default owner of the memory
	Rules      Rules
	Source     Source
	Ready      func(context.Context) error // waits until Source has all files
	Breaker    *Breaker
	Dir        string        // of the outbox
	MaxSpool   int64         // bytes of the outbox
	Timeout    time.Duration // of a write
	Tombstones time.Duration // time for which tombstones are kept
	Logger     *slog.Logger
	Now        func() time.Time

	wake    chan struct{}
	dirtyMu sync.Mutex
	dirty   map[string]bool // changed paths
	all     bool            // every file must be compared
	spooled bool            // the outbox has the changes of these files

	mu      sync.Mutex // held while the versions or the store change
	sent    versions
	waiting int // changes that the store lacks

	boxMu    sync.Mutex // held while the outbox changes; taken after mu
	boxBytes int64      // size of the outbox
	boxDue   time.Time  // of the next write of the outbox

	statusMu sync.Mutex
	status   api.ShareStatus
	refused  map[string]api.ShareRefusal // by id; without text
	withheld map[uint64]int              // entries by file
}

// Open opens the outbox.
func (p *Publisher) Open() error {
	p.wake, p.dirty = make(chan struct{}, 1), make(map[string]bool)
	p.refused, p.withheld = make(map[string]api.ShareRefusal), make(map[uint64]int)
	p.all, p.Breaker.Stopped = true, p.wakeUp // to learn when the store answers again
	for _, name := range boxNames {
		info, err := os.Stat(filepath.Join(p.Dir, name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			err = state.Write(filepath.Join(p.Dir, name), nil)
		case err == nil:
			p.boxBytes += info.Size()
		}
		if err != nil {
			return fmt.Errorf("open the outbox of share: %w", err)
		}
	}
	return nil
}

// Changed records that a file may have changed; an empty path stands for all of
// them.
func (p *Publisher) Changed(path string) {
	p.dirtyMu.Lock()
	if path != "" {
		p.dirty[path] = true
	} else {
		p.all = true
	}
	p.spooled = false
	p.dirtyMu.Unlock()
	p.wakeUp()
}

// wakeUp makes Run call Step.
func (p *Publisher) wakeUp() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// Times of the loop.
const (
	retryTime = 2 * time.Second
	fillTime  = 10 * time.Second // between tests whether the source is complete
	idleTime  = time.Hour
	listEvery = 7 * 24 * time.Hour
	listAgain = time.Hour // after a list that is unsure
)

// Run publishes changes until the context ends.
func (p *Publisher) Run(ctx context.Context) error {
	for {
		wait := p.Step(ctx)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-p.wake:
		case <-time.After(wait):
		}
	}
}

// Step writes the changes to the store, or else to the outbox. It returns the time
// after which it must be called again although nothing changes.
func (p *Publisher) Step(ctx context.Context) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if due := p.Breaker.Due(p.Now()); due == 0 && !p.Breaker.Allows() {
		limited, cancel := context.WithTimeout(ctx, p.Timeout)
		p.Breaker.Trial(p.Now(), p.Store.Ready(limited))
		cancel()
	}
	err := p.publishChanges(ctx)
	p.recordProblem(ctx, err)
	wait := idleTime
	switch due := p.Breaker.Due(p.Now()); {
	case due > 0:
		wait = due
	case err != nil && due == 0:
		wait = retryTime
	case p.mustCompare():
		wait = fillTime
	}
	p.boxMu.Lock()
	defer p.boxMu.Unlock()
	if due := p.boxDue.Sub(p.Now()); due > 0 {
		return min(wait, due)
	}
	return wait
}

// publishChanges lists the objects of the store if that is due, and writes the changes to
// the store. While the store does not answer, it writes them to the outbox.
func (p *Publisher) publishChanges(ctx context.Context) error {
	err := errPaused
	if p.Breaker.Allows() {
		err = p.sendChanges(ctx)
	}
	if err == nil || ctx.Err() != nil {
		return cmp.Or(ctx.Err(), err)
	}
	spoolErr := p.writeOutbox(ctx)
	if err == errPaused { // the status has the reason
		err = nil
	}
	return errors.Join(err, spoolErr)
}

func (p *Publisher) sendChanges(ctx context.Context) error {
	wait := listEvery
	if p.sent.again {
		wait = listAgain
	}
	due := p.sent.listed.IsZero() || p.Now().Sub(p.sent.listed) >= wait
	if due {
		if _, err := p.list(ctx); err != nil {
			return err
		}
	}
	err := p.sendDirty(ctx)
	if err == nil && due {
		err = p.expireTombstones(ctx)
	}
	return err
}

// sendDirty writes the changes of changed files to the store, and empties the outbox.
func (p *Publisher) sendDirty(ctx context.Context) error {
	complete := p.Source.Complete() // an index that is being filled lacks files
	p.dirtyMu.Lock()
	all, dirty := p.all && complete, p.dirty
	p.all, p.dirty = p.all && !complete, make(map[string]bool)
	p.dirtyMu.Unlock()
	err := p.eachChange(ctx, all, dirty, p.send)
	if err != nil {
		p.dirtyMu.Lock()
		p.all = p.all || all
		maps.Copy(p.dirty, dirty)
		p.dirtyMu.Unlock()
		return err
	}
	if all && !p.Source.Complete() {
		p.Changed("") // removed files were not compared
	}
	if p.mustCompare() {
		return nil
	}
	return p.clearOutbox()
}

// mustCompare reports whether all files must still be compared.
func (p *Publisher) mustCompare() bool {
	p.dirtyMu.Lock()
	defer p.dirtyMu.Unlock()
	return p.all
}

// eachChange calls do with the changes of all or some files, in groups; all include
// removed files. Of a file that cannot be read, the last version stays.
func (p *Publisher) eachChange(ctx context.Context, all bool, dirty map[string]bool,
	do func(context.Context, []change) error) error {
	paths := slices.Sorted(maps.Keys(dirty))
	if all {
		paths = p.Source.Paths()
		slices.Sort(paths)
	}
	seen, files, objects := make(map[uint64]bool), make(map[uint64]bool), []change(nil)
	group := func() error {
		changes := changesOf(p.sent.known, files, objects, p.Rules.Host, p.Now())
		files, objects = make(map[uint64]bool), nil
		if len(changes) == 0 {
			return nil
		}
		return do(ctx, changes)
	}
	for i, path := range paths {
		file := fileHash(path)
		seen[file], files[file] = true, true
		p.recordWithheld(file, 0)
		if p.Rules.mayPublish(path) {
			doc, err := p.Source.Load(ctx, path)
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case err != nil:
				delete(files, file)
			case doc != nil:
				found := p.Rules.apply(doc)
				p.recordWithheld(file, found.Withheld)
				for _, o := range found.Objects {
					objects = append(objects, change{Object: o, file: file})
				}
			}
		}
		if len(objects) >= 2*maxBatch || i == len(paths)-1 {
			if err := group(); err != nil {
				return err
			}
		}
	}
	if !all || !p.Source.Complete() { // it became incomplete
		return nil
	}
	for _, s := range p.sent.known {
		if !seen[s.file] {
			files[s.file] = true
		}
	}
	return group()
}

// Limits of a batch.
const (
	maxBatch      = 200
	maxBatchBytes = 1 << 20
)

// send writes changes to the store, in batches of one tenant.
func (p *Publisher) send(ctx context.Context, changes []change) error {
	for len(changes) > 0 {
		n, size := 0, 0
		for n < len(changes) && n < maxBatch && changes[n].Tenant == changes[0].Tenant {
			text, err := json.Marshal(changes[n].Properties)
			if err != nil {
				return err
			}
			size += len(text)
			if n > 0 && size > maxBatchBytes {
				break
			}
			n++
		}
		if err := p.sendBatch(ctx, changes[:n]); err != nil {
			return err
		}
		changes = changes[n:]
	}
	return nil
}

// sendBatch sends changes to the store. Their versions count as unsure until the store has
// answered.
func (p *Publisher) sendBatch(ctx context.Context, batch []change) error {
	if !p.Breaker.Allows() {
		return errPaused
	}
	objects, keys, sent := make([]Object, len(batch)), make([]key, len(batch)), make([]version, len(batch))
	for i := range batch {
		objects[i] = batch[i].Object
		keys[i], sent[i] = keyOf(&objects[i]), versionOf(&objects[i], batch[i].file)
		unsure := sent[i]
		unsure.hash, unsure.gone = 0, batch[i].op == opDelete // the text of a tombstone may stay in the store
		p.sent.set(keys[i], unsure)
	}
	limited, cancel := context.WithTimeout(ctx, p.Timeout)
	refused, err := p.Store.Put(limited, objects)
	cancel()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	p.Breaker.Record(p.Now(), err)
	if err != nil {
		return err
	}
	p.recordRefused(objects, refused)
	for i, k := range keys {
		switch {
		case batch[i].op == opDelete:
			p.sent.remove(k)
		case !slices.ContainsFunc(refused, func(r Refusal) bool { return r.ID == objects[i].ID }):
			p.sent.set(k, sent[i])
		}
	}
	p.recordProblem(ctx, nil)
	return nil
}

// Push compares all files with the last published versions, and publishes the changes now,
// once every file has been seen: files that have not would count as removed. The step init
// creates the collections of the store before, and then compares the store with the
// published entries and repairs it.
func (p *Publisher) Push(ctx context.Context, step string) (c Comparison, err error) {
	if err := p.Ready(ctx); err != nil {
		return c, err
	}
	if step == "init" {
		err := p.Store.Init(ctx)
		p.Breaker.Record(p.Now(), err)
		if err != nil {
			return c, err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	err = p.flush(ctx)
	if err == nil && step == "init" {
		c, err = p.list(ctx)
	}
	if err == nil && c.Missing+c.Extra > 0 {
		err = p.flush(ctx)
	}
	return c, err
}

// flush publishes the changes of all files now. It returns the error that prevents that.
func (p *Publisher) flush(ctx context.Context) error {
	p.Breaker.Reset()
	p.Changed("")
	err := p.publishChanges(ctx)
	if err == nil && !p.Breaker.Allows() {
		err = errPaused
	}
	p.recordProblem(ctx, err)
	return err
}
