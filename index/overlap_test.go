package index

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/internal/fakes/golden"
	"github.com/memwatchd/memwatchd/memory"
)

// TestOverlapIsExact compares the overlap ranking with its definition, computed
// over every readable entry, on random trees, views, queries and filters.
func TestOverlapIsExact(t *testing.T) {
	var folded atomic.Int64
	t.Cleanup(func() {
		if folded.Load() == 0 {
			t.Error("no text was found twice: the test shows nothing of that")
		}
	})
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 7))
			x := openFiles(t, randomTree(r, 25), nil)
			docs := x.documents()
			found := 0
			for range 60 {
				view := randomView(t, r)
				q := randomQuery(r)
				q.Limit = 1 + r.IntN(30)
				res := x.mustSearch(t, view, q)
				want := bruteOverlap(docs, view, q)
				found += len(want)
				if res.Total != len(want) {
					t.Fatalf("total %d, want %d for %+v", res.Total, len(want), q)
				}
				page := foldEqual(want)
				page = page[min(q.Offset, len(page)):]
				page = page[:min(q.Limit, len(page))]
				if len(res.Hits) != len(page) {
					t.Fatalf("%d hits, want %d for %+v", len(res.Hits), len(page), q)
				}
				for i, h := range res.Hits {
					if h.Doc.Place.Path != page[i].path || h.Entry.Line != page[i].e.Line || h.Score != page[i].score {
						t.Fatalf("hit %d is %s:%d %v, want %s:%d %v, for %+v", i, h.Doc.Place.Path, h.Entry.Line, h.Score,
							page[i].path, page[i].e.Line, page[i].score, q)
					}
					var also []Ref
					for _, o := range want {
						if o.e.Norm == h.Entry.Norm && (o.path != page[i].path || o.e.Line != page[i].e.Line) && len(also) < maxAlso {
							also = append(also, Ref{o.path, o.e.ID, o.e.Line})
						}
					}
					if !slices.Equal(h.AlsoAt, also) {
						t.Fatalf("hit %d is also at %v, want %v, for %+v", i, h.AlsoAt, also, q)
					}
					folded.Add(int64(len(also)))
				}
			}
			if found == 0 {
				t.Fatal("no query found anything: the test shows nothing")
			}
		})
	}
}

// TestWholeWords checks the words that count in the mode Overlap: identifiers without
// their parts, and of a run of Chinese the pairs of characters.
func TestWholeWords(t *testing.T) {
	golden.Table(t, "wholewords", func(t *testing.T, in []string) string {
		var words []string
		newAnalyzer().wholeWords(in[0], func(t token) { words = append(words, t.term) })
		return strings.Join(words, " ")
	})
}

type scored struct {
	path  string
	e     *memory.Entry
	i     int
	score float64
}

// bruteOverlap implements the definition: it scores every readable entry
// separately.
func bruteOverlap(docs []*memory.Document, view memory.View, q Query) []scored {
	a := newAnalyzer()
	set := func(texts ...string) map[string]bool {
		m := make(map[string]bool)
		for _, s := range texts {
			a.eachToken(s, func(t token) { m[t.term] = true })
		}
		return m
	}
	query := map[string]bool{}
	a.wholeWords(q.Text, func(t token) { query[t.term] = true })
	var all []scored
	for _, d := range docs {
		d = d.For(view)
		if d == nil {
			continue
		}
		if d.Place.Kind == memory.Archive && !q.Filter.Archived {
			continue
		}
		if len(q.Filter.Kinds) > 0 && !slices.Contains(q.Filter.Kinds, d.Place.Kind) {
			continue
		}
		for i := range d.Entries {
			e := d.ShownEntry(i)
			if !bruteFilter(e, q.Filter) {
				continue
			}
			have := set(append([]string{e.Text}, e.Tags...)...)
			n := 0
			for term := range query {
				if have[term] {
					n++
				}
			}
			if n == 0 && !q.All {
				continue
			}
			text := 0.0
			if len(query) > 0 {
				text = float64(n) / float64(len(query))
			}
			age := max(0, float64(q.AsOf.UnixNano()-e.Time.UnixNano())/3.6e12)
			score := text*(1-q.Bias) + 1/(1+age)*q.Bias + e.Importance*0.15
			all = append(all, scored{d.Place.Path, e, i, score})
		}
	}
	slices.SortFunc(all, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.e.Importance, a.e.Importance),
			b.e.Time.Compare(a.e.Time), cmp.Compare(a.path, b.path), cmp.Compare(a.i, b.i))
	})
	return all
}

func bruteFilter(e *memory.Entry, f Filter) bool {
	if !f.Since.IsZero() && e.Time.Before(f.Since) || !f.Until.IsZero() && e.Time.After(f.Until) {
		return false
	}
	if len(f.Types) > 0 && !slices.Contains(f.Types, e.Type) {
		return false
	}
	if f.State != nil && !slices.ContainsFunc(e.Tasks, func(t memory.Task) bool { return t.State == *f.State }) {
		return false
	}
	if len(f.Tags) > 0 {
		has := func(tag string) bool { return slices.Contains(e.Tags, tag) }
		if f.AnyTag {
			return slices.ContainsFunc(f.Tags, has)
		}
		return !slices.ContainsFunc(f.Tags, func(tag string) bool { return !has(tag) })
	}
	return true
}

func foldEqual(all []scored) (folded []scored) {
	seen := make(map[string]bool)
	for _, s := range all {
		if !seen[s.e.Norm] {
			seen[s.e.Norm] = true
			folded = append(folded, s)
		}
	}
	return folded
}

var testWords = strings.Fields(`deploy database password coffee Berlin interview turtle painting redis queue
	getUserName max_open_conns 面试 数据库 喜欢 咖啡 周五 the of and не работает сервер สวัสดี ครับ café naïve`)

// randomTree returns files of every layout with entries of every visibility.
func randomTree(r *rand.Rand, files int) map[string]string {
	tree := map[string]string{}
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	text := func() string {
		var w []string
		for range 1 + r.IntN(8) {
			w = append(w, testWords[r.IntN(len(testWords))])
		}
		return strings.Join(w, " ")
	}
	ids := []string{"", " id=k1", " id=k2", " supersedes=k1", " id=k3 supersedes=k2", " supersedes=MEMORY.md#k1"}
	for i := range files {
		path := pick(
			fmt.Sprintf("2026-02-%02d/s%d.md", 1+r.IntN(9), i),
			fmt.Sprintf("memory/2026-01-%02d.md", 1+r.IntN(28)),
			fmt.Sprintf("notes/n%d.md", i),
			"MEMORY.md",
			fmt.Sprintf("_longterms/%s/_index.md", pick("acct_42", "owner", "ext_telegram_7")),
			fmt.Sprintf("_longterms/%s/fact.md", pick("acct_42", "owner")),
			fmt.Sprintf("_longterms/acct_42/_archive/2026-01-%02d.md", 1+r.IntN(28)))
		var b strings.Builder
		if r.IntN(2) == 0 {
			fmt.Fprintf(&b, "---\nsummary: %q\ntags: [%s]\n", text(), pick("redis", "work, home", ""))
			if r.IntN(3) == 0 && strings.HasPrefix(path, "2026") {
				b.WriteString("subject_id: " + pick("acct:42", "ext:telegram:7") + "\n")
			}
			b.WriteString("---\n")
		}
		fmt.Fprintf(&b, "# %s\n\n", text())
		for range 1 + r.IntN(30) {
			switch r.IntN(7) {
			case 0:
				fmt.Fprintf(&b, "\n## %s\n\n", text())
			case 1:
				fmt.Fprintf(&b, "\n%s #%s\n\n", text(), pick("redis", "work", "project:x"))
			case 2:
				fmt.Fprintf(&b, "- [%s] %s\n", pick(" ", "x"), text())
			case 3:
				fmt.Fprintf(&b, "- **%s**: %s <!-- importance=%s%s visibility=%s -->\n", pick(testWords...), text(), pick("0.1", "0.5", "1"),
					ids[b.Len()%len(ids)],
					pick("public_ok", "private_only"))
			case 4:
				fmt.Fprintf(&b, "- %s <!-- visibility=%s updated=2026-02-0%dT10:0%d:00Z type=%s -->\n", text(),
					pick("public_ok", "private_only"), 1+r.IntN(9), r.IntN(10), pick("decision", "fact"))
			case 5:
				fmt.Fprintf(&b, "- %s\n", pick(testWords[:6]...)) // equal text in several places
			default:
				fmt.Fprintf(&b, "- %s\n", text())
			}
		}
		tree[path] = b.String()
	}
	return tree
}

func randomView(t *testing.T, r *rand.Rand) memory.View {
	t.Helper()
	subjects := []string{"", "owner", "acct:42", "ext:telegram:7", "nobody-here"}
	s := memory.Scope{Subject: subjects[r.IntN(len(subjects))], Context: memory.Context(r.IntN(3))}
	if s.Subject == "acct:42" && r.IntN(2) == 0 {
		s.Aliases = []string{"ext:telegram:7"}
	}
	return viewOf(t, s)
}

func randomQuery(r *rand.Rand) Query {
	var w []string
	for range 1 + r.IntN(5) {
		w = append(w, testWords[r.IntN(len(testWords))])
	}
	q := Query{
		Text:   strings.Join(w, " "),
		Mode:   Overlap,
		Bias:   []float64{0, 0.3, 1, r.Float64()}[r.IntN(4)],
		All:    r.IntN(4) == 0,
		AsOf:   time.Date(2026, 2, 1+r.IntN(20), r.IntN(24), 0, 0, 0, time.UTC),
		Offset: []int{0, 0, 3}[r.IntN(3)],
	}
	f := &q.Filter
	f.Archived = r.IntN(2) == 0
	switch r.IntN(8) {
	case 0:
		f.Tags = []string{"redis"}
	case 1:
		f.Tags, f.AnyTag = []string{"redis", "work"}, true
	case 2:
		f.Types = []string{"decision"}
	case 3:
		done := memory.TaskState(r.IntN(2))
		f.State = &done
	case 4:
		f.Since = time.Date(2026, 2, 3, 0, 0, 0, 0, time.UTC)
		f.Until = time.Date(2026, 2, 6, 0, 0, 0, 0, time.UTC)
	case 5:
		f.Kinds = []memory.Kind{memory.Session, memory.Note}
	}
	return q
}
