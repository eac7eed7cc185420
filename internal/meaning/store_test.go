package meaning

import (
	"cmp"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/memory"
)

// randomVectors returns n vectors of length 1 around some centers, as those of
// texts with some subjects.
func randomVectors(seed uint64, n, dimensions int) [][]float32 {
	r := rand.New(rand.NewPCG(seed, 1))
	centers := make([][]float64, max(n/50, 1))
	for i := range centers {
		centers[i] = make([]float64, dimensions)
		for j := range centers[i] {
			centers[i][j] = r.NormFloat64()
		}
	}
	list := make([][]float32, n)
	for i := range list {
		v, sum := make([]float64, dimensions), 0.0
		for j, x := range centers[r.IntN(len(centers))] {
			v[j] = x + r.NormFloat64()
			sum += v[j] * v[j]
		}
		list[i] = make([]float32, dimensions)
		for j, x := range v {
			list[i][j] = float32(x / math.Sqrt(sum))
		}
	}
	return list
}

func keysFrom(first, n int) []index.TextKey {
	keys := make([]index.TextKey, n)
	for i := range keys {
		keys[i] = index.TextKey(first + i)
	}
	return keys
}

// newPartition returns a partition with vectors whose keys begin with 1.
func newPartition(t testing.TB, list [][]float32) *partitionFile {
	p := &partitionFile{path: filepath.Join(t.TempDir(), "a.vec"), of: memory.Partition{Owner: "a"},
		dimensions: len(list[0]), rows: map[index.TextKey]bool{}}
	mustAppend(t, p, 1, list)
	return p
}

func mustAppend(t testing.TB, p *partitionFile, first int, list [][]float32) {
	t.Helper()
	must(t, p.append(keysFrom(first, len(list)), list))
	t.Cleanup(p.close)
}

func reopen(t testing.TB, p *partitionFile) *partitionFile {
	t.Helper()
	again, err := openPartition(p.path, p.dimensions)
	must(t, err)
	t.Cleanup(again.close)
	if again.of != p.of {
		t.Errorf("partition %v instead of %v", again.of, p.of)
	}
	return again
}

func acceptAll(index.TextKey) bool { return true }

// nearest returns the n nearest vectors by their exact cosines.
func nearest(list [][]float32, query []float32, n int) []index.TextKey {
	cosines := make([]float64, len(list))
	keys := keysFrom(1, len(list))
	for i, v := range list {
		for j, x := range v {
			cosines[i] += float64(x) * float64(query[j])
		}
	}
	slices.SortFunc(keys, func(a, b index.TextKey) int { return cmp.Compare(cosines[b-1], cosines[a-1]) })
	return keys[:n]
}

func recall(t testing.TB, p *partitionFile, list, queries [][]float32, n int) float64 {
	found := 0
	for _, q := range queries {
		hits, err := p.near(q, n, acceptAll)
		must(t, err)
		want := nearest(list, q, n)
		for _, h := range hits {
			if slices.Contains(want, h.Key) {
				found++
			}
		}
	}
	return float64(found) / float64(n*len(queries))
}

// TestNear checks results against an exact search.
func TestNear(t *testing.T) {
	for _, dimensions := range []int{3, 64, 100, 256} {
		list := randomVectors(1, 3000, dimensions)
		p := newPartition(t, list)
		want := 0.95
		if dimensions == 3 {
			want = 0.5 // eight patterns of bits, and few directions
		}
		if r := recall(t, p, list, randomVectors(1, 50, dimensions), 10); r < want {
			t.Errorf("%d dimensions: recall %.3f", dimensions, r)
		}
		hits, err := p.near(list[17], 5, acceptAll)
		if err != nil || len(hits) != 5 || hits[0].Key != 18 && dimensions > 3 || hits[0].Cosine < 0.99 || hits[0].Cosine > 1.01 {
			t.Errorf("%d dimensions: %v, %v", dimensions, hits, err)
		}
	}
}

// TestRejectedKeys checks that vectors that accept rejects have no influence on
// a result, however many they are, and in which order they were added.
func TestRejectedKeys(t *testing.T) {
	list := randomVectors(3, 5000, 96)
	few := newPartition(t, list[:1500])
	many := newPartition(t, list[1400:1500])
	many.drop()
	mustAppend(t, many, 1501, list[1500:4000])
	for i := 1400; i >= 0; i -= 100 { // in the reverse order, in some batches
		keys, vectors := keysFrom(i+1, 100), slices.Clone(list[i:i+100])
		slices.Reverse(keys)
		slices.Reverse(vectors)
		must(t, many.append(keys, vectors))
	}
	mustAppend(t, many, 4001, list[4000:])
	for _, q := range list[4000:4040] {
		want, err1 := few.near(q, 200, acceptAll)
		calls := map[index.TextKey]int{}
		got, err2 := many.near(q, 200, func(k index.TextKey) bool { calls[k]++; return k <= 1500 })
		if diff := gocmp.Diff(want, got); diff != "" || err1 != nil || err2 != nil || len(got) != 200 {
			t.Fatalf("%v, %v: the vectors of rejected keys change the result:\n%s", err1, err2, diff)
		}
		for key, n := range calls {
			if n > 1 {
				t.Fatalf("accept was called %d times for the key %d", n, key)
			}
		}
	}
}

// TestTornTail checks that after a crash within an append at any byte, the earlier
// vectors are present and the later ones can be added again.
func TestTornTail(t *testing.T) {
	const dimensions = 70
	list := randomVectors(1, 8, dimensions)
	p := newPartition(t, list)
	end := p.offset(4)
	origin, err := os.ReadFile(p.path)
	must(t, err)
	for _, fill := range []string{"cut", "zeros"} {
		for cut := end; cut < int64(len(origin)); cut += 7 {
			text := slices.Clone(origin[:cut])
			if fill == "zeros" { // the size was on disk, the content was not
				text = append(text, make([]byte, int64(len(origin))-cut)...)
			}
			must(t, os.WriteFile(p.path, text, 0o600))
			again := reopen(t, p)
			for _, key := range keysFrom(1, 4) {
				if !again.has(key) {
					t.Fatalf("%s after %d bytes: vector %d is missing", fill, cut, key)
				}
			}
			mustAppend(t, again, 1, list)
			for _, p := range []*partitionFile{again, reopen(t, again)} {
				for i, v := range list {
					if hits, err := p.near(v, 1, acceptAll); err != nil || hits[0].Key != index.TextKey(i+1) || p.len() != 8 {
						t.Fatalf("%s after %d bytes: %v, %v", fill, cut, hits, err)
					}
				}
			}
		}
	}
}

// TestRetain checks that removed vectors are in no file afterwards, and that others
// can be added.
func TestRetain(t *testing.T) {
	list := randomVectors(1, 5000, 64)
	p := newPartition(t, list)
	for range 2 {
		must(t, p.retain(func(key index.TextKey) bool { return key%2 == 1 }))
	}
	mustAppend(t, p, 6000, list[:1])
	for _, p := range []*partitionFile{p, reopen(t, p)} {
		if n := p.len(); n != 2501 || p.has(2) || !p.has(3) || !p.has(6000) {
			t.Errorf("%d vectors remain", n)
		}
		if hits, err := p.near(list[2], 3, acceptAll); err != nil || hits[0].Key != 3 {
			t.Errorf("%v, %v", hits, err)
		}
	}
	info, err := os.Stat(p.path)
	if err != nil || info.Size() != p.offset(2501) || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	must(t, p.retain(func(index.TextKey) bool { return false }))
	if info, err := os.Stat(p.path); err != nil || info.Size() != p.offset(0) {
		t.Errorf("%v, %v", info, err)
	}
	mustAppend(t, p, 2, list[2:3])
	if n := reopen(t, p).len(); n != 1 {
		t.Errorf("%d vectors", n)
	}
}

// TestDamage checks that the vectors from the first damaged one can be added again, that a
// damaged beginning is an error, and that a file which another program truncates is one
// for a search.
func TestDamage(t *testing.T) {
	list := randomVectors(1, 300, 64)
	p := newPartition(t, list)
	flip := func(at int64) {
		t.Helper()
		text, err := os.ReadFile(p.path)
		must(t, err)
		text[at] ^= 0x40
		must(t, os.WriteFile(p.path, text, 0o600))
	}
	flip(p.offset(250) + 20)
	p = reopen(t, p)
	if p.len() != 250 || !p.has(250) {
		t.Errorf("%d vectors before the damaged one", p.len())
	}
	mustAppend(t, p, 1, list)
	if hits, err := p.near(list[270], 3, acceptAll); err != nil || hits[0].Key != 271 {
		t.Errorf("%v, %v", hits, err)
	}
	for _, at := range []int64{0, 9, 13, 17} {
		flip(at)
		if _, err := openPartition(p.path, 64); !errors.Is(err, errDamaged) {
			t.Errorf("damaged at %d: %v", at, err)
		}
		flip(at)
	}
	if _, err := openPartition(p.path, 65); !errors.Is(err, errDamaged) {
		t.Errorf("with other dimensions: %v", err)
	}
	must(t, os.Truncate(p.path, 100))
	if hits, err := p.near(list[0], 3, acceptAll); err == nil {
		t.Errorf("found %v", hits)
	}
	if err := p.retain(func(key index.TextKey) bool { return key > 1 }); err != nil || p.len() != 0 {
		t.Errorf("%d vectors, %v", p.len(), err)
	}
}
