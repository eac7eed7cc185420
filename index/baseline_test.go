package index

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"
	"golang.org/x/text/unicode/norm"
)

// The baselines of TestEval rank the files of a collection as whole texts.

// An evalDoc is a file of a collection.
type evalDoc struct{ id, text string }

func readDocs(t *testing.T, root string) (docs []evalDoc) {
	t.Helper()
	for _, path := range (&dirSource{root: root}).paths(t) {
		text, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		docs = append(docs, evalDoc{strings.TrimSuffix(path, ".md"), strings.TrimPrefix(string(text), "# ")})
	}
	return docs
}

// plainStop contains the stop words of Lucene.
var plainStop = strings.Fields(`a an and are as at be but by for if in into is it no not of on or such that the their then
	there these they this to was will with`)

// eachPlainWord calls emit for each word of a text: letters, digits and marks in
// lower case. A run of Chinese, Japanese or Korean is one word.
func eachPlainWord(text string, emit func(word string, run bool)) {
	isRun := func(r rune) bool { c := classOf(r); return c == classCJK || c == classHangul }
	for word := range strings.FieldsFuncSeq(strings.ToLower(norm.NFKC.String(text)), func(r rune) bool {
		c := classOf(r)
		return c == classNone || c == classJoin
	}) {
		for word != "" {
			run := isRun(firstRune(word))
			end := strings.IndexFunc(word, func(r rune) bool { return isRun(r) != run })
			if end < 0 {
				end = len(word)
			}
			emit(word[:end], run)
			word = word[end:]
		}
	}
}

// plainTerms returns the terms of a text for BM25: stems without stop words, and the
// pairs of adjacent characters of a run.
func plainTerms(env *snowballstem.Env, text string) (terms []string) {
	eachPlainWord(text, func(word string, run bool) {
		switch runes := []rune(word); {
		case run && len(runes) > 1:
			for i := range len(runes) - 1 {
				terms = append(terms, string(runes[i:i+2]))
			}
		case slices.Contains(plainStop, word):
		default:
			env.SetCurrent(word)
			english.Stem(env)
			terms = append(terms, env.Current())
		}
	})
	return terms
}

// plainBM25 returns a function that ranks documents by BM25 with k1 1.2 and b 0.75,
// and returns the ids of the first ten.
func plainBM25(docs []evalDoc) func(query string) []string {
	const k1, b = 1.2, 0.75
	env := snowballstem.NewEnv("")
	postings := make(map[string]map[int]float64) // frequencies by term and document
	lengths := make([]float64, len(docs))
	sum := 0.0
	for n, doc := range docs {
		for _, term := range plainTerms(env, doc.text) {
			if postings[term] == nil {
				postings[term] = make(map[int]float64)
			}
			postings[term][n]++
			lengths[n]++
			sum++
		}
	}
	return func(query string) (ids []string) {
		scores := make(map[int]float64)
		for _, term := range plainTerms(env, query) {
			df := float64(len(postings[term]))
			rarity := math.Log(1 + (float64(len(docs))-df+0.5)/(df+0.5))
			for n, tf := range postings[term] {
				scores[n] += rarity * tf / (tf + k1*(1-b+b*lengths[n]*float64(len(docs))/sum))
			}
		}
		best := slices.SortedFunc(maps.Keys(scores), func(n, m int) int {
			return cmp.Or(cmp.Compare(scores[m], scores[n]), cmp.Compare(n, m))
		})
		for _, n := range best[:min(10, len(best))] {
			ids = append(ids, docs[n].id)
		}
		return ids
	}
}

// fts5 returns the ids of the first ten documents for each query by its number, as
// ranked by SQLite with the porter tokenizer and any of the words. It returns
// nil if the command sqlite3 is missing.
func fts5(t *testing.T, docs []evalDoc, questions []question) map[int][]string {
	t.Helper()
	program, err := exec.LookPath("sqlite3")
	if err != nil {
		return nil
	}
	quote := func(s string) string {
		return "'" + strings.ReplaceAll(strings.ReplaceAll(s, "\x00", " "), "'", "''") + "'"
	}
	var sql strings.Builder
	sql.WriteString(".mode json\nBEGIN;\n")
	sql.WriteString("CREATE VIRTUAL TABLE t USING fts5(id UNINDEXED, text, tokenize='porter unicode61');\n")
	for _, doc := range docs {
		fmt.Fprintf(&sql, "INSERT INTO t VALUES (%s, %s);\n", quote(doc.id), quote(doc.text))
	}
	sql.WriteString("COMMIT;\n")
	for n, q := range questions {
		var words []string
		eachPlainWord(q.Question, func(word string, _ bool) { words = append(words, `"`+word+`"`) })
		if len(words) > 0 {
			fmt.Fprintf(&sql, "SELECT %d AS query, id FROM t WHERE t MATCH %s ORDER BY bm25(t), rowid LIMIT 10;\n", n,
				quote(strings.Join(words, " OR ")))
		}
	}
	cmd := exec.Command(program, ":memory:")
	cmd.Stdin, cmd.Stderr = strings.NewReader(sql.String()), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("sqlite3: %v", err)
	}
	found := make(map[int][]string)
	for answers := json.NewDecoder(strings.NewReader(string(out))); answers.More(); {
		var rows []struct {
			Query int
			ID    string
		}
		if err := answers.Decode(&rows); err != nil {
			t.Fatalf("sqlite3: %v", err)
		}
		for _, row := range rows {
			found[row.Query] = append(found[row.Query], row.ID)
		}
	}
	return found
}
