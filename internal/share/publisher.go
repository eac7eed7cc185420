package share

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/memwatchd/memwatchd/api"
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
	Init       func(context.Context) error // creates the collections
	Ready      func(context.Context) error // reports whether the store answers
	Rules      Rules
	Source     Source
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

	mu       sync.Mutex // held while the outbox or the store changes
	box      *outbox
	removals bool // files may have been removed that no path in dirty names
	overflow bool // the outbox was dropped, and fills again when the store accepts writes

	statusMu sync.Mutex
	status   api.ShareStatus
	refused  map[string]Refused
}

// A Refused is an entry that the store does not accept.
type Refused struct {
	RecordType string `json:"record_type"`
	MemoryID   string `json:"memory_id"`
	ID         string `json:"id"`
	Reason     string `json:"reason"`
}

// Open opens the outbox.
func (p *Publisher) Open() error {
	p.wake, p.dirty, p.refused = make(chan struct{}, 1), make(map[string]bool), make(map[string]Refused)
	box, damage, err := openOutbox(p.Dir)
	if err != nil {
		return fmt.Errorf("open the outbox of share: %w", err)
	}
	p.box, p.all, p.Breaker.Stopped = box, true, p.wakeUp // to learn when the store answers again
	if damage != nil {
		p.Logger.Warn("outbox of share", "err", damage)
	}
	p.loadRefused()
	p.recordProblem(context.Background(), damage)
	return nil
}

// Close closes the outbox.
func (p *Publisher) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.box == nil {
		return nil
	}
	return p.box.close()
}

// Changed records that a file may have changed; an empty path stands for all of
// them.
func (p *Publisher) Changed(path string) {
	p.dirtyMu.Lock()
	if path != "" && len(p.dirty) < maxDirty {
		p.dirty[path] = true
	} else {
		p.all = true
	}
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

// maxDirty bounds the paths that are remembered.
const maxDirty = 10_000

// Times of the loop.
const (
	retryTime   = 2 * time.Second
	removalTime = 10 * time.Second // between tests whether the source is complete
	idleTime    = time.Hour
	verifyEvery = 7 * 24 * time.Hour
	verifyAgain = time.Hour // after a comparison that is unsure
)

// pushSize is the size of the outbox, in bytes, above which it is written to the
// store before further files are read.
const pushSize = 8 << 20

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

// Step writes the changes to the outbox and the outbox to the store, as far as the
// store answers. It returns the time after which it must be called again although
// nothing changes.
func (p *Publisher) Step(ctx context.Context) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if due := p.Breaker.Due(p.Now()); due == 0 && !p.Breaker.Allows() {
		limited, cancel := context.WithTimeout(ctx, p.Timeout)
		p.Breaker.Trial(p.Now(), p.Ready(limited))
		cancel()
	}
	err := p.publishChanges(ctx)
	p.recordProblem(ctx, err)
	switch due := p.Breaker.Due(p.Now()); {
	case due > 0:
		return due
	case err != nil && due == 0:
		return retryTime
	case p.removals:
		return removalTime
	}
	return idleTime
}

// publishChanges writes the changes to the outbox and the outbox to the store, and
// compares the store with the files if that is due.
func (p *Publisher) publishChanges(ctx context.Context) error {
	if err := p.spoolChanges(ctx); err != nil {
		return err
	}
	if err := p.pushOutbox(ctx); err != nil || !p.Breaker.Allows() {
		return err
	}
	wait := verifyEvery
	if p.box.unsure {
		wait = verifyAgain
	}
	if len(p.box.known)+len(p.Rules.Publish) == 0 || p.Now().Sub(p.box.verified) < wait {
		return nil
	}
	_, err := p.compareStore(ctx)
	if err == nil {
		err = p.expireTombstones()
	}
	return err
}

// spoolChanges writes the changes of changed files to the outbox.
func (p *Publisher) spoolChanges(ctx context.Context) (err error) {
	if p.overflow && !p.Breaker.Allows() {
		return nil
	}
	p.dirtyMu.Lock()
	all, dirty := p.all || p.overflow, p.dirty
	p.all, p.dirty = false, make(map[string]bool)
	p.dirtyMu.Unlock()
	paths := slices.Collect(maps.Keys(dirty))
	if all {
		paths = p.Source.Paths()
	}
	defer func() {
		if err != nil {
			p.dirtyMu.Lock()
			p.all = true
			p.dirtyMu.Unlock()
		}
	}()
	slices.Sort(paths)
	files, objects := make(map[uint64]bool), []change(nil)
	for i, path := range paths {
		file := fileHash(path)
		files[file] = true
		if p.Rules.MayPublish(path) {
			doc, err := p.Source.Load(ctx, path)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil { // its last version stays
				delete(files, file)
			} else if doc != nil {
				for _, o := range p.Rules.Apply(doc).Objects {
					objects = append(objects, change{Object: o, file: file})
				}
			}
		}
		if len(objects) >= 2*maxBatch || i == len(paths)-1 {
			if err := p.appendChanges(ctx, files, objects); err != nil {
				return err
			}
			files, objects = make(map[uint64]bool), nil
		}
	}
	p.removals = p.removals || all
	err = p.spoolRemovals(ctx)
	if all && err == nil {
		p.overflow = false // every file was compared
	}
	return err
}

// spoolRemovals writes the removal of files that no longer exist to the outbox, once
// the source is complete: an index that is being filled lacks files.
func (p *Publisher) spoolRemovals(ctx context.Context) error {
	if !p.removals || !p.Source.Complete() {
		return nil
	}
	seen := make(map[uint64]bool)
	for _, path := range p.Source.Paths() {
		seen[fileHash(path)] = true
	}
	if !p.Source.Complete() { // it became incomplete
		return nil
	}
	gone := make(map[uint64]bool)
	for _, s := range p.box.known {
		if !seen[s.file] {
			gone[s.file] = true
		}
	}
	err := p.appendChanges(ctx, gone, nil)
	p.removals = err != nil
	return err
}

// appendChanges appends the changes of some files to the outbox. If that becomes
// large, appendChanges writes it to the store. If that fails and the outbox is too
// large, appendChanges drops it and returns an error. After that, it does so with
// all changes until a write succeeds, so that a store which is away costs little.
func (p *Publisher) appendChanges(ctx context.Context, files map[uint64]bool, objects []change) error {
	changes := changesOf(p.box.known, files, objects, p.Rules.Host, p.Now())
	if len(changes) == 0 {
		return nil
	}
	if err := p.box.append(changes); err != nil {
		return fmt.Errorf("write the outbox of share: %w", err)
	}
	var failed error
	if p.overflow || p.box.size() > min(pushSize, p.MaxSpool) {
		failed = p.pushOutbox(ctx)
		if ctx.Err() != nil {
			return failed // any other error is that of the next push, too
		}
		if p.box.pending > 0 {
			failed = cmp.Or(failed, errPaused)
		} else {
			p.overflow = false
		}
	}
	if !p.overflow && p.box.size() <= p.MaxSpool {
		return nil
	}
	if !p.overflow {
		p.Logger.Warn("outbox of share is too large and was dropped; entries are compared again when the store answers",
			"bytes", p.box.size())
	}
	box, err := p.box.dropWaiting()
	if err != nil {
		return err
	}
	p.box, p.overflow = box, true
	return failed
}

// pushOutbox writes the outbox to the store. It does nothing while the breaker permits no
// requests.
func (p *Publisher) pushOutbox(ctx context.Context) error {
	for p.Breaker.Allows() {
		b, err := p.box.nextBatch()
		if err != nil || len(b.lines) == 0 {
			return err
		}
		limited, cancel := context.WithTimeout(ctx, p.Timeout)
		refused, err := p.Store.Put(limited, b.objects)
		cancel()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		p.Breaker.Record(p.Now(), err)
		if err != nil {
			return err
		}
		p.recordRefused(b, refused)
		if err := p.box.acknowledge(b, refused); err != nil {
			return fmt.Errorf("write the outbox of share: %w", err)
		}
		p.recordProblem(ctx, nil)
	}
	return nil
}

// expireTombstones removes old tombstones from the store.
func (p *Publisher) expireTombstones() error {
	var changes []change
	before := p.Now().Add(-p.Tombstones)
	for k, s := range p.box.known {
		if s.gone && !s.queued && time.UnixMilli(s.rev/1000).Before(before) {
			changes = append(changes, change{Object: k.objectOf(s, map[string]any{"rev": s.rev + 1}), op: opDelete,
				file: s.file})
		}
	}
	if len(changes) == 0 {
		return nil
	}
	slices.SortFunc(changes, func(a, b change) int { return strings.Compare(a.Tenant+a.ID, b.Tenant+b.ID) })
	p.Changed("") // pushes them
	return p.box.append(changes)
}

// Plan returns the entries that the rules publish. It shows the first lines of some
// entries of the partitions that show accepts.
func (p *Publisher) Plan(ctx context.Context, show func(memory.Partition) bool) (*api.SharePlan, error) {
	plan := &api.SharePlan{Partitions: []api.SharePartition{}}
	for _, path := range p.Source.Paths() {
		if !p.Rules.MayPublish(path) {
			continue
		}
		doc, err := p.Source.Load(ctx, path)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil || doc == nil {
			continue
		}
		found := p.Rules.Apply(doc)
		plan.Withheld += found.Withheld
		if len(found.Objects) > 0 {
			plan.Files++
		}
		for i, of := range found.Owners {
			at, known := slices.BinarySearchFunc(plan.Partitions, of, func(s api.SharePartition, of memory.Partition) int {
				return cmp.Or(strings.Compare(s.Subject, of.Owner),
					strings.Compare(s.Visibility, of.Visibility.String()))
			})
			if !known {
				plan.Partitions = slices.Insert(plan.Partitions, at, api.SharePartition{Subject: of.Owner,
					Visibility: of.Visibility.String()})
			}
			s := &plan.Partitions[at]
			s.Entries++
			if len(s.First) < maxFirst && show(of) {
				s.First = append(s.First, found.Lines[i])
			}
		}
	}
	return plan, nil
}

// maxFirst bounds the first lines in a plan.
const maxFirst = 3

// Flush compares all files with the last published versions, and publishes the
// changes now. It returns the error that prevents that.
func (p *Publisher) Flush(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.flushLocked(ctx)
}

func (p *Publisher) flushLocked(ctx context.Context) error {
	p.Breaker.Reset()
	p.Changed("")
	err := p.publishChanges(ctx)
	if err == nil { // the comparison with the store may have added changes
		err = p.pushOutbox(ctx)
	}
	if err == nil && (p.overflow || p.box.pending > 0) {
		err = errPaused
	}
	p.recordProblem(ctx, err)
	return err
}

// ErrThisHost is returned by [Publisher.ForgetHost] for the publisher's own machine.
var ErrThisHost = errors.New("this machine has this name; to remove its entries, set share.publish to []")

// ForgetHost removes all objects of another machine from the store, and returns
// their number.
func (p *Publisher) ForgetHost(ctx context.Context, host string) (n int, err error) {
	if host == p.Rules.Host {
		return 0, ErrThisHost
	}
	var batch []Object
	put := func() error {
		_, err := p.Store.Put(ctx, batch)
		n += len(batch)
		batch = nil
		return err
	}
	for o, err := range p.Store.List(ctx, host) {
		if err != nil {
			return n, err
		}
		if len(batch) > 0 && (len(batch) == maxBatch || batch[0].Tenant != o.Tenant) {
			if err := put(); err != nil {
				return n, err
			}
		}
		batch = append(batch, Object{Collection: o.Collection, Tenant: o.Tenant, ID: o.ID, Delete: true})
	}
	if len(batch) > 0 {
		err = put()
	}
	return n, err
}
