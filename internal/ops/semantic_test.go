package ops

import (
	"cmp"
	"context"
	"errors"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/memwatchd/memwatchd/api"
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

func newTestVectors() *testVectors {
	return &testVectors{texts: map[memory.Partition]map[index.TextKey][]float32{}, lag: 5}
}

// update adds the texts of the present documents.
func (v *testVectors) update(docs map[string]*memory.Document) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.counts = map[memory.Partition][2]int{}
	seen := map[index.Text]bool{}
	for _, doc := range docs {
		for t := range index.Texts(doc) {
			if id := (index.Text{Partition: t.Partition, Key: t.Key}); seen[id] {
				continue
			} else {
				seen[id] = true
			}
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

// semanticCase is a memory in which no entry has the words of a query, and one in
// private has its trigrams.
const semanticCase = `
-- MEMORY.md --
- The catapults are in the catalogue of the castle. <!-- visibility=private_only -->
- The dog barks at the night train to the north.
- The night train has a restaurant for all dogs. <!-- visibility=public_ok -->
`

// TestSemanticModes checks the order and the reported state in each mode. Without a
// vector of the query, all modes answer as by words.
func TestSemanticModes(t *testing.T) {
	const query = "night train cataclysm"
	off, home, slow := &testVectors{}, &testVectors{home: true}, &testVectors{err: context.DeadlineExceeded}
	for name, tc := range map[string]struct {
		mode, query string
		vectors     *testVectors
		state       string // of the answer; empty for none
		first       int    // line of the first hit
		hits        int
	}{
		"off": {"auto", query, nil, "", 3, 2}, "off, hybrid": {"hybrid", query, nil, "off", 3, 2}, "off, semantic": {"semantic", query, nil, "off", 3, 2},
		"auto": {"auto", query, off, "used", 3, 3}, "hybrid": {"hybrid", query, off, "used", 3, 3},
		"semantic":              {"semantic", "catapult catalog castles", off, "used", 1, 3},
		"semantic, two words":   {"semantic", "catapult catalog", off, "used", 1, 3},
		"auto, two words":       {"auto", "night train", off, "exact", 3, 2},
		"hybrid, phrase":        {"hybrid", `"night train" to the north`, off, "exact", 2, 2},
		"relevance":             {"relevance", query, off, "", 3, 2},
		"overlap":               {"overlap", query, off, "", 2, 2},
		"private":               {"auto", query, home, "private", 3, 2},
		"private, semantic":     {"semantic", query, home, "private", 3, 2},
		"timeout":               {"auto", query, slow, "timeout", 3, 2},
		"error":                 {"hybrid", query, &testVectors{err: errors.New("connection refused")}, "error", 3, 2},
		"corrected and similar": {"auto", "nigt train cataclysm", off, "used", 3, 3},
	} {
		t.Run(name, func(t *testing.T) {
			g := openArchive(t, semanticCase)
			m := g.memory
			if tc.vectors != nil {
				tc.vectors.texts = map[memory.Partition]map[index.TextKey][]float32{}
				tc.vectors.update(g.docs)
				m.Vectors = tc.vectors
			}
			ask := func(mode string) *api.SearchAnswer {
				t.Helper()
				op := lookUp(t, "search")
				req := op.NewRequest() // with the defaults
				r := req.Value().(*api.SearchRequest)
				r.Query, r.Mode, r.Count = tc.query, mode, new(bool)
				answer, err := m.Do(t.Context(), owner, req)
				checkError(t, err)
				return answer.(*api.SearchAnswer)
			}
			answer, state := ask(tc.mode), ""
			if s := answer.Index.Semantic; s != nil {
				state = s.State
				if (s.Ready > 0) != (tc.vectors != nil) {
					t.Errorf("%d texts are ready", s.Ready)
				}
			}
			lines := convertEach(answer.Hits, func(h api.Hit) int { return h.Line })
			if state != tc.state || len(lines) != tc.hits || lines[0] != tc.first {
				t.Errorf("state %q, hits in the lines %v", state, lines)
			}
			if wantNote := state != "" && state != "used" && state != "exact" && tc.mode != "auto"; wantNote != (answer.Note != "") {
				t.Errorf("note %q", answer.Note)
			}
			if tc.vectors == home && len(home.queries) > 0 {
				t.Errorf("private queries left the machine: %q", home.queries)
			}
			if tc.state != "used" && tc.mode != "overlap" {
				for i, h := range ask("relevance").Hits {
					if h.ID != answer.Hits[i].ID || h.Score != answer.Hits[i].Score {
						t.Errorf("hit %d is %+v, by words %+v", i, answer.Hits[i], h)
					}
				}
			}
		})
	}
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
