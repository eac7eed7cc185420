package index

import (
	"bufio"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Judged collections are not part of the project. If -eval names a directory of
// them, TestEval prints the quality of the order of files, and of entries where the
// evidence is a line, and TestEvalCover that of [Covered]:
//
//	go test ./index -run '^TestEval' -v -eval DIR
//
// A subdirectory is a collection (docs/<id>.md, queries.jsonl with qid and text,
// qrels.tsv with qid, docid and grade), or it contains collections, such as the chats
// of BEAM, or it contains conversations (by-conversation/<name> with session files,
// queries.jsonl with gold paths and lines). Of other files, such as til, the questions are
// the first headings: misspelled, cut while typing, and by day, for daily notes made of them.
var (
	evalDir  = flag.String("eval", "", "directory of judged collections")
	evalSets = flag.String("sets", "*", "pattern of the collections to measure")
	convOnly = flag.String("tune", "conv-26,conv-30,conv-41,conv-42,chat-1-*,chat-4-*,chat-7-*", "the conversations to measure")
)

func TestEval(t *testing.T) {
	dirs := evalDirs(t)
	fmt.Print("| collection  | questions | entries R@5 |  R@10 | files nDCG@10 |  R@5 | R@10 |\n|-|--:|--:|--:|--:|--:|--:|\n")
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			if sets := readSets(t, dir); len(sets) > 0 {
				evalSet(t, filepath.Base(dir), sets)
				return
			}
			for kind, set := range plainSets(t, dir) {
				evalSet(t, filepath.Base(dir)+"-"+kind, []judgedSet{set})
			}
		})
	}
}

func evalDirs(t *testing.T) []string {
	t.Helper()
	if *evalDir == "" {
		t.Skip("no judged collections: give -eval DIR")
	}
	dirs, err := filepath.Glob(filepath.Join(*evalDir, *evalSets))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no collections in %s: %v", *evalDir, err)
	}
	return dirs
}

// A judgedSet is a directory of files with judged questions about them.
type judgedSet struct {
	docs      string
	questions []question
}

// A question has the files of its answers, by path without .md, with their grades, or
// the lines of its evidence.
type question struct {
	Conversation, Question string
	AsOf                   string `json:"as_of"`
	Gold                   []gold

	grades map[string]float64
	typing bool
}

type gold struct {
	Path string
	Line int
}

// readSets returns the sets of a subdirectory of -eval.
func readSets(t *testing.T, dir string) (sets []judgedSet) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(dir, "by-conversation")); err == nil {
		byConv := conversations(t, dir)
		for _, conv := range slices.Sorted(maps.Keys(byConv)) {
			sets = append(sets, judgedSet{filepath.Join(dir, "by-conversation", conv), byConv[conv]})
		}
		return sets
	}
	for _, pattern := range []string{"queries.jsonl", "*/queries.jsonl"} {
		parts, _ := filepath.Glob(filepath.Join(dir, pattern))
		sets = append(sets, collectionsOf(t, parts)...)
	}
	return sets
}

func collectionsOf(t *testing.T, parts []string) (sets []judgedSet) {
	for _, part := range parts {
		part = filepath.Dir(part)
		sets = append(sets, judgedSet{filepath.Join(part, "docs"), readCollection(t, part)})
	}
	return sets
}

// plainSets returns questions about files without any, one of ten files.
func plainSets(t *testing.T, dir string) map[string]judgedSet {
	t.Helper()
	days := t.TempDir()
	dir, err := filepath.EvalSymlinks(dir)
	must(t, err)
	typo, prefix, day := judgedSet{docs: dir}, judgedSet{docs: dir}, judgedSet{docs: days}
	for i, doc := range openDir(t, dir).documents() {
		path, text := doc.Place.Path, doc.Source
		at := time.Date(2020, 1, 1+i, 0, 0, 0, 0, time.UTC)
		daily := at.Format(time.DateOnly)
		must(t, os.WriteFile(filepath.Join(days, daily+".md"), text, 0o600))
		heading, ok := strings.CutPrefix(string(text), "# ")
		heading, _, _ = strings.Cut(heading, "\n")
		words := strings.Fields(heading)
		if i%10 != 0 || !ok || len(words) < 3 {
			continue
		}
		about := map[string]float64{strings.TrimSuffix(path, ".md"): 1}
		last := words[len(words)-1]
		prefix.questions = append(prefix.questions, question{grades: about, typing: true,
			Question: strings.TrimSuffix(heading, last) + last[:min(len(last), max(3, len(last)/2))]})
		for _, form := range []string{"what did I learn on January 2, 2006", "2 Jan 2006"} {
			day.questions = append(day.questions, question{grades: map[string]float64{daily: 1}, Question: at.Format(form)})
		}
		longest := slices.MaxFunc(words, func(a, b string) int { return cmp.Compare(len(a), len(b)) })
		if n := len(longest) / 2; len(longest) > 5 { // two letters in the other order
			wrong := longest[:n] + longest[n+1:n+2] + longest[n:n+1] + longest[n+2:]
			typo.questions = append(typo.questions, question{grades: about, Question: strings.Replace(heading, longest, wrong, 1)})
		}
	}
	return map[string]judgedSet{"typo": typo, "prefix": prefix, "day": day}
}

// A quality is a sum of measures over questions.
type quality struct{ ndcg, five, ten float64 }

func (q *quality) add(ids []string, grades map[string]float64) {
	found := func(n int) (share float64) {
		for _, id := range ids[:min(n, len(ids))] {
			if grades[id] > 0 {
				share += 1 / float64(len(grades))
			}
		}
		return share
	}
	q.ndcg, q.five, q.ten = q.ndcg+ndcg(ids, grades), q.five+found(5), q.ten+found(10)
}

func evalSet(t *testing.T, name string, sets []judgedSet) {
	var entries, files quality
	n := 0.0
	for _, set := range sets {
		x := openDir(t, set.docs)
		for _, q := range set.questions {
			asOf, _ := time.Parse(time.DateOnly, q.AsOf)
			query := Query{Text: q.Question, Limit: 10, AsOf: asOf, Typing: q.typing}
			search := func() Result {
				res := x.mustSearch(t, x.view, query)
				return res
			}
			if q.Gold != nil {
				hits := search().Hits
				entries.five, entries.ten = entries.five+q.recall(hits[:min(5, len(hits))]), entries.ten+q.recall(hits)
			}
			query.ByFile = true
			files.add(documentsOf(search()), q.grades)
			n++
		}
	}
	fmt.Printf("| %-11s | %9.0f | %11.4f | %.3f | %13.4f | %.3f | %.3f |\n", name, n, entries.five/n, entries.ten/n,
		files.ndcg/n, files.five/n, files.ten/n)
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

// readCollection returns the judged questions of a collection.
func readCollection(t *testing.T, dir string) (questions []question) {
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
		must(t, json.Unmarshal([]byte(line), &q))
		if gold := grades[q.Qid]; len(gold) > 0 {
			questions = append(questions, question{Question: strings.ReplaceAll(q.Text, `"`, " "), grades: gold,
				AsOf: time.Now().Format(time.DateOnly)})
		}
	}
	return questions
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

// conversations returns the questions by conversation, for the selected
// conversations of a directory.
func conversations(t *testing.T, dir string) map[string][]question {
	t.Helper()
	byConv := make(map[string][]question)
	for _, line := range readLines(t, filepath.Join(dir, "queries.jsonl")) {
		var q question
		must(t, json.Unmarshal([]byte(line), &q))
		if len(q.Gold) == 0 || !slices.ContainsFunc(strings.Split(*convOnly, ","), func(pattern string) bool {
			ok, _ := filepath.Match(pattern, q.Conversation)
			return ok
		}) {
			continue
		}
		q.Question, q.grades = strings.ReplaceAll(q.Question, `"`, " "), make(map[string]float64)
		for _, g := range q.Gold {
			q.grades[strings.TrimSuffix(g.Path, ".md")] = 1
		}
		byConv[q.Conversation] = append(byConv[q.Conversation], q)
	}
	return byConv
}

// recall returns the share of the evidence in hits.
func (q *question) recall(hits []Hit) float64 {
	found := 0
	for _, g := range q.Gold {
		if slices.ContainsFunc(hits, g.isIn) {
			found++
		}
	}
	return float64(found) / float64(len(q.Gold))
}

func (g gold) isIn(h Hit) bool {
	return h.Doc.Place.Path == g.Path && h.Entry.Line <= g.Line && g.Line <= h.Entry.EndLine
}

// isRight reports whether a hit answers the question.
func (q *question) isRight(h Hit) bool {
	if q.Gold != nil {
		return slices.ContainsFunc(q.Gold, func(g gold) bool { return g.isIn(h) })
	}
	return q.grades[strings.TrimSuffix(h.Doc.Place.Path, ".md")] > 0
}

// TestEvalCover measures the hits that pass the threshold: for the questions of a set,
// for those of another set of the collection, and for chatter.
func TestEvalCover(t *testing.T) {
	for _, dir := range evalDirs(t) {
		sets := readSets(t, dir)
		if len(sets) == 0 {
			continue
		}
		kinds := []string{"questions", "others' questions", "chatter"}
		var queries, shown, entries, right, evidence [3]float64
		for i, set := range sets {
			x := openDir(t, set.docs)
			measure := func(kind int, q question) {
				asOf, _ := time.Parse(time.DateOnly, q.AsOf)
				hits, n := passing(t, x, q.Question, asOf), 0.0
				for _, h := range hits {
					if q.isRight(h) {
						n++
					}
				}
				queries[kind]++
				shown[kind] += min(1, float64(len(hits)))
				entries[kind] += float64(len(hits))
				right[kind] += n
				evidence[kind] += min(1, n)
			}
			for _, q := range set.questions {
				measure(0, q)
			}
			if len(sets) > 1 {
				for _, q := range sets[(i+1)%len(sets)].questions {
					measure(1, q)
				}
			}
			for _, message := range chatter(t, "chat.txt", "chat_more.txt") {
				measure(2, question{Question: message, AsOf: "2024-01-01"})
			}
		}
		for kind, name := range kinds {
			n := max(1, queries[kind])
			fmt.Printf("%s: %.0f %s: %.3f are shown something, %.2f entries each, %.3f of which are right; %.3f are shown evidence\n",
				filepath.Base(dir), queries[kind], name, shown[kind]/n, entries[kind]/n, right[kind]/max(1, entries[kind]), evidence[kind]/n)
		}
	}
}

func readLines(t testing.TB, name string) (lines []string) {
	t.Helper()
	f, err := os.Open(name)
	must(t, err)
	defer f.Close()
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<24)
	for s.Scan() {
		lines = append(lines, s.Text())
	}
	must(t, s.Err())
	return lines
}
