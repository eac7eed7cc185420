package daemon

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/embed"
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vectors"
)

// A vectorCopier implements [ops.VectorCopier].
type vectorCopier struct{ *embed.Embedder }

// dumpPage bounds the vectors of a page, in bytes.
const dumpPage = 512 << 10

// DumpVectors implements [ops.VectorCopier]. A cursor is a row and a partition.
func (c vectorCopier) DumpVectors(cursor string) (*api.EmbedDumpAnswer, error) {
	var from vectors.Position
	if cursor != "" {
		row, partition, ok := strings.Cut(cursor, " ")
		n, err := strconv.Atoi(row)
		if !ok || err != nil || n < 0 {
			return nil, api.Errorf(api.Invalid, "cursor: %q is not the next field of an answer", cursor)
		}
		from = vectors.Position{Partition: partition, Row: n}
	}
	limit := dumpPage / max(c.Status().Dimensions, 1)
	m, probe, list, next, err := c.Dump(from, max(limit, 1))
	if errors.Is(err, embed.ErrNoVectors) {
		return nil, api.Errorf(api.Unavailable, "%v", err).WithHint("run `memwatchd embed status`")
	}
	if err != nil {
		return nil, err
	}
	answer := &api.EmbedDumpAnswer{Vectors: make([]api.EmbedVector, len(list)),
		Space: api.EmbedSpace{Model: m.Name, Dimensions: m.Dimensions, TextPrefix: m.TextPrefix, Probe: probe}}
	for i, v := range list {
		answer.Vectors[i] = vectorLine(v)
	}
	if next != (vectors.Position{}) {
		answer.Next = strconv.Itoa(next.Row) + " " + next.Partition
	}
	return answer, nil
}

// vectorLine returns a vector in the form of a line. The bytes of a key are the
// first ones of the SHA-256 of its text.
func vectorLine(v embed.Vector) api.EmbedVector {
	line := api.EmbedVector{Owner: v.Partition.Owner, Visibility: v.Partition.Visibility.String(),
		Excerpt: v.Partition.Excerpt, Key: binary.LittleEndian.AppendUint64(nil, uint64(v.Key)),
		Vector: make([]byte, len(v.Bytes))}
	for i, x := range v.Bytes {
		line.Vector[i] = byte(x)
	}
	return line
}

// LoadVectors implements [ops.VectorCopier].
func (c vectorCopier) LoadVectors(lines string) (*api.EmbedLoadAnswer, error) {
	first, rest, _ := strings.Cut(lines, "\n")
	var space api.EmbedSpace
	if err := json.Unmarshal([]byte(first), &space); err != nil || len(space.Probe) == 0 {
		return nil, api.Errorf(api.Invalid, "lines: the first line is not the space of vectors").
			WithHint("use a file that `memwatchd embed dump` wrote")
	}
	var list []embed.Vector
	number := 1
	for line := range strings.Lines(rest) {
		number++
		var in api.EmbedVector
		err := json.Unmarshal([]byte(line), &in)
		visibility := memory.PrivateOnly
		if in.Visibility == memory.PublicOK.String() {
			visibility = memory.PublicOK
		}
		if err != nil || len(in.Key) != 8 || len(in.Vector) != len(space.Probe) ||
			visibility.String() != in.Visibility {
			return nil, api.Errorf(api.Invalid, "lines: line %d is not a vector of %d dimensions", number,
				len(space.Probe))
		}
		v := embed.Vector{Bytes: make([]int8, len(in.Vector)), TextRef: index.TextRef{
			Partition: memory.Partition{Owner: in.Owner, Visibility: visibility, Excerpt: in.Excerpt},
			Key:       index.TextKey(binary.LittleEndian.Uint64(in.Key)),
		}}
		for i, x := range in.Vector {
			v.Bytes[i] = int8(x)
		}
		list = append(list, v)
	}
	m := embed.Model{Name: space.Model, Dimensions: space.Dimensions, TextPrefix: space.TextPrefix}
	n, err := c.Add(m, space.Probe, list)
	if err != nil {
		return nil, api.Errorf(api.Invalid, "lines: %v", err)
	}
	return &api.EmbedLoadAnswer{Loaded: n, Ignored: len(list) - n}, nil
}
