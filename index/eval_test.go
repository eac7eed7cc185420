package index

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/memwatchd/memwatchd/internal/letters"
	"github.com/memwatchd/memwatchd/memory"
)

// Judged collections are not part of the project. If -eval names a directory of
// them, TestEval prints the quality of the order of files, and of entries where the
// evidence is a line, and TestEvalCover that of [Covered]:
//
//	go test ./index -run '^TestEval' -v -eval DIR -results FILE -before FILE
//
// A subdirectory is a collection (docs/<id>.md, queries.jsonl with qid and text,
// qrels.tsv with qid, docid and grade), or it contains collections, such as the chats
// of BEAM, or it contains conversations (by-conversation/<name> with session files,
// queries.jsonl with gold paths and lines). Of other files, such as til, the questions are
// the names of the files and the first headings: whole, misspelled, cut while typing, and by
// day, for daily notes made of them. The questions of testdata/everyday.txtar and of
// [headingFacts] are asked beside the files of til.
var (
	evalDir    = flag.String("eval", "", "directory of judged collections")
	evalSets   = flag.String("sets", "*", "pattern of the collections to measure")
	convOnly   = flag.String("tune", "conv-26,conv-30,conv-41,conv-42,chat-1-*,chat-4-*,chat-7-*,chat-beam-*", "the conversations to measure")
	resultsTo  = flag.String("results", "", "file to write the results of each question to")
	beforeFrom = flag.String("before", "", "file with results of an earlier commit to compare with")
	embedURL   = flag.String("embed", "", "endpoint for embeddings, for TestEvalMeaning")
	baselines  = flag.Bool("baselines", true, "measure BM25 and, with the program sqlite3, FTS5 too")
)

func TestEval(t *testing.T) {
	dirs := evalDirs(t)
	all := evaluation{t: t}
	for _, dir := range dirs {
		name := filepath.Base(dir)
		if sets := readSets(t, dir); len(sets) > 0 {
			all.measure(name, sets)
			continue
		}
		for kind, set := range plainSets(t, dir) {
			all.measure(name+"-"+kind, []judgedSet{set})
		}
		if name == "til" {
			for kind, set := range ownSets(t, dir) {
				all.measure(kind, []judgedSet{set})
			}
		}
	}
	all.print()
}

// TestEvalMeaning prints the quality of the order by words and meaning together, with the
// vectors of an endpoint.
func TestEvalMeaning(t *testing.T) {
	if *embedURL == "" {
		t.Skip("no endpoint for embeddings: give -embed URL")
	}
	defer http.DefaultClient.CloseIdleConnections()
	known := make(map[string][]float32)
	embed := func(texts ...string) {
		body, err := json.Marshal(map[string]any{"input": texts})
		must(t, err)
		res, err := http.Post(*embedURL, "application/json", bytes.NewReader(body))
		must(t, err)
		defer res.Body.Close()
		var answer struct {
			Data []struct{ Embedding []float32 }
		}
		must(t, json.NewDecoder(res.Body).Decode(&answer))
		for i, d := range answer.Data {
			known[texts[i]] = normalize(d.Embedding)
		}
	}
	all := evaluation{t: t, vectors: func(x *testIndex, questions []question) *exactVectors {
		var texts []string
		add := func(s string) {
			if _, ok := known[s]; !ok {
				known[s] = nil
				texts = append(texts, s)
			}
		}
		for _, doc := range x.documents() {
			for text := range Texts(doc) {
				add(text.Text)
			}
		}
		for _, q := range questions {
			add(q.Question)
		}
		for batch := range slices.Chunk(texts, 32) {
			embed(batch...)
		}
		return newExactVectors(func(s string) []float32 { return known[s] }, x.docs)
	}}
	*baselines = false
	for _, dir := range evalDirs(t) {
		all.measure(filepath.Base(dir), readSets(t, dir))
	}
	all.print()
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

// A judgedSet is a directory of files with judged questions about them, or such files.
type judgedSet struct {
	docs      string
	open      func() *testIndex // instead of docs, if not nil
	questions []question
}

func (s *judgedSet) index(t *testing.T) *testIndex {
	if s.open != nil {
		return s.open()
	}
	return openDir(t, s.docs)
}

// A question has the files of its answers, by path without .md, with their grades, or
// the lines of its evidence, or a part of the path or text of the answer.
type question struct {
	Conversation, Question string
	AsOf                   string `json:"as_of"`
	Gold                   []gold

	answer string
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
			sets = append(sets, judgedSet{docs: filepath.Join(dir, "by-conversation", conv), questions: byConv[conv]})
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
		sets = append(sets, judgedSet{docs: filepath.Join(part, "docs"), questions: readCollection(t, part)})
	}
	return sets
}

// plainSets returns questions about files without any: the names and first headings of all
// of them, and other forms of those of one of ten.
func plainSets(t *testing.T, dir string) map[string]judgedSet {
	t.Helper()
	days := t.TempDir()
	dir, err := filepath.EvalSymlinks(dir)
	must(t, err)
	x := openDir(t, dir)
	open := func() *testIndex { return x }
	name, title, typo, prefix := judgedSet{open: open}, judgedSet{open: open}, judgedSet{open: open}, judgedSet{open: open}
	day := judgedSet{docs: days}
	names, titles := map[string]int{}, map[string]int{}
	nameOf := func(doc *memory.Document) string {
		base := strings.TrimSuffix(filepath.Base(doc.Place.Path), ".md")
		if strings.EqualFold(base, "index") || strings.EqualFold(base, "readme") || !strings.ContainsFunc(base, unicode.IsLetter) ||
			len(doc.Entries) == 0 {
			return ""
		}
		return base
	}
	titleOf := func(doc *memory.Document) string {
		heading, ok := strings.CutPrefix(string(doc.Source), "# ")
		if !ok || len(doc.Entries) == 0 {
			return ""
		}
		heading, _, _ = strings.Cut(heading, "\n")
		return heading
	}
	for _, doc := range x.documents() {
		names[letters.FoldCase(nameOf(doc))]++
		titles[letters.FoldCase(titleOf(doc))]++
	}
	for i, doc := range x.documents() {
		path, text := doc.Place.Path, doc.Source
		about := map[string]float64{strings.TrimSuffix(path, ".md"): 1}
		if n := nameOf(doc); n != "" && names[letters.FoldCase(n)] == 1 {
			name.questions = append(name.questions, question{Question: n, grades: about})
		}
		heading := titleOf(doc)
		if heading != "" && titles[letters.FoldCase(heading)] == 1 {
			title.questions = append(title.questions, question{Question: strings.ReplaceAll(heading, `"`, " "), grades: about})
		}
		at := time.Date(2020, 1, 1+i, 0, 0, 0, 0, time.UTC)
		daily := at.Format(time.DateOnly)
		must(t, os.WriteFile(filepath.Join(days, daily+".md"), text, 0o600))
		words := strings.Fields(heading)
		if i%10 != 0 || len(words) < 3 {
			continue
		}
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
	return map[string]judgedSet{"name": name, "title": title, "typo": typo, "prefix": prefix, "day": day}
}

// ownSets returns the questions of the tests, to be asked beside the files of a directory.
func ownSets(t *testing.T, dir string) map[string]judgedSet {
	t.Helper()
	dir, err := filepath.EvalSymlinks(dir)
	must(t, err)
	beside := func(files map[string]string) func() *testIndex {
		return func() *testIndex {
			text, modified := readDir(t, dir)
			for path, s := range files {
				text[path], modified[path] = s, time.Unix(1, 0)
			}
			return openFiles(t, text, modified)
		}
	}
	sets := make(map[string]judgedSet)
	files, questions := headingFacts()
	sets["headings"] = judgedSet{open: beside(files), questions: questions}
	files, questions = everyday(t)
	sets["everyday"] = judgedSet{open: beside(files), questions: questions}
	return sets
}

// A quality holds the measures of one question. The mean of those of several is a quality,
// too.
type quality struct{ first, ndcg, five, ten float64 }

// qualityOf measures an order of ids, of which those with grades are right.
func qualityOf(ids []string, grades map[string]float64) (q quality) {
	found := func(n int) (share float64) {
		for i, id := range ids[:min(n, len(ids))] {
			if grades[id] > 0 && !slices.Contains(ids[:i], id) {
				share += 1 / float64(len(grades))
			}
		}
		return share
	}
	if len(ids) > 0 && grades[ids[0]] > 0 {
		q.first = 1
	}
	q.ndcg, q.five, q.ten = ndcg(ids, grades), found(5), found(10)
	return q
}

// A span is a hit: lines of a file, or a whole file.
type span struct {
	path      string
	line, end int
	text      string
}

// A judged is the result of one question in one unit, "entries" or "files".
type judged struct {
	set, unit, question string
	quality             quality
	others              map[string]quality // by baseline
}

// judge returns the quality of hits for the question.
func (q *question) judge(hits []span, files bool) quality {
	if files {
		var ids []string
		for _, h := range hits {
			ids = append(ids, strings.TrimSuffix(h.path, ".md"))
		}
		return qualityOf(ids, q.grades)
	}
	grades := make(map[string]float64)
	for _, g := range q.Gold {
		grades[fmt.Sprint(g)] = 1
	}
	if q.answer != "" {
		grades[q.answer] = 1
	}
	var ids []string
	for i, h := range hits {
		id := fmt.Sprint("other ", i)
		if q.answer != "" && strings.Contains(h.path+"\n"+h.text, q.answer) {
			id = q.answer
		}
		for _, g := range q.Gold {
			if h.path == g.Path && h.line <= g.Line && g.Line <= h.end && !slices.Contains(ids, fmt.Sprint(g)) {
				id = fmt.Sprint(g)
				break
			}
		}
		ids = append(ids, id)
	}
	return qualityOf(ids, grades)
}

// An evaluation collects the results of all sets.
type evaluation struct {
	t       *testing.T
	vectors func(*testIndex, []question) *exactVectors // nil to rank by words
	results []judged
}

func (e *evaluation) measure(name string, sets []judgedSet) {
	for _, set := range sets {
		if len(set.questions) == 0 {
			continue
		}
		x := set.index(e.t)
		for _, files := range []bool{false, true} {
			unit := "entries"
			if files {
				unit = "files"
			}
			var asked []question
			for _, q := range set.questions {
				if files && q.grades != nil || !files && (q.Gold != nil || q.answer != "") {
					asked = append(asked, q)
				}
			}
			if len(asked) == 0 {
				continue
			}
			from := len(e.results)
			var vectors *exactVectors
			if e.vectors != nil {
				vectors = e.vectors(x, asked)
			}
			for _, q := range asked {
				asOf, _ := time.Parse(time.DateOnly, q.AsOf)
				query := Query{Text: q.Question, Limit: 10, AsOf: asOf, Typing: q.typing, ByFile: files}
				if vectors != nil && !WordsOnly(q.Question) {
					query.Nearest = vectors.query(q.Question)
				}
				res := x.mustSearch(e.t, x.view, query)
				e.results = append(e.results, judged{name, unit, q.Question, q.judge(spansOf(res, files), files), map[string]quality{}})
			}
			if !*baselines {
				continue
			}
			texts := textsOf(x.documents(), files)
			for baseline, rank := range map[string]func([]span, []question) [][]span{"BM25": rankBM25, "FTS5": rankFTS5} {
				for i, hits := range rank(texts, asked) {
					e.results[from+i].others[baseline] = asked[i].judge(hits, files)
				}
			}
		}
	}
}

// spansOf returns the hits of a result, of files each once.
func spansOf(res Result, files bool) (list []span) {
	add := func(s span) {
		if !files || !slices.ContainsFunc(list, func(o span) bool { return o.path == s.path }) {
			list = append(list, s)
		}
	}
	for _, h := range res.Hits {
		add(span{h.Doc.Place.Path, h.Entry.Line, h.Entry.EndLine, h.Entry.Text})
		for _, o := range h.AlsoAt {
			if files {
				add(span{path: o.Path})
			}
		}
	}
	return list
}

// textsOf returns the texts that a baseline ranks: of files, the whole ones.
func textsOf(docs []*memory.Document, files bool) (list []span) {
	for _, doc := range docs {
		if files {
			list = append(list, span{path: doc.Place.Path, text: string(doc.Source)})
			continue
		}
		for _, e := range doc.Entries {
			list = append(list, span{doc.Place.Path, e.Line, e.EndLine, e.Text})
		}
	}
	return list
}

// print prints the means with intervals that contain 95 of 100 means of samples of the
// questions (bootstrap), and the differences from the baselines and from the results before.
func (e *evaluation) print() {
	var names []string
	bySet := make(map[string][]judged)
	for _, r := range e.results {
		name := r.set + " " + r.unit
		if bySet[name] == nil {
			names = append(names, name)
		}
		bySet[name] = append(bySet[name], r)
	}
	slices.Sort(names)
	before := readResults(e.t)
	fmt.Println("| set | questions | first | nDCG@10 | R@5 | R@10 | BM25 | FTS5 | nDCG@10 since before |\n|-|--:|--:|--:|--:|--:|--:|--:|--:|")
	for _, name := range names {
		rs := bySet[name]
		var mean quality
		var own, since []float64
		others := map[string]float64{}
		n, changed := float64(len(rs)), 0
		for _, r := range rs {
			q := r.quality
			mean = quality{mean.first + q.first/n, mean.ndcg + q.ndcg/n, mean.five + q.five/n, mean.ten + q.ten/n}
			own = append(own, q.ndcg)
			for baseline, q := range r.others {
				others[baseline] += q.ndcg / n
			}
			if was, ok := before[r.set+"\t"+r.unit+"\t"+strings.Join(strings.Fields(r.question), " ")]; ok {
				since = append(since, q.ndcg-was.ndcg)
				if math.Abs(q.ndcg-was.ndcg) > 1e-5 {
					changed++
				}
			}
		}
		low, high := interval(own)
		fmt.Printf("| %-22s | %4d | %.3f | %.4f [%.3f, %.3f] | %.3f | %.3f | %.3f | %.3f |", name, len(rs), mean.first, mean.ndcg,
			low, high, mean.five, mean.ten, others["BM25"], others["FTS5"])
		if len(since) > 0 {
			low, high = interval(since)
			fmt.Printf(" %+.4f [%+.3f, %+.3f] %d |", meanOf(since), low, high, changed)
		}
		fmt.Println()
	}
	if *resultsTo == "" {
		return
	}
	var b strings.Builder
	for _, r := range e.results {
		fmt.Fprintf(&b, "%s\t%s\t%s\t%.6f\t%.6f\t%.6f\t%.6f\n", r.set, r.unit, strings.Join(strings.Fields(r.question), " "), r.quality.first,
			r.quality.ndcg, r.quality.five, r.quality.ten)
	}
	must(e.t, os.WriteFile(*resultsTo, []byte(b.String()), 0o600))
}

// readResults returns the results before by set, unit and question.
func readResults(t *testing.T) map[string]quality {
	t.Helper()
	results := make(map[string]quality)
	if *beforeFrom == "" {
		return results
	}
	for _, line := range readLines(t, *beforeFrom) {
		f := strings.Split(line, "\t")
		var q quality
		_, err := fmt.Sscan(strings.Join(f[3:], " "), &q.first, &q.ndcg, &q.five, &q.ten)
		must(t, err)
		results[strings.Join(f[:3], "\t")] = q
	}
	return results
}

func meanOf(values []float64) (sum float64) {
	for _, v := range values {
		sum += v / float64(len(values))
	}
	return sum
}

// interval returns the bootstrap interval of a mean.
func interval(values []float64) (low, high float64) {
	r := rand.New(rand.NewPCG(1, 2))
	means := make([]float64, 1000)
	for i := range means {
		for range values {
			means[i] += values[r.IntN(len(values))] / float64(len(values))
		}
	}
	slices.Sort(means)
	return means[25], means[974]
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
			x := set.index(t)
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
