package ops

import (
	"cmp"
	"context"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/memory"
)

// testVectors compares vectors of hashed trigrams. It keeps vectors of text that no
// longer exists, as a store does until it is compacted.
type testVectors struct {
	mu      sync.Mutex
	texts   map[memory.Partition]map[index.TextKey][]float32
	counts  map[memory.Partition][2]int // ready and pending
	queries []string
	lag     uint64 // texts whose keys are multiples of it wait; none do if it is zero
	home    bool   // private queries are not sent
	err     error  // of all queries
}

// update adds the texts of the present documents.
func (v *testVectors) update(docs map[string]*memory.Document) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.texts == nil {
		v.texts = map[memory.Partition]map[index.TextKey][]float32{}
	}
	v.counts = map[memory.Partition][2]int{}
	seen := map[index.TextRef]bool{}
	for _, doc := range docs {
		for t := range index.Texts(doc) {
			if seen[t.TextRef] {
				continue
			}
			seen[t.TextRef] = true
			n := v.counts[t.Partition]
			if v.lag > 0 && uint64(t.Key)%v.lag == 0 {
				n[1]++
			} else {
				n[0]++
				if v.texts[t.Partition] == nil {
					v.texts[t.Partition] = map[index.TextKey][]float32{}
				}
				v.texts[t.Partition][t.Key] = embedTrigrams(t.Text)
			}
			v.counts[t.Partition] = n
		}
	}
}

// Query implements [index.Vectors].
func (v *testVectors) Query(_ context.Context, text string, private bool) (index.Nearest, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if private && v.home {
		return nil, index.ErrPrivateQuery
	}
	v.queries = append(v.queries, text)
	q := embedTrigrams(text)
	return func(p memory.Partition, limit int, accept func(index.TextKey) bool) (list []index.Similar) {
		v.mu.Lock()
		defer v.mu.Unlock()
		for key, vector := range v.texts[p] {
			if accept(key) {
				dot := float32(0)
				for i := range q {
					dot += q[i] * vector[i]
				}
				list = append(list, index.Similar{Key: key, Cosine: dot})
			}
		}
		slices.SortFunc(list, func(a, b index.Similar) int {
			return cmp.Or(cmp.Compare(b.Cosine, a.Cosine), cmp.Compare(a.Key, b.Key))
		})
		return list[:min(limit, len(list))]
	}, v.err
}

// Count implements [index.Vectors].
func (v *testVectors) Count(p memory.Partition) (ready, pending int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.counts[p][0], v.counts[p][1]
}

// embedTrigrams returns a vector of hashed character trigrams.
func embedTrigrams(text string) []float32 {
	vector, sum := make([]float32, 64), 0.0
	runes := []rune(" " + strings.ToLower(text) + " ")
	for i := range len(runes) - 2 {
		h := fnv.New32a()
		h.Write([]byte(string(runes[i : i+3])))
		vector[h.Sum32()%64]++
	}
	for _, x := range vector {
		sum += float64(x * x)
	}
	for i := range vector {
		vector[i] /= float32(math.Sqrt(max(sum, 1)))
	}
	return vector
}

// TestSemanticCredential checks that no part of a credential in a query is sent, even
// if the text of the query ends within it.
func TestSemanticCredential(t *testing.T) {
	credential := "ghp_" + strings.Repeat("aB3dE6gH9", 4)
	for _, n := range []int{0, maxQueryText - 30, maxQueryText - 10, maxQueryText} {
		vectors := &testVectors{}
		q := &index.Query{Text: "night train cataclysm " + strings.Repeat("x", max(n-23, 0)) + " " + credential}
		s := readOps{Reading: &Reading{Vectors: vectors}}.useMeaning(t.Context(), Call{}, q, "auto")
		if s.State != "private" || len(vectors.queries) > 0 || q.Nearest != nil {
			t.Errorf("%d characters before a credential: %s, sent %q", n, s.State, vectors.queries)
		}
	}
}
