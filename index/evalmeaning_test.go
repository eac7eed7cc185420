package index

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var (
	evalMost    = flag.Int("most", 1<<30, "queries of each collection that TestEvalMeaning measures")
	evalVectors = flag.String("vectors", "", "files with captured vectors, separated by commas; none: latent semantic analysis")
)

// TestEvalMeaning compares searches by words with those by words and meaning, as in
// the mode auto, and by meaning alone. The vectors are those of latent semantic
// analysis; with -vectors FILES, the captured ones of a model: the output of
// memwatchd embed dump, of daemons that have embedded the collection and, with
// the prefix of queries as embed.text_prefix, a file of its queries, each a
// paragraph. Texts and queries without a vector are searched by words only.
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
		v := vectorsOf(t, x)
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
		v := vectorsOf(t, x)
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

// vectorsOf returns the vectors of the texts of an index.
func vectorsOf(t *testing.T, x *testIndex) *exactVectors {
	t.Helper()
	if *evalVectors == "" {
		return newExactVectors(newLSA(x.docs), x.docs)
	}
	captured := make(map[TextKey][]float32)
	for _, name := range strings.Split(*evalVectors, ",") {
		readVectors(t, name, captured)
	}
	return newExactVectors(func(text string) []float32 { return captured[keyOfText(text)] }, x.docs)
}

// readVectors reads a file with captured vectors: one line that describes the model,
// then one line for each vector.
func readVectors(t *testing.T, name string, all map[TextKey][]float32) {
	t.Helper()
	for _, line := range readLines(t, name)[1:] {
		var v struct{ Key, Vector []byte }
		if err := json.Unmarshal([]byte(line), &v); err != nil || len(v.Key) != 8 {
			t.Fatalf("%s: key of %d bytes: %v", name, len(v.Key), err)
		}
		vector := make([]float32, len(v.Vector))
		for i, b := range v.Vector {
			vector[i] = float32(int8(b))
		}
		all[TextKey(binary.LittleEndian.Uint64(v.Key))] = normalize(vector)
	}
}

// TestReadVectors checks that captured vectors find the texts that they are of.
func TestReadVectors(t *testing.T) {
	name := filepath.Join(t.TempDir(), "vectors")
	sum := sha256.Sum256([]byte("where is the train"))
	key := base64.StdEncoding.EncodeToString(sum[:8])
	file := `{"model":"m","dimensions":0,"text_prefix":"","probe":[1]}` + "\n" +
		`{"owner":"owner","visibility":"private_only","key":"` + key + `","vector":"A/w="}` + "\n" // 3, -4
	if err := os.WriteFile(name, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	all := make(map[TextKey][]float32)
	readVectors(t, name, all)
	if diff := cmp.Diff(map[TextKey][]float32{keyOfText("where is the train"): {0.6, -0.8}}, all); diff != "" {
		t.Error("-want +got:\n", diff)
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
