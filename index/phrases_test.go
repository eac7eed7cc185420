package index

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// TestLongPhrases checks that a phrase of common words reads no more files than the page
// needs, and that a phrase in few of the files with its words is found.
func TestLongPhrases(t *testing.T) {
	s := &mapSource{text: map[string]string{}}
	for n := range 900 {
		s.text[fmt.Sprintf("often/%04d.md", n)] = fmt.Sprintf("- alpha beta %d\n- beta alpha %d\n", n, n)
		s.text[fmt.Sprintf("seldom/%04d.md", n)] = fmt.Sprintf("- delta and %d gamma\n", n)
	}
	s.text["seldom/last.md"] = "- " + strings.Repeat("other words ", 50) + "gamma delta\n"
	x := s.complete(t)
	read := map[string]bool{}
	var mu sync.Mutex
	s.hold = func(path string) {
		mu.Lock()
		defer mu.Unlock()
		read[path] = true
	}
	for _, c := range []struct {
		q     Query
		files int // the most that are read
		hits  int
		note  bool
	}{
		{Query{Text: `"alpha beta"`, Limit: 10}, enoughPhrases + 30, 10, true},
		{Query{Text: `"alpha beta"`, Limit: 10, Exact: true}, enoughPhrases + 30, 10, true},
		{Query{Text: `"alpha beta"`, Limit: 10, Offset: 400, Exact: true}, 900, 10, false},
		{Query{Text: `"alpha beta"`, Limit: 900, Exact: true}, 900, 900, false},
		{Query{Text: `"gamma delta"`, Limit: 10, Exact: true}, 901, 1, false},
		{Query{Text: `"beta alpha" gamma`, Limit: 10, ByFile: true, Exact: true}, enoughPhrases + 30, 10, true},
	} {
		clear(read)
		res := x.mustSearch(t, ownerView(t), c.q)
		if len(res.Hits) != c.hits || len(read) > c.files || (res.Note != "") != c.note {
			t.Errorf("%+v: %d hits of %d, %d files read, note %q", c.q, len(res.Hits), res.Total, len(read), res.Note)
		}
	}
}

func BenchmarkPhrase(b *testing.B) {
	s := &mapSource{text: map[string]string{}}
	for n := range 4000 {
		var text strings.Builder
		for i := range 20 {
			fmt.Fprintf(&text, "- alpha beta and some other words of entry %d of file %d\n", i, n)
		}
		s.text[fmt.Sprintf("%04d.md", n)] = text.String()
	}
	x := s.complete(b)
	for _, text := range []string{`"alpha beta"`, `"beta alpha"`} {
		b.Run(text, func(b *testing.B) {
			before := cpu(b)
			for b.Loop() {
				if _, err := x.Search(b.Context(), ownerView(b), Query{Text: text, Limit: 10}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric((cpu(b)-before).Seconds()*1000/float64(b.N), "cpu-ms/op")
		})
	}
}
