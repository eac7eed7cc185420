package index

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/memwatchd/memwatchd/internal/fakes/golden"
	"github.com/memwatchd/memwatchd/internal/secrets"
	"github.com/memwatchd/memwatchd/memory"
)

// exactVectors compares vectors without an approximation.
type exactVectors struct {
	embed func(string) []float32 // of length 1, or nil
	texts map[memory.Partition]map[TextKey][]float32
}

// newExactVectors embeds the texts of documents.
func newExactVectors(embed func(string) []float32, docs map[string]*memory.Document) *exactVectors {
	v := &exactVectors{embed, make(map[memory.Partition]map[TextKey][]float32)}
	for _, doc := range docs {
		v.add(doc)
	}
	return v
}

func (v *exactVectors) add(doc *memory.Document) {
	for t := range Texts(doc) {
		if v.texts[t.Partition] == nil {
			v.texts[t.Partition] = make(map[TextKey][]float32)
		}
		if vector := v.embed(t.Text); vector != nil {
			v.texts[t.Partition][t.Key] = vector
		}
	}
}

// query returns the comparison with a text, or nil if it has no vector.
func (v *exactVectors) query(text string) Nearest {
	q := v.embed(text)
	if q == nil {
		return nil
	}
	return func(p memory.Partition, limit int, accept func(TextKey) bool) (list []Similar) {
		for key, vector := range v.texts[p] {
			if accept(key) {
				dot := float32(0)
				for i := range q {
					dot += q[i] * vector[i]
				}
				list = append(list, Similar{key, dot})
			}
		}
		slices.SortFunc(list, func(a, b Similar) int {
			return cmp.Or(cmp.Compare(b.Cosine, a.Cosine), cmp.Compare(a.Key, b.Key))
		})
		return list[:min(limit, len(list))]
	}
}

// embedTrigrams returns a vector of hashed character trigrams.
func embedTrigrams(text string) []float32 {
	vector := make([]float32, 64)
	runes := []rune(" " + strings.ToLower(text) + " ")
	for i := range len(runes) - 2 {
		h := fnv.New32a()
		h.Write([]byte(string(runes[i : i+3])))
		vector[h.Sum32()%64] += 1 - float32(h.Sum32()>>30&2)
	}
	return normalize(vector)
}

func normalize(vector []float32) []float32 {
	sum := 0.0
	for _, x := range vector {
		sum += float64(x) * float64(x)
	}
	if sum == 0 {
		return nil
	}
	for i := range vector {
		vector[i] /= float32(math.Sqrt(sum))
	}
	return vector
}

// openTextTest indexes files in memory with their texts and embeds these.
func openTextTest(t *testing.T, text map[string]string) (*Index, *exactVectors) {
	t.Helper()
	src := &mapSource{layout: memory.Layout{Mask: secrets.Mask}, text: text}
	v := newExactVectors(embedTrigrams, nil)
	for _, u := range src.updates() {
		v.add(u.Doc)
	}
	return src.complete(t), v
}

// TestFusedPages compares pages of a hybrid search with the complete list.
func TestFusedPages(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 11))
			x := openFiles(t, randomTree(r, 40), nil)
			v := newExactVectors(embedTrigrams, x.docs)
			for range 60 {
				view, q := randomView(t, r), randomQuery(r)
				q.Mode, q.Explain, q.MeaningOnly, q.ByFile = Relevance, true, r.IntN(4) == 0, r.IntN(2) == 0
				q.Nearest = v.query(q.Text + " x")
				q.Offset, q.Limit = 0, 100_000
				want := x.mustSearch(t, view, q)
				all := want.Hits
				for i, h := range all {
					if i > 0 && h.Score > all[i-1].Score {
						t.Errorf("%+v: the score rises to %v at %d", q, h.Score, i)
					}
					if h.Why.WordsRank+h.Why.MeaningRank == 0 || q.MeaningOnly && h.Why.WordsRank > 0 {
						t.Errorf("%+v: ranks %+v", q, h.Why)
					}
				}
				q.Offset, q.Limit = []int{0, 2, 50, fuseDepth - 2}[r.IntN(4)], 1+r.IntN(4)
				got := x.mustSearch(t, view, q)
				want.Hits = all[min(q.Offset, len(all)):min(q.Offset+q.Limit, len(all))]
				if diff := gocmp.Diff(hitPaths(want), hitPaths(got)); diff != "" {
					t.Fatalf("%+v (-the list of all +the page):\n%s", q, diff)
				}
				if !q.ByFile {
					n := 0
					for _, h := range all {
						n += 1 + len(h.AlsoAt)
						if len(h.AlsoAt) == maxAlso {
							n = math.MinInt
						}
					}
					if n >= 0 && n != got.Total {
						t.Errorf("%+v: total %d of %d entries", q, got.Total, n)
					}
				}
			}
		})
	}
}

// TestFusedOrder checks hybrid searches of small memories.
func TestFusedOrder(t *testing.T) {
	const cat, dog = "- the catalogue of catapults is here", "- a dog barks at the night train"
	const question, statement = "- where is the catalogue of catapults?", "- where is the catalogue of catapults"
	for name, tc := range map[string]struct {
		text  map[string]string
		query Query
		near  string
		want  []string
	}{
		"meaning adds": {map[string]string{"a.md": cat + "\n", "b.md": dog + "\n"}, Query{Text: "night train"}, "catalogue catapults",
			[]string{"b.md:1", "a.md:1"}},
		"meaning only": {map[string]string{"a.md": cat + "\n", "b.md": dog + "\n"}, Query{Text: "night train", MeaningOnly: true}, "catalogue catapults",
			[]string{"a.md:1", "b.md:1"}},
		"filter": {map[string]string{"a.md": cat + "\n", "b.md": dog + "\n"}, Query{Text: "night train", Filter: Filter{Path: "a.md"}}, "night train",
			[]string{"a.md:1"}},
		"excluded word": {map[string]string{"a.md": cat + "\n", "b.md": dog + "\n"}, Query{Text: "night", Exclude: "catapult"}, "catapult",
			[]string{"b.md:1"}},
		"excluded phrase": {map[string]string{"a.md": cat + "\n", "b.md": dog + "\n"}, Query{Text: "night", Exclude: `"is here"`}, "catapult",
			[]string{"b.md:1"}},
		"required phrase": {map[string]string{"a.md": cat + "\n", "b.md": dog + "\n"}, Query{Text: `"night train"`, Exact: true}, "catapult",
			[]string{"b.md:1"}},
		"short": {map[string]string{"a.md": "- cat\n", "b.md": dog + "\n"}, Query{Text: "night"}, "cat", []string{"b.md:1"}},
		"archive": {map[string]string{"_longterms/owner/_archive/2026-01-01.md": cat + "\n", "b.md": dog + "\n"},
			Query{Text: "night", Filter: Filter{Archived: true}}, "catapult", []string{"b.md:1"}},
		"superseded": {map[string]string{"a.md": cat + " <!-- id=k1 -->\n", "b.md": dog + " <!-- supersedes=k1 -->\n"}, Query{Text: "zzz"}, "catapult",
			[]string{"b.md:1", "a.md:1 < b.md:1"}},
		"superseded in both lists": {map[string]string{"a.md": cat + " <!-- id=k1 -->\n", "b.md": dog + " <!-- supersedes=k1 -->\n"},
			Query{Text: "catalogue night"}, "catapult", []string{"b.md:1", "a.md:1 < b.md:1"}},
		"reply": {map[string]string{"a.md": question + "\n- by the wall of the old garden\n", "b.md": cat + "\n- a dog in the catalogue\n"},
			Query{Text: "zzz"}, question, []string{"a.md:1", "a.md:2", "b.md:1", "b.md:2"}},
		"reply in a group": {map[string]string{"a.md": question + "\n- by the wall of the old garden\n", "b.md": cat + "\n"},
			Query{Text: "zzz", ByFile: true}, question, []string{"a.md:1", "b.md:1"}},
		"no question": {map[string]string{"a.md": statement + "\n- by the wall of the old garden\n", "b.md": cat + "\n- a dog in the catalogue\n"},
			Query{Text: "zzz"}, question, []string{"a.md:1", "b.md:1", "b.md:2", "a.md:2"}},
		"equal text": {map[string]string{"a.md": cat + "\n", "b.md": cat + "\n"}, Query{Text: "zzz"}, "catapult", []string{"a.md:1"}},
	} {
		t.Run(name, func(t *testing.T) {
			x, v := openTextTest(t, tc.text)
			tc.query.Nearest = v.query(tc.near)
			wantHits(t, x, tc.query, tc.want...)
		})
	}
}

// TestFusedWeights checks that the weight of a partition is a factor of its scores by
// meaning.
func TestFusedWeights(t *testing.T) {
	x, v := openTextTest(t, map[string]string{"a.md": "- the catalogue of catapults is here\n", "b.md": "- a catalogue of dogs is there\n"})
	q := Query{Text: "zzz", Nearest: v.query("catalogue catapults"), MeaningOnly: true, Limit: 10}
	plain, err := x.Search(t.Context(), ownerView(t), q)
	if err != nil || len(plain.Hits) != 2 {
		t.Fatalf("%d hits, %v", len(plain.Hits), err)
	}
	q.Weights = map[string]float64{plain.Hits[0].Doc.Partition.Owner: 0.5}
	weighed, err := x.Search(t.Context(), ownerView(t), q)
	if err != nil || len(weighed.Hits) != 2 {
		t.Fatalf("%d hits, %v", len(weighed.Hits), err)
	}
	for i, h := range weighed.Hits {
		if want := plain.Hits[i].Score / 2; math.Abs(h.Score-want) > 1e-9 || want == 0 {
			t.Errorf("%s has the score %v, want %v", h.Doc.Place.Path, h.Score, want)
		}
	}
}

// TestFusedIsPrivate compares hybrid searches with and without files that the view
// cannot read, and with vectors of text that no longer exists.
func TestFusedIsPrivate(t *testing.T) {
	seeds := uint64(6)
	if testing.Short() {
		seeds = 1
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 12))
		text := make(map[string]string)
		for i := range 60 {
			var words []string
			for range 4 + r.IntN(4) {
				words = append(words, testWords[r.IntN(len(testWords))])
			}
			dir := []string{"notes/", "_longterms/acct_42/", "2026-02-03/"}[r.IntN(3)]
			text[fmt.Sprintf("%sn%d.md", dir, i)] = fmt.Sprintf("- %s%s <!-- visibility=%s -->\n- %s\n", strings.Join(words, " "),
				[]string{"", "?"}[r.IntN(2)], []string{"public_ok", "private_only"}[r.IntN(2)], strings.Join(words[1:], " and "))
		}
		whole, vectors := openTextTest(t, text)
		for range 8 {
			view := randomView(t, r)
			part := make(map[string]string)
			for path, s := range text {
				if info, ok := whole.File(path); ok && info.Readable(view) {
					part[path] = s
				}
			}
			reduced, fewer := openTextTest(t, part)
			gone := newExactVectors(embedTrigrams, nil)
			gone.texts = vectors.texts
			gone.add(new(memory.Layout).Parse("notes/gone.md", []byte("- a text that was deleted\n"), memory.Meta{}))
			for range 8 {
				q := randomQuery(r)
				q.Mode, q.Explain, q.Limit, q.ByFile, q.Cover = Relevance, true, 20, r.IntN(2) == 0, true
				ask := testWords[r.IntN(len(testWords))] + " deleted"
				q.Nearest = gone.query(ask)
				all := whole.mustSearch(t, view, q)
				q.Nearest = fewer.query(ask)
				some := reduced.mustSearch(t, view, q)
				parts := func(res Result) (list []string) {
					for _, h := range res.Hits {
						list = append(list, fmt.Sprintf("%v %t %+v", h.Cover, h.Close, *h.Why))
					}
					return list
				}
				if diff := gocmp.Diff(append(hitPaths(some), parts(some)...), append(hitPaths(all), parts(all)...)); diff != "" {
					t.Fatalf("%q (-without the hidden files +with them):\n%s", q.Text, diff)
				}
			}
		}
	}
}

// TestCloseEntries checks that entries close in meaning join those that cover a query,
// and never stand alone.
func TestCloseEntries(t *testing.T) {
	for name, tc := range map[string]struct {
		hits []Hit
		want int
	}{
		"close beside covering":    {[]Hit{{Cover: 0.5}, {Cover: 0, Close: true}, {Cover: 0.1}}, 2},
		"close without a covering": {[]Hit{{Cover: 0.3}, {Cover: 0, Close: true}}, 0},
	} {
		if got := Covered(tc.hits, 0.4); len(got) != tc.want {
			t.Errorf("%s: %d hits", name, len(got))
		}
	}
	text := map[string]string{}
	for i := range 2*coverClose + 1 {
		text[fmt.Sprintf("n%d.md", i)] = fmt.Sprintf("- entry %d is about the red things\n", i)
	}
	x, v := openTextTest(t, text)
	res := x.mustSearch(t, ownerView(t), Query{Text: "red", Nearest: v.query("entry 17 is about"), Limit: 100, AsOf: time.Unix(1, 0), Cover: true, Explain: true})
	closest := 0
	for _, h := range res.Hits {
		if h.Close {
			closest++
			if h.Why.MeaningRank > 3 {
				t.Errorf("rank %d is close", h.Why.MeaningRank)
			}
		}
	}
	if closest != 3 {
		t.Errorf("%d of %d entries are close, want 3", closest, len(text))
	}
}

func TestWordsOnly(t *testing.T) {
	golden.Table(t, "wordsonly", func(t *testing.T, in []string) string { return fmt.Sprint(WordsOnly(in[0])) })
}

// TestTexts checks the texts that can be embedded and that the index finds them.
func TestTexts(t *testing.T) {
	text := "# Plan\n\n## Trip\n\n- We go to the sea by train.\n- short one\n- 我们坐火车去海边\n- the token of the router is ghp_" + "k7Qz0mXw3RtV9bLp2NcJ5sYhF8gDaE4uKoT1\n" +
		"<!-- memwatchd:generated -->\n- This line is generated by the daemon.\n<!-- /memwatchd:generated -->\n"
	files := map[string]string{"2026-02-04/a.md": text, "2026-02-04/b.md": text}
	x, _ := openTextTest(t, files)
	var got []string
	layout := memory.Layout{Mask: secrets.Mask}
	doc := layout.Parse("2026-02-04/a.md", []byte(text), memory.Meta{})
	for s := range Texts(doc) {
		got = append(got, s.Text)
		if !x.HasText(s.TextRef) || x.HasText(TextRef{memory.Partition{Owner: "other"}, s.Key}) {
			t.Errorf("HasText(%q) is wrong", s.Text)
		}
	}
	want := []string{"Plan > Trip > 2026-02-04\n- We go to the sea by train.", "Plan > Trip > 2026-02-04\n- 我们坐火车去海边"}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Error("-want +got:\n", diff)
	}
	long := strings.Repeat("é", 3000)
	doc = layout.Parse("a.md", []byte("# "+long+"\n\n- "+strings.Repeat("four of the words ", 200)+"\n"), memory.Meta{})
	for s := range Texts(doc) {
		if head, entry, _ := strings.Cut(s.Text, "\n"); head != long[:2*maxEmbeddedHead] || len(entry) != maxEmbeddedText {
			t.Errorf("%d bytes above an entry of %d", len(head), len(entry))
		}
	}
	doc = layout.Parse("2026-02-04/a.md", []byte(text), memory.Meta{})
	lacking := x.FilesLacking(func(TextRef) bool { return false })
	if diff := gocmp.Diff([]string{"2026-02-04/a.md", "2026-02-04/b.md"}, slices.Sorted(slices.Values(lacking))); diff != "" {
		t.Error("files without vectors (-want +got):\n", diff)
	}
	must(t, x.Apply(t.Context(), []Update{{Path: "2026-02-04/a.md"}}))
	for s := range Texts(doc) {
		if !x.HasText(s.TextRef) {
			t.Errorf("%q is lost with one of two files", s.Text)
		}
	}
	must(t, x.Apply(t.Context(), []Update{{Path: "2026-02-04/b.md"}}))
	for s := range Texts(doc) {
		if x.HasText(s.TextRef) {
			t.Errorf("%q is still there without files", s.Text)
		}
	}
}
