package embed

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vectors"
)

// dumpPage bounds the vectors of a page, in bytes.
const dumpPage = 512 << 10

// DumpVectors returns a page of the vectors of present texts. A cursor is a row and
// a partition.
func (e *Embedder) DumpVectors(cursor string) (*api.EmbedDumpAnswer, error) {
	return e.dumpVectors(cursor, max(dumpPage/max(e.Status().Dimensions, 1), 1))
}

// dumpVectors returns at most limit vectors.
func (e *Embedder) dumpVectors(cursor string, limit int) (*api.EmbedDumpAnswer, error) {
	var from vectors.Position
	if cursor != "" {
		row, partition, ok := strings.Cut(cursor, " ")
		n, err := strconv.Atoi(row)
		if !ok || err != nil || n < 0 {
			return nil, api.Errorf(api.Invalid, "cursor: %q is not the next field of an answer", cursor)
		}
		from = vectors.Position{Partition: partition, Row: n}
	}
	e.mu.Lock()
	s := e.current
	e.mu.Unlock()
	if s == nil {
		return nil, api.Errorf(api.Unavailable, "%v", errNotReady).WithHint("run `memwatchd embed status`")
	}
	answer := &api.EmbedDumpAnswer{Vectors: []api.EmbedVector{}, Space: api.EmbedSpace{
		Model: s.Name, Dimensions: s.Model.Dimensions, TextPrefix: s.TextPrefix, Probe: s.Probe}}
	for at, row := range s.store.Rows(from) {
		if len(answer.Vectors) == limit {
			answer.Next = strconv.Itoa(at.Row) + " " + at.Partition
			break
		}
		p := partitionOf(at.Partition)
		if e.Index.HasText(p, index.TextKey(row.Key)) {
			answer.Vectors = append(answer.Vectors, vectorLine(p, row))
		}
	}
	return answer, nil
}

// vectorLine returns a vector in the form of a line. The bytes of a key are the
// first ones of the SHA-256 of its text.
func vectorLine(p memory.Partition, row vectors.Row) api.EmbedVector {
	return api.EmbedVector{Owner: p.Owner, Visibility: p.Visibility.String(), Excerpt: p.Excerpt,
		Key: binary.LittleEndian.AppendUint64(nil, uint64(row.Key)), Vector: row.Bytes}
}

// A loadedVector is a vector of a text.
type loadedVector struct {
	index.TextRef
	bytes []byte
}

// LoadVectors stores vectors of present texts that lack one. The vectors must be of
// the configured model. If the endpoint has not responded yet, its model is assumed
// to have the given vector of the probe.
func (e *Embedder) LoadVectors(lines string) (*api.EmbedLoadAnswer, error) {
	first, rest, _ := strings.Cut(lines, "\n")
	var from api.EmbedSpace
	if err := json.Unmarshal([]byte(first), &from); err != nil || len(from.Probe) == 0 {
		return nil, api.Errorf(api.Invalid, "lines: the first line is not the space of vectors").
			WithHint("use a file that `memwatchd embed dump` wrote")
	}
	var list []loadedVector
	number := 1
	for line := range strings.Lines(rest) {
		number++
		var in api.EmbedVector
		err := json.Unmarshal([]byte(line), &in)
		visibility := memory.PrivateOnly
		if in.Visibility == memory.PublicOK.String() {
			visibility = memory.PublicOK
		}
		if err != nil || len(in.Key) != 8 || len(in.Vector) != len(from.Probe) ||
			visibility.String() != in.Visibility {
			return nil, api.Errorf(api.Invalid, "lines: line %d is not a vector of %d dimensions", number,
				len(from.Probe))
		}
		list = append(list, loadedVector{bytes: in.Vector, TextRef: index.TextRef{
			Partition: memory.Partition{Owner: in.Owner, Visibility: visibility, Excerpt: in.Excerpt},
			Key:       index.TextKey(binary.LittleEndian.Uint64(in.Key)),
		}})
	}
	n, err := e.loadVectors(from, list)
	if err != nil {
		return nil, api.Errorf(api.Invalid, "lines: %v", err)
	}
	return &api.EmbedLoadAnswer{Loaded: n, Ignored: len(list) - n}, nil
}

// loadVectors stores vectors of a space, and returns their number.
func (e *Embedder) loadVectors(from api.EmbedSpace, list []loadedVector) (loaded int, err error) {
	m := Model{Name: from.Model, Dimensions: from.Dimensions, TextPrefix: from.TextPrefix}
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
		if err := checkProbe(from.Probe); err != nil {
			return 0, err
		}
		_, err = e.useSpace(from.Probe, load)
		return loaded, err
	}
	if cosine(s.Probe, from.Probe) < sameModel {
		return 0, fmt.Errorf("vectors are of another model with the name %q", m.Name)
	}
	if err := load(s); err != nil {
		return 0, err
	}
	e.compareTexts(s)
	return loaded, nil
}

// addVectors stores vectors of present texts that lack one, and returns their number.
func (e *Embedder) addVectors(s *space, list []loadedVector) (loaded int, err error) {
	e.storing.RLock()
	defer e.storing.RUnlock()
	rows := map[memory.Partition][]vectors.Row{}
	for _, v := range list {
		if e.Index.HasText(v.Partition, v.Key) && !s.has(v.TextRef) {
			rows[v.Partition] = append(rows[v.Partition], vectors.Row{Key: vectors.Key(v.Key), Bytes: v.bytes})
			loaded++
		}
	}
	for p, rows := range rows {
		err = errors.Join(err, s.store.Append(partitionName(p), rows))
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
