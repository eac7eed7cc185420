package index

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestRank checks that documents outside an index have the hits, scores and order
// that an index of these documents gives them.
func TestRank(t *testing.T) {
	seeds := uint64(4)
	if testing.Short() {
		seeds = 1
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 11))
		x := openFiles(t, randomTree(r, 15), nil)
		other := newFiles(t, map[string]string{"other.md": "- something else\n"})
		docs := x.documents()
		found := 0
		for range 40 {
			view, q := randomView(t, r), randomQuery(r)
			q.Mode, q.Limit, q.Explain = Mode(r.IntN(3)), 1+r.IntN(20), true
			want := x.mustSearch(t, view, q)
			got, err := other.Rank(t.Context(), view, q, docs)
			must(t, err)
			found += len(want.Hits)
			if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-9), cmpopts.IgnoreFields(Hit{}, "Doc", "Entry")); diff != "" {
				t.Fatalf("query %+v (-indexed +ranked):\n%s", q, diff)
			}
		}
		if found == 0 {
			t.Error("no query has hits")
		}
	}
}

// TestTermsOfQueries checks that the terms of a query are among those of a text
// with its words.
func TestTermsOfQueries(t *testing.T) {
	x := newFiles(t, map[string]string{"a.md": "- text\n"})
	for text, query := range map[string]string{
		"The blue bikes were running":    "bike run",
		"蓝色的自行车":                         "自行车",
		"call useReducer in app_main.go": "useReducer app_main.go",
		"Cafés in Zürich":                "cafe zurich",
	} {
		terms := strings.Fields(x.Terms(text))
		for _, mode := range []Mode{Relevance, Overlap} {
			of := strings.Fields(x.QueryTerms(Query{Text: query, Mode: mode}))
			hits := 0
			for _, term := range of {
				for _, have := range terms {
					if term == have {
						hits++
						break
					}
				}
			}
			if len(of) == 0 || mode == Overlap && hits != len(of) || hits == 0 {
				t.Errorf("%v: %q has the terms %q, the query %q", mode, text, terms, of)
			}
		}
	}
}
