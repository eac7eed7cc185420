package index

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/internal/vectors"
	"github.com/memwatchd/memwatchd/memory"
)

// BenchmarkHybrid measures how much longer a search by words and meaning takes than
// one by words, with vectors of 768 dimensions and an endpoint that answers at once.
func BenchmarkHybrid(b *testing.B) {
	const dimensions, clusters = 768, 500
	r := rand.New(rand.NewPCG(1, 2))
	random := func(v []float32, share float32) []float32 {
		w := make([]float32, dimensions)
		for i := range w {
			w[i] = share * float32(r.NormFloat64())
			if v != nil {
				w[i] += v[i]
			}
		}
		return normalize(w)
	}
	centers := make([][]float32, clusters)
	for i := range centers {
		centers[i] = random(nil, 1)
	}
	store, err := vectors.Open(b.TempDir(), dimensions)
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	names := make(map[memory.Partition]string)
	rows := make(map[string][]vectors.Row)
	flush := func(name string) {
		if err := store.Append(name, rows[name]); err != nil {
			b.Fatal(err)
		}
		rows[name] = nil
	}
	x := openBench(b, func(t Text) {
		name := fmt.Sprintf("%s %d", t.Partition.Owner, t.Partition.Visibility)
		names[t.Partition] = name
		v := random(centers[r.IntN(clusters)], 0.03)
		rows[name] = append(rows[name], vectors.Row{Key: vectors.Key(t.Key), Bytes: vectors.Quantize(v)})
		if len(rows[name]) == 2000 {
			flush(name)
		}
	})
	for name := range rows {
		flush(name)
	}
	b.Logf("%d vectors", store.Len())
	nearest := func() Nearest {
		q := random(centers[r.IntN(clusters)], 0.03)
		return func(p memory.Partition, limit int, accept func(TextKey) bool) (similar []Similar) {
			hits, err := store.Near(q, names[p], limit, func(k vectors.Key) bool { return accept(TextKey(k)) })
			if err != nil {
				b.Fatal(err)
			}
			for _, h := range hits {
				similar = append(similar, Similar{TextKey(h.Key), h.Cosine})
			}
			return similar
		}
	}
	now, view := time.Now(), ownerView(b)
	for _, n := range []int{3, 8} {
		b.Run(fmt.Sprintf("%dwords", n), func(b *testing.B) {
			g := newGenerator(3)
			var took [2][]time.Duration
			for b.Loop() {
				q := Query{Text: g.query(n), Limit: 10, AsOf: now}
				for k := range took {
					if k == 1 {
						q.Nearest = nearest()
					}
					start := time.Now()
					if _, err := x.Search(b.Context(), view, q); err != nil {
						b.Fatal(err)
					}
					took[k] = append(took[k], time.Since(start))
				}
			}
			for k, name := range []string{"words", "hybrid"} {
				slices.Sort(took[k])
				b.ReportMetric(took[k][len(took[k])/2].Seconds()*1e3, "p50ms/"+name)
				b.ReportMetric(took[k][len(took[k])*99/100].Seconds()*1e3, "p99ms/"+name)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}
