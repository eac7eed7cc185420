// Package embed keeps the vectors of the texts of memory up to date and compares
// queries with them.
//
// An [Embedder] requests the vector of each text once from an embeddings endpoint
// and stores it by the text's partition and key, so that moved or restored text
// is not sent again. The vectors of a model are a space of their own. If the model
// changes, a new space is filled beside the old one.
package embed

import (
	"cmp"
	"container/list"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/internal/llm"
	"github.com/memwatchd/memwatchd/internal/state"
	"github.com/memwatchd/memwatchd/internal/vectors"
	"github.com/memwatchd/memwatchd/memory"
)

// A Model turns texts into vectors.
type Model struct {
	Name        string `json:"model"`
	Dimensions  int    `json:"dimensions,omitempty"` // requested; 0 as the model has
	TextPrefix  string `json:"text_prefix,omitempty"`
	QueryPrefix string `json:"query_prefix,omitempty"`
}

// An Index knows the present texts.
type Index interface {
	HasText(p memory.Partition, key index.TextKey) bool
	FileTexts(path string) []index.TextRef
	FilesLacking(has func(memory.Partition, index.TextKey) bool) []string
	CountTexts(p memory.Partition) int
	TextPartitions() []memory.Partition
	Complete() bool // every file has been compared with the index
}

// An Embedder keeps the vectors of the texts in an index. Its exported fields must
// not change after [Embedder.Open].
type Embedder struct {
	Dir    string // of the spaces
	Model  Model
	Client func(Model) *llm.Client // of the endpoint
	Index  Index
	Load   func(path string) (*memory.Document, error)

	Private         bool          // private texts and queries are sent, too
	Workers         int           // maximum number of requests at a time
	Batch           int           // maximum number of texts of a request
	DailyCharacters int           // maximum number of characters of texts sent in a day; 0 means any
	QueryTimeout    time.Duration // maximum time to wait for the vector of a query
	Now             func() time.Time
	Logger          *slog.Logger

	selecting sync.Mutex   // serializes the selections of a space
	scanning  sync.Mutex   // serializes the comparisons of index and store
	storing   sync.RWMutex // held by Purge, and for reading while vectors are stored
	probing   chan struct{}

	saving sync.Mutex // held while the usage is saved
	saved  usage      // guarded by saving

	mu        sync.Mutex // guards the following fields; not held while the index is called
	spaces    []*space   // most recently used first
	current   *space     // of Model; nil until the endpoint has responded
	previous  *space     // answers queries while current lacks texts; or nil
	queue     list.List  // of *queued, next first
	items     map[string]*list.Element
	missing   map[index.TextRef]bool // present texts without a vector
	counts    map[memory.Partition]int
	failed    map[index.TextRef]bool // texts that the model rejects, or that are never sent
	faults    map[index.TextRef]int  // requests that failed with one text, while others succeed
	batches   []*batch               // being filled, or in flight
	changes   int                    // calls of Changed
	wake      chan struct{}          // closed when there may be work
	size      int                    // texts of the next batch
	failures  int                    // consecutive failures
	resume    time.Time              // no request before
	usage     usage
	pause     time.Duration // after the first failure
	problem   string        // last error
	problemAt time.Time

	queries queries
}

// Open opens the spaces in the directory. Texts are not sent before [Embedder.Run].
// After an error, the embedder is closed.
func (e *Embedder) Open() error {
	e.items, e.missing, e.failed = map[string]*list.Element{}, map[index.TextRef]bool{}, map[index.TextRef]bool{}
	e.counts, e.faults = map[memory.Partition]int{}, map[index.TextRef]int{}
	e.wake, e.probing, e.size = make(chan struct{}), make(chan struct{}, 1), e.Batch
	e.pause = time.Second
	e.queries.ctx, e.queries.end = context.WithCancel(context.Background())
	e.queries.kept, e.queries.pending = map[queryKey]*list.Element{}, map[queryKey]*pendingQuery{}
	err := state.PrivateDir(e.Dir)
	if err == nil {
		err = e.openSpaces()
	}
	if err != nil {
		return errors.Join(err, e.Close())
	}
	err = state.Load(e.usageFile(), 0, &e.usage)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		e.Logger.Warn("cannot read the number of characters sent", "err", err)
	}
	return nil
}

// Run sends texts until the context ends. It closes the spaces when it returns.
func (e *Embedder) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return e.runProbes(ctx) })
	for range max(e.Workers, 1) {
		group.Go(func() error { return e.runWorker(ctx) })
	}
	err := group.Wait()
	return errors.Join(err, e.Close())
}

// Close ends queries in flight and closes the spaces.
func (e *Embedder) Close() error {
	e.queries.close()
	e.mu.Lock()
	defer e.mu.Unlock()
	var errs []error
	for _, s := range e.spaces {
		errs = append(errs, s.store.Close())
	}
	e.spaces, e.current, e.previous = nil, nil, nil
	return errors.Join(errs...)
}

func (e *Embedder) mayEmbed(p memory.Partition) bool {
	return e.Private || p.Visibility == memory.PublicOK
}

// Changed records that the index has another version of a file, or none. Its texts
// are sent next if it was just saved.
func (e *Embedder) Changed(path string, saved bool) {
	e.scanning.Lock()
	defer e.scanning.Unlock()
	e.pruneMissing(maxPruned)
	texts := e.Index.FileTexts(path)
	e.mu.Lock()
	lacks := false
	for _, t := range texts {
		if e.current != nil && e.lacksLocked(t) {
			e.setMissingLocked(t, true)
			lacks = true
		}
	}
	e.dequeueLocked(path)
	if lacks {
		e.enqueueLocked(&queued{path: path}, saved)
		e.wakeLocked()
	}
	e.changes++
	affected := map[*batch][]index.Text{}
	for _, b := range e.batches {
		if slices.Contains(b.paths, path) {
			affected[b] = slices.Clone(b.texts)
		}
	}
	e.mu.Unlock()
	for b, texts := range affected {
		if !slices.ContainsFunc(texts, e.isPresent) {
			b.cancel(errGone)
		}
	}
}

func (e *Embedder) isPresent(t index.Text) bool { return e.Index.HasText(t.Partition, t.Key) }

// lacksLocked reports whether the current space lacks the vector of a text that
// may be sent.
func (e *Embedder) lacksLocked(t index.TextRef) bool {
	return e.mayEmbed(t.Partition) && !e.failed[t] && !e.current.has(t)
}

func (e *Embedder) setMissingLocked(t index.TextRef, missing bool) {
	switch {
	case e.missing[t] == missing:
	case missing:
		e.missing[t] = true
		e.counts[t.Partition]++
	default:
		delete(e.missing, t)
		e.counts[t.Partition]--
	}
}

// maxPruned is the number of missing texts up to which a change removes those that
// are gone. With more, the number of pending texts is not exact for a while.
const maxPruned = 1000

// pruneMissing removes the texts that are gone from at most the given number of missing
// ones.
func (e *Embedder) pruneMissing(most int) {
	e.mu.Lock()
	var list []index.TextRef
	if len(e.missing) <= most {
		list = slices.Collect(maps.Keys(e.missing))
	}
	e.mu.Unlock()
	list = slices.DeleteFunc(list, func(t index.TextRef) bool { return e.Index.HasText(t.Partition, t.Key) })
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, t := range list {
		e.setMissingLocked(t, false)
	}
}

// Rescan compares all texts of the index with the vectors and queues the files that
// lack some, the most recently changed first. Changed reports later changes.
func (e *Embedder) Rescan() {
	e.mu.Lock()
	s := e.current
	e.mu.Unlock()
	if s != nil { // else the selection of a space compares them
		e.compareTexts(s)
	}
}

// compareTexts makes a space current and compares all texts with it.
func (e *Embedder) compareTexts(s *space) {
	e.scanning.Lock()
	defer e.scanning.Unlock()
	missing := map[index.TextRef]bool{}
	paths := e.Index.FilesLacking(func(p memory.Partition, k index.TextKey) bool {
		t := index.TextRef{Partition: p, Key: k}
		if !e.mayEmbed(p) || s.has(t) {
			return true
		}
		missing[t] = true
		return false
	})
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.current != s {
		clear(e.failed)
		clear(e.faults)
	}
	e.current = s
	clear(e.missing)
	clear(e.counts)
	for t := range missing {
		e.setMissingLocked(t, !e.failed[t])
	}
	clear(e.items)
	e.queue.Init()
	for _, path := range paths {
		e.enqueueLocked(&queued{path: path}, false)
	}
	e.wakeLocked()
}

func (e *Embedder) wakeLocked() {
	close(e.wake)
	e.wake = make(chan struct{})
}

// Purge removes the vectors of all texts that are no longer present from all
// spaces. It returns when no file contains them.
func (e *Embedder) Purge() error {
	e.storing.Lock()
	defer e.storing.Unlock()
	e.queries.forget()
	e.mu.Lock()
	spaces := slices.Clone(e.spaces)
	e.mu.Unlock()
	var errs []error
	for _, s := range spaces {
		errs = append(errs, s.store.Retain(func(name string, key vectors.Key) bool {
			return e.Index.HasText(partitionOf(name), index.TextKey(key))
		}))
	}
	return errors.Join(errs...)
}

// Status returns the state of the embedder, without the endpoint.
func (e *Embedder) Status() api.EmbedStatus {
	total := 0
	for _, p := range e.Index.TextPartitions() {
		if e.mayEmbed(p) {
			total += e.Index.CountTexts(p)
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	s := api.EmbedStatus{Model: e.Model.Name, Private: e.Private, Rejected: len(e.failed), Pending: len(e.missing),
		LastError: e.problem, FailedAt: e.problemAt.UTC()}
	if e.usage.Day == e.today() {
		s.CharactersToday = e.usage.Characters
	}
	if e.current == nil {
		s.Pending = total
		return s
	}
	s.Dimensions = e.current.store.Dimensions()
	s.Embedded = max(total-s.Pending-s.Rejected, 0)
	return s
}

// Count implements [index.Vectors].
func (e *Embedder) Count(p memory.Partition) (ready, pending int) {
	if !e.mayEmbed(p) {
		return 0, 0
	}
	total := e.Index.CountTexts(p)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.current == nil {
		return 0, total
	}
	pending = e.counts[p]
	for t := range e.failed {
		if t.Partition == p {
			total--
		}
	}
	return max(total-pending, 0), pending
}

// recordLocked records the result of a request. After a failure, no request is
// sent for a time.
func (e *Embedder) recordLocked(err error) {
	if err == nil {
		e.failures, e.problem, e.resume = 0, "", time.Time{}
		return
	}
	wait := min(e.pause<<min(e.failures, 10), maxPause)
	if busy, ok := errors.AsType[*llm.BusyError](err); ok {
		wait = cmp.Or(busy.After, wait)
	}
	e.failures++
	e.problem, e.problemAt = err.Error(), e.Now()
	e.resume = time.Now().Add(wait)
	if e.failures == 1 {
		e.Logger.Warn("texts are not embedded, retrying", "err", err)
	}
}

// maxPause bounds the time between two requests to an endpoint that fails.
const maxPause = 5 * time.Minute

// partitionName and partitionOf convert between partitions and their names in a
// store.
func partitionName(p memory.Partition) string {
	switch {
	case p.Excerpt:
		return p.Owner + "\x002"
	case p.Visibility == memory.PublicOK:
		return p.Owner + "\x001"
	}
	return p.Owner + "\x000"
}

func partitionOf(name string) (p memory.Partition) {
	owner, kind, _ := strings.Cut(name, "\x00")
	p.Owner = owner
	if kind != "0" {
		p.Visibility = memory.PublicOK
	}
	p.Excerpt = kind == "2"
	return p
}
