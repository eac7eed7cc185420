package meaning

import (
	"context"
	"crypto/sha256"
	"sync"
	"time"

	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/internal/secrets"
	"github.com/memwatchd/memwatchd/memory"
)

const (
	maxQueries  = 1000 // vectors of queries that are kept
	maxRequests = 2    // requests for queries at a time
	// queryPause is the time without requests for queries after one failed.
	queryPause = 10 * time.Second
)

// queries requests the vectors of queries and keeps them in memory.
type queries struct {
	ctx  context.Context
	end  context.CancelFunc
	done sync.WaitGroup

	mu      sync.Mutex
	kept    map[[sha256.Size]byte]*query // by the hash of the text
	running int
	err     error     // last failure
	resume  time.Time // no request before
}

// A query has its result once done is closed.
type query struct {
	done   chan struct{}
	vector []float32
	err    error
}

func (q *queries) open() {
	q.ctx, q.end = context.WithCancel(context.Background())
	q.kept = map[[sha256.Size]byte]*query{}
}

// close ends the requests in flight and waits for them.
func (q *queries) close() {
	q.mu.Lock()
	q.end()
	q.mu.Unlock()
	q.done.Wait()
}

// forget drops all vectors, because vectors of queries resemble their texts.
func (q *queries) forget() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.kept = map[[sha256.Size]byte]*query{}
}

// Query implements [index.Vectors]. A request goes on after the timeout, so that
// the next query with this text, or a model that is still loading, can be faster.
func (e *Embedder) Query(ctx context.Context, text string, private bool) (index.Nearest, error) {
	if private && !e.Private || secrets.MatchingRule(text) != "" {
		return nil, index.ErrPrivateQuery
	}
	p, err := e.startQuery(text)
	if err != nil {
		return nil, err
	}
	timer := time.NewTimer(e.QueryTimeout)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-timer.C:
		return nil, context.DeadlineExceeded
	}
	if p.err != nil {
		return nil, p.err
	}
	return func(of memory.Partition, limit int, accept func(index.TextKey) bool) []index.Similar {
		e.mu.Lock()
		file := e.partitions[of]
		e.mu.Unlock()
		if file == nil || file.dimensions != len(p.vector) {
			return nil
		}
		hits, err := file.near(p.vector, limit, accept)
		if err != nil {
			e.Logger.Error("cannot compare vectors", "err", err)
		}
		return hits
	}, nil
}

// startQuery returns the query with a text, which it requests unless it is kept.
func (e *Embedder) startQuery(text string) (*query, error) {
	q := &e.queries
	q.mu.Lock()
	defer q.mu.Unlock()
	key := sha256.Sum256([]byte(text))
	p := q.kept[key]
	switch {
	case p != nil:
		return p, nil
	case q.ctx.Err() != nil:
		return nil, q.ctx.Err()
	case time.Now().Before(q.resume):
		return nil, q.err
	case q.running >= maxRequests:
		return nil, context.DeadlineExceeded
	case len(q.kept) >= maxQueries:
		q.kept = map[[sha256.Size]byte]*query{}
	}
	p = &query{done: make(chan struct{})}
	q.kept[key] = p
	q.running++
	q.done.Go(func() { e.requestQuery(p, key, text) })
	return p, nil
}

func (e *Embedder) requestQuery(p *query, key [sha256.Size]byte, text string) {
	q := &e.queries
	list, err := e.Client.Embed(q.ctx, []string{e.QueryPrefix + text})
	if err == nil {
		p.vector = list[0]
		err = e.setDimensions(len(p.vector))
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	defer close(p.done)
	q.running--
	if err == nil {
		return
	}
	p.err, q.err, q.resume = err, err, time.Now().Add(queryPause)
	if q.kept[key] == p {
		delete(q.kept, key)
	}
}
