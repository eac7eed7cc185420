package index

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/memory"
)

// Judged collections are not part of the project. If -eval names a directory of
// them, TestEval prints the quality of the ranking, beside that of two baselines:
//
//	go test ./index -run Eval -v -eval DIR -conversations DIR
//
// A collection is docs/<id>.md, queries.jsonl (qid, text), qrels.tsv (qid,
// docid, grade); conversations are directories of session files and
// queries.jsonl with gold paths and lines.
var (
	evalDir  = flag.String("eval", "", "directory of judged collections")
	convDir  = flag.String("conversations", "", "directory of conversations with evidence")
	convOnly = flag.String("tune", "conv-26,conv-30,conv-41,conv-42", "the conversations to measure, or all")
)

func TestEval(t *testing.T) {
	if *evalDir == "" {
		t.Skip("no judged collections: give -eval DIR")
	}
	dirs, err := filepath.Glob(filepath.Join(*evalDir, "*", "queries.jsonl"))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no collections in %s: %v", *evalDir, err)
	}
	fmt.Printf("nDCG@10\n\n| %-14s | %9s | %9s | %5s | %5s |\n|-|--:|--:|--:|--:|\n", "collection", "questions", "memwatchd",
		"BM25", "FTS5")
	for _, q := range dirs {
		dir := filepath.Dir(q)
		t.Run(filepath.Base(dir), func(t *testing.T) { evalCollection(t, dir) })
	}
}

// evalCollection prints the quality of the index and of the baselines.

func evalCollection(t *testing.T, dir string) {
	x := openTest(t, filepath.Join(dir, "docs"))
	queries, judged := readCollection(t, dir)
	docs := readDocs(t, filepath.Join(dir, "docs"))
	bm25, rows := plainBM25(docs), fts5(t, docs, queries)
	var own, plain, sqlite float64
	for i, text := range queries {
		res, err := x.Search(t.Context(), x.view, Query{Text: text, Limit: 40, AsOf: x.now})
		if err != nil {
			t.Fatal(err)
		}
		own += ndcg(documentsOf(res), judged[i])
		plain += ndcg(bm25(text), judged[i])
		sqlite += ndcg(rows[i], judged[i])
	}
	n := float64(len(queries))
	last := "-" // without sqlite3
	if rows != nil {
		last = fmt.Sprintf("%.3f", sqlite/n)
	}
	fmt.Printf("| %-14s | %9d | %9.4f | %5.3f | %5s |\n", filepath.Base(dir), len(queries), own/n, plain/n, last)
}

// documentsOf returns the ids of the documents of a result, each once.
func documentsOf(res Result) (ids []string) {
	add := func(path string) {
		if id := strings.TrimSuffix(path, ".md"); !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	for _, h := range res.Hits {
		add(h.Doc.Place.Path)
		for _, o := range h.AlsoAt {
			add(o.Path)
		}
	}
	return ids
}

// readCollection returns the judged queries of a collection, with the grades of
// documents.
func readCollection(t *testing.T, dir string) (queries []string, judged []map[string]float64) {
	t.Helper()
	grades := make(map[string]map[string]float64)
	for _, line := range readLines(t, filepath.Join(dir, "qrels.tsv")) {
		f := strings.Fields(line)
		g, _ := strconv.ParseFloat(f[2], 64)
		if grades[f[0]] == nil {
			grades[f[0]] = make(map[string]float64)
		}
		grades[f[0]][f[1]] = g
	}
	for _, line := range readLines(t, filepath.Join(dir, "queries.jsonl")) {
		var q struct{ Qid, Text string }
		if err := json.Unmarshal([]byte(line), &q); err != nil {
			t.Fatal(err)
		}
		if gold := grades[q.Qid]; len(gold) > 0 {
			queries, judged = append(queries, strings.ReplaceAll(q.Text, `"`, " ")), append(judged, gold)
		}
	}
	return queries, judged
}

func ndcg(ids []string, gold map[string]float64) float64 {
	gain := 0.0
	for i, id := range ids[:min(10, len(ids))] {
		gain += gold[id] / math.Log2(float64(i+2))
	}
	var best []float64
	for _, g := range gold {
		best = append(best, g)
	}
	sort.Sort(sort.Reverse(sort.Float64Slice(best)))
	ideal := 0.0
	for i, g := range best[:min(10, len(best))] {
		ideal += g / math.Log2(float64(i+2))
	}
	if ideal == 0 {
		return 0
	}
	return gain / ideal
}

// A question is a question about a conversation, with the lines of its
// evidence.
type question struct {
	Conversation, Question string
	AsOf                   string `json:"as_of"`
	Gold                   []gold
}

type gold struct {
	Path string
	Line int
}

// conversations returns the questions by conversation, for the selected
// conversations.
func conversations(t *testing.T) map[string][]question {
	t.Helper()
	byConv := make(map[string][]question)
	for _, line := range readLines(t, filepath.Join(*convDir, "queries.jsonl")) {
		var q question
		if err := json.Unmarshal([]byte(line), &q); err != nil {
			t.Fatal(err)
		}
		if len(q.Gold) > 0 && (*convOnly == "all" || slices.Contains(strings.Split(*convOnly, ","), q.Conversation)) {
			byConv[q.Conversation] = append(byConv[q.Conversation], q)
		}
	}
	return byConv
}

// recall returns the shares of the evidence in the first five and ten hits, and the
// reciprocal rank of the first evidence.
func (q *question) recall(res Result) (five, ten, first float64) {
	covered := func(k int) float64 {
		found := 0
		for _, g := range q.Gold {
			if slices.ContainsFunc(res.Hits[:min(k, len(res.Hits))], func(h Hit) bool {
				return h.Doc.Place.Path == g.Path && h.Entry.Line <= g.Line && g.Line <= h.Entry.EndLine
			}) {
				found++
			}
		}
		return float64(found) / float64(len(q.Gold))
	}
	for k := 10; k > 0; k-- {
		if covered(k) > 0 {
			first = 1 / float64(k)
		}
	}
	return covered(5), covered(10), first
}

// TestEvalConversations measures entries: a hit is right if its lines include a
// line of evidence.
func TestEvalConversations(t *testing.T) {
	if *convDir == "" {
		t.Skip("no conversations: give -conversations DIR")
	}
	byConv := conversations(t)
	var r5, r10, mrr float64
	n := 0
	for conv, queries := range byConv {
		x := openTest(t, filepath.Join(*convDir, "by-conversation", conv))
		for _, q := range queries {
			asOf, _ := time.Parse("2006-01-02", q.AsOf)
			res, err := x.Search(t.Context(), x.view, Query{Text: strings.ReplaceAll(q.Question, `"`, " "), Limit: 10, AsOf: asOf})
			if err != nil {
				t.Fatal(err)
			}
			five, ten, first := q.recall(res)
			r5, r10, mrr, n = r5+five, r10+ten, mrr+first, n+1
		}
	}
	fmt.Printf("conversations  R@5 %.4f  R@10 %.4f  MRR@10 %.4f over %d questions\n", r5/float64(n), r10/float64(n), mrr/float64(n), n)
}

// A testIndex is an index of a directory, without a daemon.
type testIndex struct {
	*Index
	*dirSource
	view memory.View
	now  time.Time

	vectors *exactVectors // nil: searches are by words only
}

// A dirSource reads files of a directory that does not change.
type dirSource struct {
	root   string
	layout *memory.Layout
	docs   map[string]*memory.Document
}

func (s *dirSource) Stamp(path string) (memory.Stamp, error) {
	info, err := os.Stat(filepath.Join(s.root, path))
	if err != nil {
		return memory.Stamp{}, err
	}
	return memory.Stamp{Size: info.Size(), MTime: info.ModTime().UnixNano()}, nil
}

func (s *dirSource) Load(path string) (*memory.Document, error) {
	if d := s.docs[path]; d != nil {
		return d, nil
	}
	b, err := os.ReadFile(filepath.Join(s.root, path))
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(filepath.Join(s.root, path))
	if err != nil {
		return nil, err
	}
	return s.layout.Parse(path, b, memory.Meta{ModTime: info.ModTime()}), nil
}

func (s *dirSource) paths(t testing.TB) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(s.root, func(p string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.HasSuffix(p, ".md") {
			rel, _ := filepath.Rel(s.root, p)
			paths = append(paths, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// openTest indexes a directory and returns the complete index.
func openTest(t testing.TB, root string) *testIndex {
	t.Helper()
	layout := memory.Layout{}
	src := &dirSource{root: root, layout: &layout, docs: make(map[string]*memory.Document)}
	x, err := Open(t.TempDir(), Options{Source: src, Texts: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	for chunk := range slices.Chunk(src.paths(t), 500) {
		var updates []Update
		for _, p := range chunk {
			doc, err := src.Load(p)
			if err != nil {
				t.Fatal(err)
			}
			stamp, err := src.Stamp(p)
			if err != nil {
				t.Fatal(err)
			}
			src.docs[p] = doc
			updates = append(updates, Update{Path: p, Doc: doc, Stamp: stamp})
		}
		if err := x.Apply(context.Background(), updates); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.Confirm(x.Status().Epoch); err != nil {
		t.Fatal(err)
	}
	var dirs memory.Directories
	view, err := dirs.View(memory.Scope{Subject: "owner", Context: memory.Private})
	if err != nil {
		t.Fatal(err)
	}
	return &testIndex{x, src, view, time.Now(), nil}
}

func readLines(t testing.TB, name string) (lines []string) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<24)
	for s.Scan() {
		lines = append(lines, s.Text())
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	return lines
}
