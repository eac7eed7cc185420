package index

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestBestAreTheFirst compares pages of a search with the complete list of its
// hits, for which no candidate is skipped. It compares the order, the total,
// the places of equal text and the parts of scores.
func TestBestAreTheFirst(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r, quoted := rand.New(rand.NewPCG(seed, 8)), rand.New(rand.NewPCG(seed, 9))
			x := openFiles(t, randomTree(r, 40), nil)
			passed := 0
			for range 80 {
				view, q := randomView(t, r), randomQuery(r)
				q.Mode, q.Explain = []Mode{Relevance, Relevance, Relevance, Recent}[r.IntN(4)], true
				if words := strings.Fields(q.Text); quoted.IntN(3) == 0 {
					q.Text = fmt.Sprintf("%q %s", strings.Join(words[:min(2, len(words))], " "), q.Text)
				}
				q.Text += []string{"", "", " in January", " on 2026-02-03", " when did"}[quoted.IntN(5)]
				q.ByFile = quoted.IntN(2) == 0
				if quoted.IntN(3) == 0 {
					q.Weights = map[string]float64{"owner": 0.1 + 0.9*quoted.Float64(), "": 0.5}
				}
				q.Offset, q.Limit = 0, 100_000
				all := x.mustSearch(t, view, q)
				q.Offset, q.Limit = []int{0, 0, 2, 50}[r.IntN(4)], 1+r.IntN(4)
				page := x.mustSearch(t, view, q)
				want := all
				want.Hits = all.Hits[min(q.Offset, len(all.Hits)):min(q.Offset+q.Limit, len(all.Hits))]
				if diff := cmp.Diff(hitPaths(want), hitPaths(page)); diff != "" {
					t.Fatalf("%+v (-the list of all +the page):\n%s", q, diff)
				}
				for _, h := range page.Hits {
					if q.Mode == Relevance {
						wantSum(t, h)
					}
				}
				if more := q.Offset+q.Limit < len(all.Hits); more != (page.Next > 0) {
					t.Fatalf("%+v: next is %d, %d hits", q, page.Next, len(all.Hits))
				}
				wantFiles(t, q, all)
				if page.Total > q.Offset+q.Limit+40 {
					passed++
				}
			}
			if passed == 0 {
				t.Fatal("no query found so much that some was passed over: the test shows nothing")
			}
		})
	}
}

// TestWeights checks that the weight of a partition is a factor of its scores.
func TestWeights(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 8))
	x := openFiles(t, randomTree(r, 40), nil)
	weighed := 0
	for range 60 {
		view, q := randomView(t, r), randomQuery(r)
		q.Mode, q.Explain, q.Limit = []Mode{Relevance, Overlap}[r.IntN(2)], true, 100_000
		plain := x.mustSearch(t, view, q)
		q.Weights = map[string]float64{"owner": 0.5, "acct:42": 0.25}
		got := x.mustSearch(t, view, q)
		if got.Total != plain.Total || got.Files != plain.Files {
			t.Errorf("%+v: %d entries instead of %d", q, got.Total, plain.Total)
		}
		refOf := func(h Hit) Ref { return Ref{h.Doc.Place.Path, h.Entry.ID, h.Entry.Line} }
		scores := map[Ref]float64{}
		for _, h := range plain.Hits {
			scores[refOf(h)] = h.Score - h.Why.Superseded
		}
		for _, h := range got.Hits {
			before, ok := scores[refOf(h)] // of equal entries, another one may be the first
			weight, changes := q.Weights[h.Doc.Partition.Owner]
			if !changes {
				weight = 1
			}
			if want, is := before*weight, h.Score-h.Why.Superseded; ok && math.Abs(want-is) > 1e-5*(1+math.Abs(want)) {
				t.Errorf("%+v: %v has the score %v, want %v", q, refOf(h), is, want)
			}
			if ok && changes {
				weighed++
			}
		}
	}
	if weighed == 0 {
		t.Error("no entry has a weight")
	}
}

// hitPaths returns the hits of a result and its total.
func hitPaths(r Result) (list []string) {
	for _, h := range r.Hits {
		list = append(list, fmt.Sprint(h.Doc.Place.Path, h.Entry.Line, h.Score, h.AlsoAt, h.More, h.Successor))
	}
	return append(list, fmt.Sprint(r.Total, r.Files))
}

// wantFiles checks the hits of a query that has all hits on one page: grouped by
// file, each file has one hit, and the numbers of its other entries add up.
func wantFiles(t *testing.T, q Query, all Result) {
	t.Helper()
	seen := make(map[string]bool)
	entries := 0
	for _, h := range all.Hits {
		if q.ByFile && seen[h.Doc.Place.Path] {
			t.Errorf("%+v: two hits of %s", q, h.Doc.Place.Path)
		}
		seen[h.Doc.Place.Path] = true
		entries += 1 + h.More
	}
	if len(seen) > all.Files || q.ByFile && entries > all.Total || len(all.Hits) > 0 && all.Next != 0 {
		t.Errorf("%+v: %d files of %d, %d entries of %d, next %d", q, len(seen), all.Files, entries, all.Total, all.Next)
	}
}

// wantSum checks that a score is the sum of its parts.
func wantSum(t *testing.T, h Hit) {
	t.Helper()
	near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-5*(1+math.Abs(b)) } // the own score of an entry is a 32-bit sum
	if sum := h.Why.Own + h.Why.Near + h.Why.File + h.Why.Date + h.Why.Recency + h.Why.Superseded; !near(sum, h.Score) {
		t.Errorf("the parts of %v sum to %v: %+v", h.Score, sum, h.Why)
	}
	sum := 0.0
	for _, term := range h.Why.Terms {
		sum += term.Score
	}
	if !near(sum, h.Why.Own) || slices.ContainsFunc(h.Why.Terms, func(s TermScore) bool { return s.Score <= 0 }) {
		t.Errorf("the terms of %v sum to %v: %+v", h.Why.Own, sum, h.Why.Terms)
	}
}
