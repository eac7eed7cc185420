package index

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/blevesearch/bleve/v2/index/scorch"
)

// background is what scorch does in goroutines of its own: the persister brings
// batches to disk, the merger makes few segments of many. What fails there they
// try again, at once and for ever; here they are made to wait in between.
type background struct {
	// report is told, by scorch's goroutines, of everything that fails, and with
	// nil when all is well again. News is whether it was well before.
	report func(err error, news bool)

	closing chan struct{} // closed when the store is
	hurry   chan struct{} // tells the persister to try again now
	broken  chan struct{} // closed when one of the goroutines has ended

	mu      sync.Mutex
	ended   error             // why it has
	trials  map[string]*trial // by goroutine
	waiting chan<- error      // of the batch that waits for the persister
	unsaved int               // batches since the last that is on disk
}

// A trial is something that is tried until it succeeds.
type trial struct {
	err   error // of the last time
	pause time.Duration
}

// The first and the longest pause between two tries.
const (
	firstPause = 250 * time.Millisecond
	lastPause  = 15 * time.Second
)

// The goroutines, as scorch calls them.
const (
	persister = "persister"
	merger    = "merger"
)

// stores finds whose goroutine it is: scorch only knows callbacks registered
// before anything is opened.
var stores sync.Map // directory, or *scorch.Scorch → *store

const callbacks = "memwatchd"

func init() {
	scorch.RegistryAsyncErrorCallbacks[callbacks] = func(err error, dir string) {
		if s, ok := stores.Load(dir); ok {
			s.(*store).failed(err)
		}
	}
	scorch.RegistryEventCallbacks[callbacks] = func(e scorch.Event) bool {
		if s, ok := stores.Load(e.Scorch); ok {
			switch e.Kind {
			case scorch.EventKindPersisterProgress:
				s.(*store).succeeded(persister)
			case scorch.EventKindMergerProgress:
				s.(*store).succeeded(merger)
			}
		}
		return true // it may go on
	}
}

func newBackground(report func(error, bool)) background {
	if report == nil {
		report = func(error, bool) {}
	}
	return background{
		report: report, trials: make(map[string]*trial),
		closing: make(chan struct{}), hurry: make(chan struct{}, 1), broken: make(chan struct{}),
	}
}

// failed is told what failed in the goroutine that calls it, and returns when
// that may try again.
func (b *background) failed(err error) {
	failure, ok := errors.AsType[*scorch.ScorchError](err)
	if !ok || failure.ErrType == scorch.ErrCleanup {
		return // what is not needed any more stays until the next time
	}
	err = errors.New(failure.ErrMsg)
	b.mu.Lock()
	news := b.err() == nil
	if failure.ErrType != scorch.ErrPersist {
		if b.ended == nil {
			b.ended = err
			close(b.broken)
		}
		b.mu.Unlock()
		b.report(err, news)
		return
	}
	t := b.trials[failure.Source]
	if t == nil {
		t = new(trial)
		b.trials[failure.Source] = t
	}
	t.err, t.pause = err, min(max(firstPause, 2*t.pause), lastPause)
	pause := time.NewTimer(t.pause)
	defer pause.Stop()
	var hurry chan struct{}
	if failure.Source == persister {
		hurry = b.hurry
		if b.waiting != nil {
			b.waiting <- err
			b.waiting = nil
		}
	}
	b.mu.Unlock()
	b.report(err, news)
	select {
	case <-pause.C:
	case <-hurry:
	case <-b.closing:
	}
}

// succeeded is told that a goroutine has done what there was to do.
func (b *background) succeeded(source string) {
	b.mu.Lock()
	if source == persister {
		b.unsaved = 0
	}
	_, failing := b.trials[source]
	delete(b.trials, source)
	well := failing && b.err() == nil
	b.mu.Unlock()
	if well {
		b.report(nil, true)
	}
}

// err is what keeps what was written from the disk. The caller holds b.mu.
func (b *background) err() error {
	if b.ended != nil {
		return b.ended
	}
	for _, source := range []string{persister, merger} {
		if t := b.trials[source]; t != nil {
			return t.err
		}
	}
	return nil
}

// failure is what keeps what was written from the disk.
func (b *background) failure() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err()
}

// maxUnsaved is how many batches may wait for the disk, each as a segment that
// every search has to look into. When there are more it is better to start over
// from what is on disk, with few large ones.
const maxUnsaved = 1000

// written counts a batch. It is an error that there are too many which cannot be
// brought to disk.
func (b *background) written() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.unsaved++
	if err := b.err(); err != nil && b.unsaved > maxUnsaved {
		return fmt.Errorf("%d changes wait for the disk: %w", b.unsaved, err)
	}
	return nil
}

// expect returns what is told if the persister fails with what it tries next.
func (b *background) expect() <-chan error {
	failed := make(chan error, 1)
	b.mu.Lock()
	b.waiting = failed
	b.mu.Unlock()
	select {
	case b.hurry <- struct{}{}:
	default:
	}
	return failed
}

// persistLimit is how long it may take until what was written is on disk.
const persistLimit = 10 * time.Second

// wait returns when a batch is on disk, or the persister has failed to bring it
// there. It goes on trying.
func (b *background) wait(done, failed <-chan error) (err error) {
	limit := time.NewTimer(persistLimit)
	defer limit.Stop()
	select {
	case err = <-done:
	case err = <-failed:
	case <-b.broken:
		err = b.failure()
	case <-limit.C:
		err = fmt.Errorf("not on disk after %v", persistLimit)
	}
	if err != nil {
		return fmt.Errorf("write index: %w", err)
	}
	return nil
}

// diskFull reports whether an error says that there is no room. Scorch passes
// on no more than its text.
func diskFull(err error) bool {
	text := err.Error()
	return strings.Contains(text, syscall.ENOSPC.Error()) || strings.Contains(text, syscall.EDQUOT.Error())
}

// exhausted reports whether an error is about what the system has to give, and
// says nothing of the index.
func exhausted(err error) bool {
	for _, e := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EROFS} {
		if errors.Is(err, e) {
			return true
		}
	}
	return diskFull(err)
}
