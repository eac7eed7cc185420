package embed

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/internal/llm"
	"github.com/memwatchd/memwatchd/internal/state"
	"github.com/memwatchd/memwatchd/internal/vectors"
)

// A space is the vectors of one model: of one name, prefix and number of
// dimensions, as long as the endpoint returns similar vectors for the probe.
type space struct {
	Model
	Probe []float32 `json:"probe"` // vector of the probe
	Used  time.Time `json:"used"`  // last time of its selection

	name   string // of its directory
	store  *vectors.Store
	client *llm.Client

	compared time.Time // last time that the endpoint returned the probe; guarded by Embedder.mu
}

const (
	// probe is the text whose vector identifies a model.
	probe = "The committee postponed its decision on the new bridge until the engineers had measured the river."
	// sameModel is the least cosine of two vectors of the probe by one model.
	// Services compute with different precision.
	sameModel = 0.995
	// probeInterval is the time between two comparisons of the probe.
	probeInterval = 24 * time.Hour
	// maxCompared is the age of the last comparison after which texts are sent with
	// the probe.
	maxCompared = 10 * time.Minute
	// keptSpaces is the number of spaces that are kept, so that the return to a
	// model costs nothing.
	keptSpaces = 2

	spaceFile = "space.json"
)

// sharesVectors reports whether two models have the same vectors of texts, unless the
// model behind the name differs.
func (m Model) sharesVectors(o Model) bool {
	m.QueryPrefix, o.QueryPrefix = "", ""
	return m == o
}

func (s *space) has(t index.TextRef) bool {
	return s.store.Has(partitionName(t.Partition), vectors.Key(t.Key))
}

func cosine(a, b []float32) (sum float64) {
	if len(a) != len(b) {
		return -1
	}
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

// openSpaces opens the spaces in the directory. It removes damaged ones.
func (e *Embedder) openSpaces() error {
	entries, err := os.ReadDir(e.Dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		s := &space{name: entry.Name()}
		dir := filepath.Join(e.Dir, s.name)
		if err := state.Load(filepath.Join(dir, spaceFile), 0, s); err != nil || len(s.Probe) == 0 {
			e.Logger.Warn("vectors without a description are removed", "dir", dir)
			if err := os.RemoveAll(dir); err != nil {
				return err
			}
			continue
		}
		s.store, err = vectors.Open(dir, len(s.Probe))
		if err != nil {
			return err
		}
		s.client = e.Client(s.Model)
		e.spaces = append(e.spaces, s)
	}
	slices.SortFunc(e.spaces, func(a, b *space) int {
		return cmp.Or(b.Used.Compare(a.Used), cmp.Compare(a.name, b.name))
	})
	return nil
}

func (e *Embedder) createSpace(v []float32) (*space, error) {
	s := &space{Model: e.Model, Probe: v, client: e.Client(e.Model)}
	id, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(id)
	s.name = hex.EncodeToString(sum[:16])
	dir := filepath.Join(e.Dir, s.name)
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	if err := s.save(dir); err != nil {
		return nil, err
	}
	s.store, err = vectors.Open(dir, len(v))
	return s, err
}

func (s *space) save(dir string) error {
	return state.Save(filepath.Join(dir, spaceFile), s)
}

// runProbes selects the space of the model, and compares the probe every day, and
// whenever the number of dimensions changes.
func (e *Embedder) runProbes(ctx context.Context) error {
	for {
		wait := probeInterval
		if err := e.selectSpace(ctx); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			e.mu.Lock()
			e.recordLocked(err)
			wait = time.Until(e.resume)
			e.mu.Unlock()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		case <-e.probing:
		}
	}
}

// selectSpace requests the vector of the probe and makes the space current in which
// the model has the same vector, or a new one. Then it compares all texts.
func (e *Embedder) selectSpace(ctx context.Context) error {
	list, err := e.Client(e.Model).Embed(ctx, []string{e.Model.TextPrefix + probe})
	if err != nil {
		return err
	}
	e.selecting.Lock()
	defer e.selecting.Unlock()
	s, err := e.useSpace(list[0])
	if err != nil {
		return fmt.Errorf("create vectors: %w", err)
	}
	e.mu.Lock()
	others := slices.Clone(e.spaces[1:])
	e.mu.Unlock()
	previous := e.findPrevious(ctx, others)
	e.mu.Lock()
	e.previous = previous
	s.compared = time.Now()
	e.recordLocked(nil)
	e.mu.Unlock()
	e.dropPrevious()
	return e.dropUnused(s)
}

// useSpace makes the space current in which the configured model has a vector of the
// probe, or a new one, and compares all texts with it. Of the others it keeps the
// most recently used.
func (e *Embedder) useSpace(v []float32) (*space, error) {
	e.mu.Lock()
	spaces := slices.Clone(e.spaces)
	before := e.current
	e.mu.Unlock()
	i := slices.IndexFunc(spaces, func(s *space) bool {
		return s.sharesVectors(e.Model) && cosine(s.Probe, v) >= sameModel
	})
	var s *space
	var err error
	if i >= 0 {
		s = spaces[i]
		spaces = slices.Delete(spaces, i, i+1)
	} else {
		s, err = e.createSpace(v)
		if err != nil {
			return nil, err
		}
	}
	if s != before {
		s.Model, s.client, s.Used = e.Model, e.Client(e.Model), e.Now()
		if err := s.save(filepath.Join(e.Dir, s.name)); err != nil {
			return nil, err
		}
		e.Logger.Info("texts are embedded", "model", s.Name, "dimensions", len(s.Probe))
	}
	spaces = slices.Insert(spaces, 0, s)
	kept := min(len(spaces), keptSpaces)
	e.mu.Lock()
	e.spaces, e.previous = spaces[:kept:kept], nil
	e.mu.Unlock()
	e.compareTexts(s)
	for _, old := range spaces[kept:] {
		if err := errors.Join(old.store.Close(), os.RemoveAll(filepath.Join(e.Dir, old.name))); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// dropUnused removes the vectors of texts that are gone once there are many. Until
// then they wait for the return of their texts.
func (e *Embedder) dropUnused(s *space) error {
	present := 0
	for _, p := range e.Index.TextPartitions() {
		present += e.Index.CountTexts(p)
	}
	if n := s.store.Len(); n > 2*present+10_000 && e.Index.Complete() {
		return e.Purge()
	}
	return nil
}

// findPrevious returns the most recently used of other spaces if the endpoint still
// has its model, so that it can answer queries; otherwise nil.
func (e *Embedder) findPrevious(ctx context.Context, others []*space) *space {
	if len(others) == 0 {
		return nil
	}
	s := others[0]
	if n := s.store.Len(); n == 0 || s.sharesVectors(e.Model) {
		return nil // the model behind the name was replaced
	}
	list, err := s.client.Embed(ctx, []string{s.TextPrefix + probe})
	if err != nil || cosine(s.Probe, list[0]) < sameModel {
		return nil
	}
	return s
}

// dropPrevious ends the use of the previous space for queries once the current one
// lacks at most one of a hundred texts.
func (e *Embedder) dropPrevious() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.previous == nil || e.current == nil {
		return
	}
	if n := e.current.store.Len(); 100*len(e.missing) <= n+len(e.missing) {
		e.previous = nil
	}
}

// answering returns the space that answers queries, or nil.
func (e *Embedder) answering() *space {
	e.mu.Lock()
	defer e.mu.Unlock()
	return cmp.Or(e.previous, e.current)
}
