package index

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/blevesearch/bleve/v2/index/scorch"
	berrors "go.etcd.io/bbolt/errors"
)

// background supervises the goroutines of scorch: the persister writes batches
// to disk, and the merger merges many segments into few. Scorch retries a
// failed step immediately and forever; background adds a pause before each
// retry.
type background struct {
	// report is called by the goroutines of scorch with every failure, and with
	// nil after recovery. News is true for the first failure and for recovery.
	report func(err error, news bool)

	closing chan struct{} // closed when the store closes
	hurry   chan struct{} // ends the pause of the persister
	broken  chan struct{} // closed when a goroutine of scorch has ended
	filled  chan struct{} // closed by stopFilling when the first build is over

	filledOnce sync.Once

	mu            sync.Mutex
	ended         error                  // reason why a goroutine of scorch ended
	retryStates   map[string]*retryState // by name of the goroutine
	persistFailed chan<- error           // receives the failure of the persister for a pending batch
	unsaved       int                    // batches since the last one on disk
}

// A retryState is a step that scorch retries until it succeeds.
type retryState struct {
	err   error // last error
	pause time.Duration
}

// The first and the longest pause before a retry.
const (
	firstPause = 250 * time.Millisecond
	lastPause  = 15 * time.Second
)

// The goroutines, by their names in scorch.
const (
	persister = "persister"
	merger    = "merger"
)

// stores contains the open stores. The callbacks find their store in it, because
// scorch only uses callbacks that were registered before a store is opened.
var stores sync.Map // directory, or *scorch.Scorch → *store

const callbacks = "memwatchd"

func init() {
	scorch.RegistryAsyncErrorCallbacks[callbacks] = func(err error, dir string) {
		if s, ok := stores.Load(dir); ok {
			s.(*store).handleFailure(err)
		}
	}
	scorch.RegistryEventCallbacks[callbacks] = func(e scorch.Event) bool {
		if s, ok := stores.Load(e.Scorch); ok {
			switch e.Kind {
			case scorch.EventKindPersisterProgress:
				s.(*store).recordSuccess(persister)
				s.(*store).collectBatches()
			case scorch.EventKindMergerProgress:
				s.(*store).recordSuccess(merger)
			case scorch.EventKindPreMergeCheck:
				return s.(*store).awaitFilled()
			}
		}
		return true // scorch may continue
	}
}

func newBackground(report func(error, bool)) background {
	return background{
		report: report, retryStates: make(map[string]*retryState),
		closing: make(chan struct{}), hurry: make(chan struct{}, 1), broken: make(chan struct{}),
		filled: make(chan struct{}),
	}
}

// handleFailure handles an error of the calling goroutine of scorch. It blocks until
// that goroutine may retry.
func (b *background) handleFailure(err error) {
	failure, ok := errors.AsType[*scorch.ScorchError](err)
	if !ok || failure.ErrType == scorch.ErrCleanup {
		return // unneeded files remain until the next cleanup
	}
	err = errors.New(failure.ErrMsg)
	// After a failed mapping, bbolt needs to be opened again: no retry succeeds.
	unmapped := strings.Contains(failure.ErrMsg, berrors.ErrInvalidMapping.Error())
	if unmapped {
		err = fmt.Errorf("%s: %w", failure.Source, berrors.ErrInvalidMapping)
	}
	b.mu.Lock()
	news := b.errLocked() == nil
	if failure.ErrType != scorch.ErrPersist || unmapped {
		if b.ended == nil {
			b.ended = err
			close(b.broken)
		}
		b.mu.Unlock()
		b.report(err, news)
		if unmapped {
			b.pause(firstPause, nil)
		}
		return
	}
	t := b.retryStates[failure.Source]
	if t == nil {
		t = new(retryState)
		b.retryStates[failure.Source] = t
	}
	t.err, t.pause = err, min(max(firstPause, 2*t.pause), lastPause)
	pause := t.pause
	var hurry chan struct{}
	if failure.Source == persister {
		b.stopFilling()
		hurry = b.hurry
		if b.persistFailed != nil {
			b.persistFailed <- err
			b.persistFailed = nil
		}
	}
	b.mu.Unlock()
	b.report(err, news)
	b.pause(pause, hurry)
}

// pause waits until the time has passed, the channel receives, or the store
// closes.
func (b *background) pause(wait time.Duration, hurry <-chan struct{}) {
	select {
	case <-time.After(wait):
	case <-hurry:
	case <-b.closing:
	}
}

// recordSuccess records the success of a goroutine of scorch. If that resolves the
// last failure, it reports the recovery.
func (b *background) recordSuccess(source string) {
	b.mu.Lock()
	if source == persister {
		b.unsaved = 0
	}
	_, failing := b.retryStates[source]
	delete(b.retryStates, source)
	well := failing && b.errLocked() == nil
	b.mu.Unlock()
	if well {
		b.report(nil, true)
	}
}

// persistDelay is the least time between two writes to disk. Batches that arrive in
// this time are written together.
const persistDelay = 200 * time.Millisecond

// collectBatches makes the persister wait for further batches, unless a caller waits
// for the disk. In a first build all batches are written as they arrive.
func (b *background) collectBatches() {
	select {
	case <-b.filled:
		b.pause(persistDelay, b.hurry)
	default:
	}
}

// stopFilling ends the first build as far as scorch is concerned: segments are merged
// from now on.
func (b *background) stopFilling() {
	b.filledOnce.Do(func() { close(b.filled) })
}

// errLocked returns the error that prevents writing to disk, or nil. The caller must
// hold b.mu.
func (b *background) errLocked() error {
	if b.ended != nil {
		return b.ended
	}
	for _, source := range []string{persister, merger} {
		if t := b.retryStates[source]; t != nil {
			return t.err
		}
	}
	return nil
}

// writeError returns the result of err for callers that do not hold b.mu.
func (b *background) writeError() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.errLocked()
}

// maxUnsaved bounds the batches that are not on disk while writing fails. Each
// of them is a segment that every search must read. Beyond the limit it is
// better to reopen the state on disk, which has few large segments.
const maxUnsaved = 1000

// countBatch counts a batch. It returns an error if too many batches are pending
// and writing to disk fails.
func (b *background) countBatch() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.unsaved++
	if err := b.errLocked(); err != nil && b.unsaved > maxUnsaved {
		return fmt.Errorf("%d changes are not on disk: %w", b.unsaved, err)
	}
	return nil
}

// mergeDelay bounds the time in which a first build has no merge. The segments that
// it writes later would be merged with the result again.
const mergeDelay = time.Minute

// awaitFilled delays a merge while the index is filled. It reports whether the
// merge may begin; otherwise scorch plans it again with all segments. While it waits,
// the persister writes each segment as it is; see openStore.
func (b *background) awaitFilled() bool {
	select {
	case <-b.filled:
		return true
	default:
	}
	select {
	case <-b.filled:
		return false
	case <-time.After(mergeDelay):
	case <-b.closing:
	}
	return true
}

// expectPersist returns a channel that receives the error if the next attempt of the
// persister fails.
func (b *background) expectPersist() <-chan error {
	failed := make(chan error, 1)
	b.mu.Lock()
	b.persistFailed = failed
	b.mu.Unlock()
	return failed
}

// persistLimit bounds the time in which a batch must reach the disk.
const persistLimit = 10 * time.Second

// waitPersisted blocks until a batch is on disk, and returns an error if the persister
// fails or persistLimit expires first. The persister does not pause before it
// writes the batch. It keeps retrying after an error.
func (b *background) waitPersisted(done, failed <-chan error) (err error) {
	select {
	case b.hurry <- struct{}{}:
	default:
	}
	select {
	case err = <-done:
	case err = <-failed:
	case <-b.broken:
		err = b.writeError()
	case <-time.After(persistLimit):
		err = fmt.Errorf("not on disk after %v", persistLimit)
	}
	if err != nil {
		return fmt.Errorf("write index: %w", err)
	}
	return nil
}

// diskFull reports whether err means that the disk or the quota is full. It
// compares the text, because scorch does not preserve the error.
func diskFull(err error) bool {
	text := err.Error()
	return strings.Contains(text, syscall.ENOSPC.Error()) || strings.Contains(text, syscall.EDQUOT.Error())
}

// lacksResources reports whether err means a lack of system resources, a failed
// mapping or a read-only file system. Such an error is no evidence of a damaged index.
func lacksResources(err error) bool {
	causes := []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EROFS, berrors.ErrInvalidMapping}
	return diskFull(err) || slices.ContainsFunc(causes, func(e error) bool { return errors.Is(err, e) })
}
