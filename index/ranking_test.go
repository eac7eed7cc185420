package index

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/internal/fakes/golden"
)

// TestRanking compares the ranking with golden files: the rank of the answer to
// each query, and recall@1, recall@5 and the mean reciprocal rank over all
// queries. Each change of the ranking changes these files.
func TestRanking(t *testing.T) {
	golden.Run(t, "ranking", func(t *testing.T, a *txtar.Archive) *txtar.Archive {
		files := map[string]string{}
		for _, f := range a.Files[:len(a.Files)-1] { // the last one is the result
			files[f.Name] = string(f.Data)
		}
		queries := files["queries"]
		delete(files, "queries")
		a.Files[len(a.Files)-1].Data = []byte(rankAll(t, openFiles(t, files, nil), queries))
		return a
	})
}

func rankAll(t *testing.T, x *testIndex, queries string) string {
	t.Helper()
	var b strings.Builder
	var at1, at5, mrr float64
	n := 0
	for line := range strings.Lines(queries) {
		query, answer, ok := strings.Cut(strings.TrimSpace(line), " | ")
		if !ok {
			t.Fatalf("no answer in %q", line)
		}
		res := x.mustSearch(t, x.view, Query{Text: query, Limit: 20, AsOf: time.Date(2026, 2, 6, 12, 0, 0, 0, time.UTC)})
		rank := 0
		for i, h := range res.Hits {
			if strings.Contains(h.Entry.Text, answer) {
				rank = i + 1
				break
			}
		}
		if rank == 1 {
			at1++
		}
		if rank >= 1 && rank <= 5 {
			at5++
		}
		if rank > 0 {
			mrr += 1 / float64(rank)
			fmt.Fprintf(&b, "%2d  %s\n", rank, query)
		} else {
			fmt.Fprintf(&b, " -  %s\n", query)
		}
		n++
	}
	return fmt.Sprintf("recall@1 %.3f  recall@5 %.3f  MRR %.3f\n\n%s", at1/float64(n), at5/float64(n), mrr/float64(n), &b)
}
