package embed

import (
	"container/list"
	"context"
	"crypto/sha256"
	"errors"
	"sync"
	"time"

	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/internal/secrets"
	"github.com/memwatchd/memwatchd/internal/vectors"
	"github.com/memwatchd/memwatchd/memory"
)

const (
	maxQueries  = 1000 // vectors of queries that are kept
	maxRequests = 2    // requests for queries at a time
	// queryPause is the time without requests for queries after one failed.
	queryPause = 10 * time.Second
)

var errNotReady = errors.New("the embeddings endpoint has not responded yet")

// A queryKey identifies a query in a space.
type queryKey [sha256.Size]byte

// queries requests the vectors of queries and keeps the last ones in memory.
type queries struct {
	ctx  context.Context
	end  context.CancelFunc
	done sync.WaitGroup

	mu      sync.Mutex
	kept    map[queryKey]*list.Element
	order   list.List // of *keptQuery, most recently used first
	pending map[queryKey]*pendingQuery
	err     error     // last failure
	resume  time.Time // no request before
	cleared int       // calls of forget
}

type keptQuery struct {
	key    queryKey
	vector []float32
}

// A pendingQuery is a request in flight. Its result is set when done is closed.
type pendingQuery struct {
	done   chan struct{}
	vector []float32
	err    error
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
	clear(q.kept)
	q.order.Init()
	q.cleared++
}

// Query implements [index.Vectors]. A request goes on after the timeout, so that
// the next query with this text, or a model that is still loading, can be faster.
func (e *Embedder) Query(ctx context.Context, text string, private bool) (index.Nearest, error) {
	if private && !e.Private || secrets.MatchingRule(text) != "" {
		return nil, index.ErrPrivateQuery
	}
	s := e.answering()
	if s == nil {
		return nil, errNotReady
	}
	v, err := e.queries.vector(ctx, s, text, e.QueryTimeout)
	if errors.Is(err, errSwapped) {
		e.probeNow()
	}
	if err != nil {
		return nil, err
	}
	return func(p memory.Partition, limit int, accept func(index.TextKey) bool) []index.Similar {
		hits, err := s.store.Near(v, partitionName(p), limit,
			func(k vectors.Key) bool { return accept(index.TextKey(k)) })
		if err != nil {
			e.Logger.Error("cannot compare vectors", "err", err)
		}
		near := make([]index.Similar, len(hits))
		for i, h := range hits {
			near[i] = index.Similar{Key: index.TextKey(h.Key), Cosine: h.Cosine}
		}
		return near
	}, nil
}

// vector returns the vector of a query, at most after the timeout.
func (q *queries) vector(ctx context.Context, s *space, text string, timeout time.Duration) ([]float32, error) {
	key := queryKey(sha256.Sum256([]byte(s.name + "\x00" + s.QueryPrefix + "\x00" + text)))
	q.mu.Lock()
	if found := q.kept[key]; found != nil {
		defer q.mu.Unlock()
		q.order.MoveToFront(found)
		return found.Value.(*keptQuery).vector, nil
	}
	p := q.pending[key]
	switch {
	case p != nil:
	case q.ctx.Err() != nil:
		defer q.mu.Unlock()
		return nil, q.ctx.Err()
	case time.Now().Before(q.resume):
		defer q.mu.Unlock()
		return nil, q.err
	case len(q.pending) >= maxRequests:
		defer q.mu.Unlock()
		return nil, context.DeadlineExceeded
	default:
		p = &pendingQuery{done: make(chan struct{})}
		q.pending[key] = p
		cleared := q.cleared
		q.done.Go(func() { q.requestVector(p, key, s, text, cleared) })
	}
	q.mu.Unlock()
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-p.done:
		return p.vector, p.err
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-timer.C:
		return nil, context.DeadlineExceeded
	}
}

// requestVector requests the vector of a query and keeps it, unless forget was called.
func (q *queries) requestVector(p *pendingQuery, key queryKey, s *space, text string, cleared int) {
	list, err := s.client.Embed(q.ctx, []string{s.QueryPrefix + text})
	if err == nil && len(list[0]) != s.store.Dimensions() {
		err = errSwapped
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	defer close(p.done)
	delete(q.pending, key)
	if err != nil {
		p.err, q.err, q.resume = err, err, time.Now().Add(queryPause)
		return
	}
	p.vector = list[0]
	if q.cleared != cleared {
		return
	}
	q.kept[key] = q.order.PushFront(&keptQuery{key, p.vector})
	if q.order.Len() > maxQueries {
		delete(q.kept, q.order.Remove(q.order.Back()).(*keptQuery).key)
	}
}
