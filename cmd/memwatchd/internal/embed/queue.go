package embed

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/internal/llm"
	"github.com/memwatchd/memwatchd/internal/secrets"
	"github.com/memwatchd/memwatchd/internal/vectors"
)

// A queued is a file with texts that lack vectors.
type queued struct {
	path  string
	read  bool         // texts is set
	texts []index.Text // that are not in a batch yet, newest first
}

type batch struct {
	space      *space
	texts      []index.Text
	paths      []string // of the texts, without repetition
	characters int
	counted    bool // the characters are in the usage of the day
	cancel     context.CancelCauseFunc
	ctx        context.Context
}

var (
	errGone    = errors.New("texts are gone")
	errSwapped = errors.New("model returned other vectors than before")
)

func (b *batch) contains(ref index.TextRef) bool {
	return slices.ContainsFunc(b.texts, func(t index.Text) bool { return refOf(t) == ref })
}

func refOf(t index.Text) index.TextRef { return index.TextRef{Partition: t.Partition, Key: t.Key} }

// enqueueLocked adds a file to the beginning or the end of the queue.
func (e *Embedder) enqueueLocked(q *queued, first bool) {
	e.dequeueLocked(q.path)
	if first {
		e.items[q.path] = e.queue.PushFront(q)
	} else {
		e.items[q.path] = e.queue.PushBack(q)
	}
}

func (e *Embedder) dequeueLocked(path string) {
	if item := e.items[path]; item != nil {
		e.queue.Remove(item)
		delete(e.items, path)
	}
}

// runWorker sends batches until the context ends.
func (e *Embedder) runWorker(ctx context.Context) error {
	for ctx.Err() == nil {
		e.mu.Lock()
		wake, s := e.wake, e.current
		wait := time.Until(e.resume)
		e.mu.Unlock()
		var timer <-chan time.Time
		switch {
		case s == nil:
		case wait > 0:
			timer = time.After(wait)
		default:
			b, later := e.takeBatch(ctx, s)
			if b != nil {
				e.embedBatch(b)
				continue
			}
			if later > 0 {
				timer = time.After(later)
			}
		}
		select {
		case <-ctx.Done():
		case <-wake:
		case <-timer:
		}
	}
	return ctx.Err()
}

// takeBatch takes the next texts from the queue. If the characters of the day are
// used up, it returns the time to wait.
func (e *Embedder) takeBatch(ctx context.Context, s *space) (*batch, time.Duration) {
	b, spent := &batch{space: s}, false
	b.ctx, b.cancel = context.WithCancelCause(ctx)
	for !spent {
		e.mu.Lock()
		front := e.queue.Front()
		if front == nil || len(b.texts) >= e.size {
			e.mu.Unlock()
			break
		}
		item, changes := front.Value.(*queued), e.changes
		e.dequeueLocked(item.path)
		e.mu.Unlock()
		if !item.read {
			item.texts, item.read = e.readTexts(item.path), true
		}
		spent = e.fillBatch(b, item, changes)
	}
	if len(b.texts) > 0 {
		return b, 0
	}
	b.cancel(nil)
	if !spent {
		e.pruneMissing(math.MaxInt) // those that are left have gone, or are in flight
		return nil, 0
	}
	now := e.Now()
	return nil, time.Date(now.Year(), now.Month(), now.Day()+1, 0, 0, 1, 0, now.Location()).Sub(now)
}

// readTexts returns the texts of a file, newest first.
func (e *Embedder) readTexts(path string) []index.Text {
	doc, err := e.Load(path)
	if err != nil {
		return nil // removed; a file that appears again is reported again
	}
	texts := slices.Collect(index.Texts(doc))
	slices.SortStableFunc(texts, func(a, b index.Text) int { return b.Time.Compare(a.Time) })
	return texts
}

// fillBatch moves texts of a file to a batch, and puts the rest back to the queue: the
// file, if one has changed since it was taken from there. It reports whether the
// characters of the day are used up. A batch with texts is known to Changed.
func (e *Embedder) fillBatch(b *batch, item *queued, changes int) (spent bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for len(item.texts) > 0 && len(b.texts) < e.size {
		t := item.texts[0]
		ref := refOf(t)
		if !e.missing[ref] || slices.ContainsFunc(e.batches, func(o *batch) bool { return o.contains(ref) }) {
			item.texts = item.texts[1:]
			continue
		}
		n := b.space.charactersOf(t)
		if secrets.MatchingRule(t.Text) != "" || e.DailyCharacters > 0 && n > e.DailyCharacters {
			e.failed[ref] = true
			e.setMissingLocked(ref, false)
			continue
		}
		if !e.mayCountLocked(n) {
			spent = true
			break
		}
		item.texts = item.texts[1:]
		if len(b.texts) == 0 {
			e.batches = append(e.batches, b)
		}
		b.texts, b.characters = append(b.texts, t), b.characters+n
		if !slices.Contains(b.paths, item.path) {
			b.paths = append(b.paths, item.path)
		}
	}
	if len(item.texts) > 0 && e.items[item.path] == nil {
		if changes != e.changes {
			item = &queued{path: item.path}
		}
		e.enqueueLocked(item, true)
	}
	return spent
}

// removeGone removes the texts from a batch that have gone since it was filled, and
// reports whether it may be sent.
func (e *Embedder) removeGone(b *batch) bool {
	present := slices.DeleteFunc(slices.Clone(b.texts), func(t index.Text) bool { return !e.isPresent(t) })
	e.mu.Lock()
	defer e.mu.Unlock()
	b.texts, b.characters = present, 0
	for _, t := range present {
		b.characters += b.space.charactersOf(t)
	}
	return len(b.texts) > 0 && b.ctx.Err() == nil
}

// charactersOf returns the number of characters that are sent for a text.
func (s *space) charactersOf(t index.Text) int {
	return utf8.RuneCountInString(s.TextPrefix) + utf8.RuneCountInString(t.Text)
}

func (e *Embedder) embedBatch(b *batch) {
	defer b.cancel(nil)
	if !e.removeGone(b) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.removeBatchLocked(b)
		if b.ctx.Err() != nil { // otherwise Changed has queued what is left of the files
			e.requeueLocked(b)
		}
		e.wakeLocked() // there may be characters left for another batch
		return
	}
	texts := make([]string, len(b.texts))
	for i, t := range b.texts {
		texts[i] = b.space.TextPrefix + t.Text
	}
	list, err := e.sendTexts(b, texts)
	blamed := false
	if len(texts) == 1 && mayDependOnText(err) && e.isWorking(b) {
		if llm.DependsOnText(err) && e.mayCount(b.characters) { // unless the endpoint failed for another reason
			list, err = e.sendTexts(b, texts)
			blamed = llm.DependsOnText(err)
		}
		if !blamed && mayDependOnText(err) {
			blamed = e.countFailure(refOf(b.texts[0])) >= maxFailures
		}
	}
	if err == nil {
		err = e.storeVectors(b, list)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.removeBatchLocked(b)
	switch {
	case context.Cause(b.ctx) != nil: // gone, or the daemon stops
		e.requeueLocked(b)
		return
	case blamed:
		e.Logger.Warn("the model rejects a text", "path", b.paths[0], "err", err)
		delete(e.faults, refOf(b.texts[0]))
		e.failed[refOf(b.texts[0])] = true
		e.setMissingLocked(refOf(b.texts[0]), false)
		e.problem, e.problemAt = err.Error(), e.Now()
		e.requeueLocked(b)
	case err != nil:
		e.size = max(e.size/2, 1) // a text may be the cause, or the size
		e.recordLocked(err)
		e.requeueLocked(b)
	default:
		for _, t := range b.texts {
			delete(e.faults, refOf(t))
		}
		e.size = min(2*e.size, e.Batch)
		e.recordLocked(nil)
	}
}

// maxFailures is the number of failures of one text, while the model returns the
// vector of the probe, after which the text is skipped: it may crash the model, or
// take too long, or a proxy refuses it.
const maxFailures = 3

// mayDependOnText reports whether a request that failed with err may succeed with
// another text, though the error does not say so.
func mayDependOnText(err error) bool {
	_, busy := errors.AsType[*llm.BusyError](err)
	return err != nil && !busy && err != errSwapped && !errors.Is(err, context.Canceled)
}

func (e *Embedder) countFailure(ref index.TextRef) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.faults[ref]++
	return e.faults[ref]
}

// probeNow makes runProbes compare the probe now.
func (e *Embedder) probeNow() {
	select {
	case e.probing <- struct{}{}:
	default:
	}
}

// sendTexts requests the vectors of the texts of a batch. It counts their characters
// before, so that a crash does not lose them, unless the endpoint refuses the request.
func (e *Embedder) sendTexts(b *batch, texts []string) ([][]float32, error) {
	e.mu.Lock()
	day := e.today()
	if e.usage.Day != day {
		e.usage = usage{Day: day}
	}
	e.usage.Characters += b.characters
	b.counted = true
	e.mu.Unlock()
	e.saveUsage()
	list, err := e.requestVectors(b, texts)
	if llm.WasRefused(err) {
		e.mu.Lock()
		if e.usage.Day == day {
			e.usage.Characters -= b.characters
		}
		e.mu.Unlock()
		e.saveUsage()
	}
	return list, err
}

// requestVectors requests vectors of the model of the batch's space. From time to time,
// it requests the vector of the probe with them.
func (e *Embedder) requestVectors(b *batch, texts []string) ([][]float32, error) {
	e.mu.Lock()
	compares := time.Since(b.space.compared) > maxCompared
	e.mu.Unlock()
	if compares {
		texts = append(slices.Clip(texts), b.space.TextPrefix+probe)
	}
	list, err := b.space.client.Embed(b.ctx, texts)
	if err != nil {
		return nil, err
	}
	last := len(list) - 1
	if len(list[0]) != b.space.store.Dimensions() || compares && cosine(b.space.Probe, list[last]) < sameModel {
		e.probeNow()
		return nil, errSwapped
	}
	if compares {
		e.mu.Lock()
		b.space.compared = time.Now()
		e.mu.Unlock()
		list = list[:last]
	}
	return list, nil
}

// isWorking reports whether the model returns the vector of the probe, so that a
// failure is due to the text.
func (e *Embedder) isWorking(b *batch) bool {
	_, err := e.requestVectors(b, []string{b.space.TextPrefix + probe})
	return err == nil
}

func (e *Embedder) removeBatchLocked(b *batch) {
	e.batches = slices.DeleteFunc(e.batches, func(o *batch) bool { return o == b })
}

// requeueLocked puts the files of a batch back to the queue.
func (e *Embedder) requeueLocked(b *batch) {
	for _, path := range slices.Backward(b.paths) {
		e.enqueueLocked(&queued{path: path}, true)
	}
	e.wakeLocked()
}

// storeVectors stores the vectors of the texts that are still present.
func (e *Embedder) storeVectors(b *batch, list [][]float32) error {
	e.storing.RLock()
	defer e.storing.RUnlock()
	rows := map[string][]vectors.Row{}
	for i, t := range b.texts {
		if e.isPresent(t) {
			name := partitionName(t.Partition)
			rows[name] = append(rows[name], vectors.Row{Key: vectors.Key(t.Key), Bytes: vectors.Quantize(list[i])})
		}
	}
	for name, rows := range rows {
		if err := b.space.store.Append(name, rows); err != nil {
			return fmt.Errorf("embed: %w", err)
		}
	}
	e.mu.Lock()
	for _, t := range b.texts {
		if e.current == b.space {
			e.setMissingLocked(refOf(t), false)
		}
	}
	e.mu.Unlock()
	e.dropPrevious()
	return nil
}
