package index

import (
	"flag"
	"fmt"
	"path/filepath"
	"testing"
	"time"
)

var evalMost = flag.Int("most", 1<<30, "queries of each collection that TestEvalMeaning measures")

// TestEvalMeaning compares searches by words with those by words and meaning, as in
// the mode auto, and by meaning alone. The vectors are those of latent semantic
// analysis.
func TestEvalMeaning(t *testing.T) {
	if *evalDir == "" {
		t.Skip("no judged collections: give -eval DIR")
	}
	fmt.Printf("| %-13s | %9s | %6s | %6s | %6s | %7s |\n|-|--:|--:|--:|--:|--:|\n", "nDCG@10", "questions", "words", "hybrid",
		"change", "meaning")
	dirs, err := filepath.Glob(filepath.Join(*evalDir, *evalSets))
	if err != nil {
		t.Fatal(err)
	}
	print := func(name string, n int, s [3]float64) {
		fmt.Printf("| %-13s | %9d | %.4f | %.4f | %+.4f | %7.4f |\n", name, n, s[0]/float64(n), s[1]/float64(n), (s[1]-s[0])/float64(n), s[2]/float64(n))
	}
	for _, dir := range dirs {
		var files, five [3]float64
		n := 0
		for _, set := range readSets(t, dir) {
			x := openTest(t, set.docs)
			v := newExactVectors(newLSA(x.docs), x.docs)
			for _, q := range set.questions[:min(len(set.questions), *evalMost)] {
				asOf, _ := time.Parse(time.DateOnly, q.AsOf)
				for k, res := range searchEach(t, x, v, Query{Text: q.Question, Limit: 40, AsOf: asOf}) {
					files[k] += ndcg(documentsOf(res), q.grades)
					if q.Gold != nil {
						r5, _, _ := q.recall(res)
						five[k] += r5
					}
				}
				n++
			}
		}
		print(filepath.Base(dir), n, files)
		if five[0] > 0 {
			print("R@5", n, five)
		}
	}
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
