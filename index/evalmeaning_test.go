package index

import (
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var evalMost = flag.Int("most", 1<<30, "queries of each collection that TestEvalMeaning measures")

// TestEvalMeaning compares searches by words with those by words and meaning, as in
// the mode auto, and by meaning alone. The vectors are those of latent semantic
// analysis.
func TestEvalMeaning(t *testing.T) {
	if *evalDir == "" && *convDir == "" {
		t.Skip("no judged collections: give -eval DIR or -conversations DIR")
	}
	fmt.Printf("| %-13s | %9s | %6s | %6s | %6s | %7s |\n|-|--:|--:|--:|--:|--:|\n", "nDCG@10", "questions", "words", "hybrid",
		"change", "meaning")
	dirs, err := filepath.Glob(filepath.Join(*evalDir, "*", "queries.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	print := func(name string, n int, s [3]float64) {
		fmt.Printf("| %-13s | %9d | %.4f | %.4f | %+.4f | %7.4f |\n", name, n, s[0]/float64(n), s[1]/float64(n), (s[1]-s[0])/float64(n), s[2]/float64(n))
	}
	for _, q := range dirs {
		dir := filepath.Dir(q)
		x := openTest(t, filepath.Join(dir, "docs"))
		queries, judged := readCollection(t, dir)
		queries = queries[:min(len(queries), *evalMost)]
		v := newExactVectors(newLSA(x.docs), x.docs)
		var sums [3]float64
		for i, text := range queries {
			for k, res := range searchEach(t, x, v, Query{Text: text, Limit: 40, AsOf: x.now}) {
				sums[k] += ndcg(documentsOf(res), judged[i])
			}
		}
		print(filepath.Base(dir), len(queries), sums)
	}
	if *convDir == "" {
		return
	}
	var five, ten, first [3]float64
	n := 0
	for conv, queries := range conversations(t) {
		x := openTest(t, filepath.Join(*convDir, "by-conversation", conv))
		v := newExactVectors(newLSA(x.docs), x.docs)
		for _, q := range queries {
			asOf, _ := time.Parse(time.DateOnly, q.AsOf)
			for k, res := range searchEach(t, x, v, Query{Text: strings.ReplaceAll(q.Question, `"`, " "), Limit: 10, AsOf: asOf}) {
				a, b, c := q.recall(res)
				five[k], ten[k], first[k] = five[k]+a, ten[k]+b, first[k]+c
			}
			n++
		}
	}
	print("R@5", n, five)
	print("R@10", n, ten)
	print("MRR@10", n, first)
}

// searchEach returns the results by words, by words and meaning, and by meaning.
func searchEach(t *testing.T, x *testIndex, v *exactVectors, q Query) (results [3]Result) {
	t.Helper()
	for k := range results {
		if k == 1 && !WordsOnly(q.Text) || k == 2 {
			q.Nearest, q.MeaningOnly = v.query(q.Text), k == 2
		}
		res, err := x.Search(t.Context(), x.view, q)
		if err != nil {
			t.Fatal(err)
		}
		results[k] = res
	}
	return results
}
