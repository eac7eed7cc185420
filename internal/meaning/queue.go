package meaning

import (
	"context"
	"math"
	"slices"

	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/internal/llm"
	"github.com/memwatchd/memwatchd/internal/secrets"
)

// A queue lists the texts without vectors, in this order: those of saved files, the
// last one first; those of files that were read for the last batch; those of other
// files; those that failed. It may contain texts that have a vector or are gone.
type queue struct {
	saved  []string // paths
	texts  []index.Text
	others []string // paths
	failed []index.Text
	size   int // texts of the next batch
}

func (q *queue) add(path string, saved bool) {
	if saved {
		q.saved = append(q.saved, path)
	} else {
		q.others = append(q.others, path)
	}
}

// reset replaces the content by files.
func (q *queue) reset(paths []string) { *q = queue{others: paths, size: q.size} }

// next returns the next text, or else the path of the file to read next.
func (q *queue) next() (t index.Text, path string, ok bool) {
	if len(q.texts) == 0 && len(q.saved)+len(q.others) == 0 {
		q.texts, q.failed = q.failed, nil
	}
	switch last := len(q.saved) - 1; {
	case last >= 0:
		path, q.saved = q.saved[last], q.saved[:last]
	case len(q.texts) > 0:
		t, q.texts = q.texts[0], q.texts[1:]
	case len(q.others) > 0:
		path, q.others = q.others[0], q.others[1:]
	default:
		return t, "", false
	}
	return t, path, true
}

// takeBatch takes the next texts from the queue.
func (e *Embedder) takeBatch() (b []index.Text) {
	e.mu.Lock()
	for len(b) < e.queue.size {
		t, path, ok := e.queue.next()
		if !ok {
			break
		}
		if path != "" {
			e.mu.Unlock()
			texts := e.readTexts(path)
			e.mu.Lock()
			e.queue.texts = slices.Concat(texts, e.queue.texts)
			continue
		}
		switch {
		case !e.missing[t.Partition][t.Key] ||
			slices.ContainsFunc(b, func(o index.Text) bool { return o.TextRef == t.TextRef }):
		case secrets.MatchingRule(t.Text) != "":
			e.rejectLocked(t)
		default:
			b = append(b, t)
		}
	}
	e.mu.Unlock()
	if len(b) == 0 {
		e.pruneMissing(math.MaxInt) // the rest is gone
	}
	return b
}

func (e *Embedder) rejectLocked(t index.Text) {
	e.rejected[t.TextRef] = true
	delete(e.missing[t.Partition], t.Key)
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

// embedBatch requests and stores the vectors of those texts of a batch that are
// still present. If it fails, it queues them behind all others and halves the size of
// the next batch. A text that the service refuses alone is not sent again, unless it
// has refused every text so far.
func (e *Embedder) embedBatch(ctx context.Context, b []index.Text) {
	b = slices.DeleteFunc(b, func(t index.Text) bool { return !e.Index.HasText(t.TextRef) })
	if len(b) == 0 {
		return
	}
	list, err := e.sendTexts(ctx, b)
	if err == nil {
		err = e.storeVectors(b, list)
	}
	if ctx.Err() != nil {
		return // the next start sends them
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case err == nil:
		e.queue.size = min(2*e.queue.size, e.Batch)
		e.recordLocked(nil)
	case len(b) == 1 && e.space.Dimensions > 0 && llm.RefusesText(err):
		e.Logger.Warn("the model rejects a text", "err", err)
		e.rejectLocked(b[0])
		e.problem, e.problemAt = err.Error(), e.Now()
	default:
		e.queue.failed = append(e.queue.failed, b...)
		e.queue.size = max(e.queue.size/2, 1) // a text may be the cause, or the size
		e.recordLocked(err)
	}
}

// sendTexts requests the vectors of texts.
func (e *Embedder) sendTexts(ctx context.Context, b []index.Text) ([][]float32, error) {
	texts := make([]string, len(b))
	for i, t := range b {
		texts[i] = e.TextPrefix + t.Text
	}
	return e.Client.Embed(ctx, texts)
}
