package index

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "write the golden files")

// TestRanking compares the ranking with golden files: the rank of the answer to
// each query, and recall@1, recall@5 and the mean reciprocal rank over all
// queries. Each change of the ranking changes these files.
func TestRanking(t *testing.T) {
	names, err := filepath.Glob("testdata/ranking/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(name)
			must(t, err)
			files := map[string]string{}
			var queries, want string
			kept := a.Files[:0:0]
			for _, f := range a.Files {
				switch f.Name {
				case "queries":
					queries = string(f.Data)
				case "want":
					want = string(f.Data)
					continue
				default:
					files[f.Name] = string(f.Data)
				}
				kept = append(kept, f)
			}
			got := rankAll(t, openFiles(t, files, nil), queries)
			if *update {
				a.Files = append(kept, txtar.File{Name: "want", Data: []byte(got)})
				must(t, os.WriteFile(name, txtar.Format(a), 0o644))
				return
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the ranking has changed (-want +got); if that is meant, run with -update:\n%s", diff)
			}
		})
	}
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
