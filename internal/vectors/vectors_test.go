package vectors

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
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

func keysFrom(first, n int) []Key {
	keys := make([]Key, n)
	for i := range keys {
		keys[i] = Key(first + i)
	}
	return keys
}

func openStore(t testing.TB, dir string, dimensions int) *Store {
	t.Helper()
	s, err := Open(dir, dimensions)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func mustAppend(t testing.TB, s *Store, partition string, first int, list [][]float32) {
	t.Helper()
	if err := s.Append(partition, rowsOf(keysFrom(first, len(list)), list)); err != nil {
		t.Fatal(err)
	}
}

func rowsOf(keys []Key, list [][]float32) []Row {
	rows := make([]Row, len(keys))
	for i, k := range keys {
		rows[i] = Row{k, Quantize(list[i])}
	}
	return rows
}

func acceptAll(Key) bool { return true }

// nearest returns the n nearest vectors by their exact cosines.
func nearest(list [][]float32, query []float32, n int) []Key {
	cosines := make([]float64, len(list))
	keys := keysFrom(0, len(list))
	for i, v := range list {
		for j, x := range v {
			cosines[i] += float64(x) * float64(query[j])
		}
	}
	slices.SortFunc(keys, func(a, b Key) int { return cmp.Compare(cosines[b], cosines[a]) })
	return keys[:n]
}

func recall(t testing.TB, s *Store, list, queries [][]float32, n int) float64 {
	found := 0
	for _, q := range queries {
		hits, err := s.Near(q, "a", n, acceptAll)
		if err != nil {
			t.Fatal(err)
		}
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
		s := openStore(t, t.TempDir(), dimensions)
		list := randomVectors(1, 3000, dimensions)
		mustAppend(t, s, "a", 0, list)
		mustAppend(t, s, "b", 0, randomVectors(2, 100, dimensions))
		want := 0.95
		if dimensions == 3 {
			want = 0.5 // eight patterns of bits, and few directions
		}
		if r := recall(t, s, list, randomVectors(1, 50, dimensions), 10); r < want {
			t.Errorf("%d dimensions: recall %.3f", dimensions, r)
		}
		hits, err := s.Near(list[17], "a", 5, acceptAll)
		if err != nil || len(hits) != 5 || hits[0].Key != 17 && dimensions > 3 || hits[0].Cosine < 0.99 || hits[0].Cosine > 1.01 {
			t.Errorf("%d dimensions: %v, %v", dimensions, hits, err)
		}
		if hits, err := s.Near(list[17], "c", 5, acceptAll); err != nil || len(hits) != 0 {
			t.Errorf("found in a partition without vectors: %v, %v", hits, err)
		}
	}
}

// TestRejectedKeys checks that vectors that accept rejects have no influence on
// a result, however many they are, and in which order they were added.
func TestRejectedKeys(t *testing.T) {
	const dimensions = 96
	list := randomVectors(3, 5000, dimensions)
	few := openStore(t, t.TempDir(), dimensions)
	many := openStore(t, t.TempDir(), dimensions)
	mustAppend(t, few, "a", 0, list[:1500])
	mustAppend(t, many, "a", 1500, list[1500:4000])
	for i := 1499; i >= 0; i-- { // in the reverse order, in some batches
		if i%100 == 0 {
			keys, vectors := keysFrom(i, 100), slices.Clone(list[i:i+100])
			slices.Reverse(keys)
			slices.Reverse(vectors)
			if err := many.Append("a", rowsOf(keys, vectors)); err != nil {
				t.Fatal(err)
			}
		}
	}
	mustAppend(t, many, "a", 4000, list[4000:])
	for _, q := range list[4000:4040] {
		want, err1 := few.Near(q, "a", 200, acceptAll)
		got, err2 := many.Near(q, "a", 200, func(k Key) bool { return k < 1500 })
		if diff := gocmp.Diff(want, got); diff != "" || err1 != nil || err2 != nil || len(got) != 200 {
			t.Fatalf("%v, %v: the vectors of rejected keys change the result:\n%s", err1, err2, diff)
		}
	}
}

// TestFewAccepted checks that a search that accepts few keys asks at most twice for
// each.
func TestFewAccepted(t *testing.T) {
	const dimensions = 64
	list := randomVectors(5, 20*rescored, dimensions)
	s := openStore(t, t.TempDir(), dimensions)
	mustAppend(t, s, "a", 0, list)
	calls := map[Key]int{}
	hits, err := s.Near(list[0], "a", 10, func(k Key) bool { calls[k]++; return k%1000 == 0 })
	if err != nil || len(hits) != 8 {
		t.Errorf("%d hits, %v", len(hits), err)
	}
	for k, n := range calls {
		if n > 2 {
			t.Fatalf("accept was called %d times for the key %d", n, k)
		}
	}
}

// TestReopen checks that vectors survive closing, that an equal key keeps its
// vector, and that the files are inaccessible to others.
func TestReopen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "vectors")
	s := openStore(t, dir, 64)
	list := randomVectors(1, 300, 64)
	mustAppend(t, s, "owner\x000", 0, list[:200])
	mustAppend(t, s, "owner\x001", 0, list[200:])
	mustAppend(t, s, "owner\x000", 100, list[:100]) // present
	before := maps.Collect(numbered(s))
	if n := s.Len(); n != 300 || len(before) != 300 {
		t.Errorf("%d vectors, %d rows", n, len(before))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Append("owner\x000", rowsOf(keysFrom(900, 1), list)); err == nil {
		t.Error("added to a closed store")
	}
	s = openStore(t, dir, 64)
	if diff := gocmp.Diff(before, maps.Collect(numbered(s))); diff != "" {
		t.Error(diff)
	}
	mustAppend(t, s, "owner\x000", 200, list[:1])
	if !s.Has("owner\x000", 200) || s.Has("owner\x001", 200) {
		t.Error("a vector is missing, or in another partition")
	}
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		info, _ := d.Info()
		if err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has the mode %v, %v", path, info.Mode(), err)
		}
		return nil
	})
}

// numbered yields the rows of a store by position.
func numbered(s *Store) func(func(string, Row) bool) {
	return func(yield func(string, Row) bool) {
		for _, p := range s.list() {
			for n := 0; ; n++ {
				row, valid, exists := p.row(n)
				if !exists {
					break
				}
				if valid && !yield(fmt.Sprintf("%q %d", p.name, n), row) {
					return
				}
			}
		}
	}
}

// TestTornTail checks that after a crash within an append at any byte of either
// file, the earlier vectors are present and the later ones can be added again.
func TestTornTail(t *testing.T) {
	const dimensions = 70
	list := randomVectors(1, 8, dimensions)
	origin := t.TempDir()
	s := openStore(t, origin, dimensions)
	mustAppend(t, s, "a", 0, list[:4])
	sizes := map[string]int64{}
	for _, ext := range []string{bitsExt, bytesExt} {
		info, err := os.Stat(filepath.Join(origin, fileName("a", 1)+ext))
		if err != nil {
			t.Fatal(err)
		}
		sizes[ext] = info.Size()
	}
	mustAppend(t, s, "a", 4, list[4:])
	want := maps.Collect(numbered(s))
	for _, ext := range []string{bitsExt, bytesExt} {
		for _, fill := range []string{"cut", "zeros"} {
			for cut := int64(0); cut < 120; cut += 7 {
				dir := t.TempDir()
				if err := os.CopyFS(dir, os.DirFS(origin)); err != nil {
					t.Fatal(err)
				}
				path := filepath.Join(dir, fileName("a", 1)+ext)
				info, err := os.Stat(path)
				if err == nil {
					err = os.Truncate(path, sizes[ext]+cut)
				}
				if err == nil && fill == "zeros" { // the size was on disk, the content was not
					err = os.Truncate(path, info.Size())
				}
				if err != nil {
					t.Fatal(err)
				}
				s := openStore(t, dir, dimensions)
				for k := range Key(4) {
					if !s.Has("a", k) {
						t.Fatalf("%s %s after %d bytes: vector %d is missing", ext, fill, cut, k)
					}
				}
				mustAppend(t, s, "a", 0, list)
				if diff := gocmp.Diff(want, maps.Collect(numbered(s))); diff != "" {
					t.Fatalf("%s %s after %d bytes:\n%s", ext, fill, cut, diff)
				}
			}
		}
	}
}

// TestRetain checks that removed vectors are in no file afterwards, and that a
// crash while files are rewritten loses nothing.
func TestRetain(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, 64)
	list := randomVectors(1, 5000, 64)
	mustAppend(t, s, "a", 0, list)
	mustAppend(t, s, "b", 0, list[:10])
	old := fileName("a", 1)
	saved := t.TempDir()
	if err := os.CopyFS(saved, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	odd := func(_ string, k Key) bool { return k%2 == 1 }
	for range 2 {
		if err := s.Retain(odd); err != nil {
			t.Fatal(err)
		}
	}
	mustAppend(t, s, "a", 6000, list[:1])
	for _, s := range []*Store{s, openStore(t, dir, 64)} {
		if n := s.Len(); n != 2506 || s.Has("a", 2) || !s.Has("a", 3) || s.Has("b", 2) || !s.Has("a", 6000) {
			t.Errorf("%d vectors remain", n)
		}
		if hits, err := s.Near(list[3], "a", 3, acceptAll); err != nil || hits[0].Key != 3 {
			t.Errorf("%v, %v", hits, err)
		}
	}
	if found, _ := filepath.Glob(filepath.Join(dir, old+"*")); found != nil {
		t.Errorf("%v remain", found)
	}
	if err := s.Retain(func(string, Key) bool { return false }); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, s, "a", 2, list[2:3])
	if n := openStore(t, dir, 64).Len(); n != 1 {
		t.Errorf("%d vectors", n)
	}

	next := filepath.Join(saved, fileName("a", 2))
	for _, ext := range []string{bytesExt, tempExt} {
		if err := os.WriteFile(next+ext, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if n := openStore(t, saved, 64).Len(); n != 5010 {
		t.Errorf("%d vectors after a crash", n)
	}
	if found, _ := filepath.Glob(next + "*"); found != nil {
		t.Errorf("%v remain", found)
	}
}

// TestDamage checks that a damaged vector is not found and can be added again,
// and that a file with a damaged beginning is removed.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, 64)
	list := randomVectors(1, 3000, 64)
	mustAppend(t, s, "a", 0, list)
	s.Close()
	p := &partition{name: "a", dimensions: 64}
	header := int64(len(p.header()))
	flip := func(ext string, at int64) {
		t.Helper()
		f, err := os.OpenFile(filepath.Join(dir, fileName("a", 1)+ext), os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		var b [1]byte
		f.ReadAt(b[:], at)
		b[0] ^= 0x40
		if _, err := f.WriteAt(b[:], at); err != nil {
			t.Fatal(err)
		}
	}
	flip(bitsExt, header+int64(5*p.bitsSize())+20)
	flip(bytesExt, header+6*64+3)
	s = openStore(t, dir, 64)
	if s.Has("a", 5) || !s.Has("a", 6) || !s.Has("a", 7) {
		t.Error("the damaged row counts, or others do not")
	}
	if hits, err := s.Near(list[6], "a", 3, acceptAll); err != nil || hits[0].Key == 6 {
		t.Errorf("%v, %v", hits, err)
	}
	mustAppend(t, s, "a", 5, list[5:6])
	if hits, err := s.Near(list[5], "a", 3, acceptAll); err != nil || hits[0].Key != 5 {
		t.Errorf("%v, %v", hits, err)
	}
	if err := s.Retain(func(string, Key) bool { return true }); err != nil {
		t.Error(err)
	}
	if s.Has("a", 6) || !s.Has("a", 5) {
		t.Error("a damaged row was kept")
	}
	s.Close()
	names, _ := filepath.Glob(filepath.Join(dir, "*"+bitsExt))
	if len(names) != 1 {
		t.Fatal(names)
	}
	if err := os.WriteFile(names[0], []byte("memvec1\n and nothing else"), 0o600); err != nil {
		t.Fatal(err)
	}
	if n := openStore(t, dir, 64).Len(); n != 0 {
		t.Errorf("%d vectors of a damaged file", n)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("%v remain", left)
	}

	s = openStore(t, dir, 64)
	mustAppend(t, s, "a", 0, list)
	s.Close()
	if err := os.Remove(filepath.Join(dir, fileName("a", 1)+bytesExt)); err != nil {
		t.Fatal(err)
	}
	s = openStore(t, dir, 64)
	mustAppend(t, s, "a", 0, list) // a missing file is replaced
	if !s.Has("a", 5) {
		t.Error("vectors were not added again")
	}
}

// TestRetainTruncated checks that a removal of vectors succeeds if another program
// truncates a file that is open, that no file is left then, and that vectors can be
// added again.
func TestRetainTruncated(t *testing.T) {
	for _, ext := range []string{bitsExt, bytesExt} {
		for name, keep := range map[string]func(Key) bool{"all": acceptAll, "even": func(k Key) bool { return k%2 == 0 }} {
			dir := t.TempDir()
			s := openStore(t, dir, 64)
			list := randomVectors(1, 300, 64)
			mustAppend(t, s, "a", 0, list)
			if err := os.Truncate(filepath.Join(dir, fileName("a", 1))+ext, 0); err != nil {
				t.Fatal(err)
			}
			for range numbered(s) {
				t.Errorf("%s %s: a row of a truncated file", ext, name)
			}
			if err := s.Retain(func(_ string, k Key) bool { return keep(k) }); err != nil {
				t.Errorf("%s %s: %v", ext, name, err)
			}
			if name == "all" && ext == bytesExt {
				continue // no row is removed
			}
			if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
				t.Errorf("%s %s: files %v are left, %v", ext, name, entries, err)
			}
			mustAppend(t, s, "a", 0, list)
			if n := s.Len(); n != 300 || !s.Has("a", 0) {
				t.Errorf("%s %s: %d vectors", ext, name, n)
			}
		}
	}
}

// TestTruncatedWhileOpen checks that a search of files that another program
// truncates is an error, and not the end of the process.
func TestTruncatedWhileOpen(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, 768)
	list := randomVectors(1, 500, 768)
	mustAppend(t, s, "a", 0, list)
	if err := os.Truncate(filepath.Join(dir, fileName("a", 1)+bitsExt), 100); err != nil {
		t.Fatal(err)
	}
	if hits, err := s.Near(list[0], "a", 3, acceptAll); err == nil {
		t.Errorf("found %v", hits)
	}
}

// FuzzOpen checks that Open accepts any content of files.
func FuzzOpen(f *testing.F) {
	dir := f.TempDir()
	s := openStore(f, dir, 65)
	mustAppend(f, s, "a", 0, randomVectors(1, 3, 65))
	path := filepath.Join(dir, fileName("a", 1))
	inBits, _ := os.ReadFile(path + bitsExt)
	inBytes, _ := os.ReadFile(path + bytesExt)
	f.Add(inBits, inBytes)
	f.Add(inBits[:len(inBits)-1], inBytes)
	f.Add(inBits, inBytes[:20])
	f.Fuzz(func(t *testing.T, inBits, inBytes []byte) {
		dir := t.TempDir()
		path := filepath.Join(dir, fileName("a", 1))
		if os.WriteFile(path+bitsExt, inBits, 0o600) != nil || os.WriteFile(path+bytesExt, inBytes, 0o600) != nil {
			t.Fatal("cannot write")
		}
		s, err := Open(dir, 65)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		query := randomVectors(2, 1, 65)
		if _, err := s.Near(query[0], "a", 10, acceptAll); err != nil {
			t.Fatal(err)
		}
		before := s.Len()
		if err := s.Append("a", rowsOf([]Key{1 << 60}, query)); err != nil {
			t.Fatal(err)
		}
		again, err := Open(dir, 65)
		if err != nil {
			t.Fatal(err)
		}
		defer again.Close()
		if n := again.Len(); n != before+1 && before > 0 || !again.Has("a", 1<<60) {
			t.Errorf("%d vectors, then %d", before, n)
		}
	})
}

// BenchmarkNear measures a search of 100,000 vectors with 768 dimensions, and
// reports the recall of the ten nearest, and the bytes of heap and disk.
func BenchmarkNear(b *testing.B) {
	const n, dimensions = 100_000, 768
	dir := b.TempDir()
	s := openStore(b, dir, dimensions)
	list := randomVectors(1, n, dimensions)
	for i := 0; i < n; i += 10_000 {
		mustAppend(b, s, "a", i, list[i:i+10_000])
	}
	s.Close()
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before, start := heap(), time.Now()
	s = openStore(b, dir, dimensions)
	opening := time.Since(start)
	used := heap() - before
	queries := randomVectors(1, 100, dimensions)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if _, err := s.Near(queries[i%len(queries)], "a", 200, acceptAll); err != nil {
			b.Fatal(err)
		}
		i++
	}
	b.ReportMetric(recall(b, s, list, queries[:30], 10), "recall@10")
	p := s.find("a")
	b.ReportMetric(float64(p.count*(p.bitsSize()+p.dimensions)), "disk-B")
	b.ReportMetric(float64(used), "heap-B")
	b.ReportMetric(float64(opening.Milliseconds()), "open-ms")
}
