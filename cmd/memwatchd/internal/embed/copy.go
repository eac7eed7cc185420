package embed

import (
	"errors"
	"fmt"

	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vectors"
)

// A Vector is a stored vector.
type Vector struct {
	index.TextRef
	Bytes []int8
}

// ErrNoVectors reports that there are no vectors yet.
var ErrNoVectors = errors.New("the embeddings endpoint has not responded yet")

// Dump returns the model, the vector of the probe and at most limit vectors of
// present texts, from a position on. The next position has no partition at the end.
func (e *Embedder) Dump(from vectors.Position, limit int) (m Model, probe []float32, list []Vector,
	next vectors.Position, err error) {
	e.mu.Lock()
	s := e.current
	e.mu.Unlock()
	if s == nil {
		return m, nil, nil, next, ErrNoVectors
	}
	for at, row := range s.store.Rows(from) {
		if len(list) == limit {
			next = at
			break
		}
		ref := index.TextRef{Partition: partitionOf(at.Partition), Key: index.TextKey(row.Key)}
		if e.Index.HasText(ref.Partition, ref.Key) {
			list = append(list, Vector{ref, row.Bytes})
		}
	}
	return s.Model, s.Probe, list, next, nil
}

// Add stores vectors of present texts that lack one, and returns their number. The
// vectors must be of the configured model. If the endpoint has not responded yet,
// its model is assumed to have the given vector of the probe.
func (e *Embedder) Add(m Model, probe []float32, list []Vector) (loaded int, err error) {
	if !m.sharesVectors(e.Model) {
		return 0, fmt.Errorf("vectors are of the model %q; embed.model, embed.dimensions and embed.text_prefix "+
			"must be as they were", m.Name)
	}
	e.selecting.Lock()
	defer e.selecting.Unlock()
	e.mu.Lock()
	s := e.current
	e.mu.Unlock()
	load := func(s *space) (err error) {
		loaded, err = e.addVectors(s, list)
		return err
	}
	if s == nil {
		if err := checkProbe(probe); err != nil {
			return 0, err
		}
		_, err = e.useSpace(probe, load)
		return loaded, err
	}
	if cosine(s.Probe, probe) < sameModel {
		return 0, fmt.Errorf("vectors are of another model with the name %q", m.Name)
	}
	if err := load(s); err != nil {
		return 0, err
	}
	e.compareTexts(s)
	return loaded, nil
}

// addVectors stores vectors of present texts that lack one, and returns their number.
func (e *Embedder) addVectors(s *space, list []Vector) (loaded int, err error) {
	e.storing.RLock()
	defer e.storing.RUnlock()
	rows := map[memory.Partition][]vectors.Row{}
	for _, v := range list {
		if e.Index.HasText(v.Partition, v.Key) && !s.has(v.TextRef) {
			rows[v.Partition] = append(rows[v.Partition], vectors.Row{Key: vectors.Key(v.Key), Bytes: v.Bytes})
			loaded++
		}
	}
	for p, rows := range rows {
		err = errors.Join(err, s.store.Load(partitionName(p), rows))
	}
	if err != nil {
		return 0, err
	}
	return loaded, nil
}

// checkProbe reports an error if a vector does not have the length 1.
func checkProbe(v []float32) error {
	if n := cosine(v, v); len(v) == 0 || len(v) > vectors.MaxDimensions || !(n > 0.99 && n < 1.01) {
		return errors.New("the vector of the probe is damaged")
	}
	return nil
}
