package index

import (
	"cmp"
	"fmt"
	"math"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"
)

// The baselines rank the same texts without any rule of this package.

// stops contains the English stop words of bleve.
var stops = func() map[string]bool {
	all := make(map[string]bool)
	for _, w := range strings.Fields(string(en.EnglishStopWords)) {
		all[w] = true
	}
	return all
}()

// baselineWords returns the English stems of a text, and of Chinese and Japanese the
// characters and their pairs.
func baselineWords(text string) (words []string) {
	isRun := func(r rune) bool {
		return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
	}
	var before rune // the character before in a run, or 0
	word := ""
	flush := func() {
		if word != "" && !stops[word] {
			env := snowballstem.NewEnv(word)
			english.Stem(env)
			words = append(words, env.Current())
		}
		word = ""
	}
	for _, r := range strings.ToLower(text) {
		if isRun(r) {
			flush()
			words = append(words, string(r))
			if before != 0 {
				words = append(words, string([]rune{before, r}))
			}
			before = r
			continue
		}
		before = 0
		if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) {
			word += string(r)
		} else {
			flush()
		}
	}
	flush()
	return words
}

// rankBM25 ranks by BM25 with k1 0.9 and b 0.4.
func rankBM25(texts []span, questions []question) (all [][]span) {
	type posting struct{ text, tf int }
	lists := make(map[string][]posting)
	lengths, total := make([]float64, len(texts)), 0.0
	for i, s := range texts {
		for _, w := range baselineWords(s.text) {
			list := lists[w]
			if n := len(list) - 1; n >= 0 && list[n].text == i {
				list[n].tf++
			} else {
				lists[w] = append(list, posting{i, 1})
			}
			lengths[i]++
		}
		total += lengths[i]
	}
	n := float64(len(texts))
	for _, q := range questions {
		scores := make(map[int]float64)
		for _, w := range baselineWords(q.Question) {
			df := float64(len(lists[w]))
			for _, p := range lists[w] {
				tf := float64(p.tf)
				scores[p.text] += math.Log(1+(n-df+0.5)/(df+0.5)) * tf * 1.9 / (tf + 0.9*(0.6+0.4*lengths[p.text]*n/total))
			}
		}
		var order []int
		for i := range scores {
			order = append(order, i)
		}
		slices.SortFunc(order, func(i, k int) int { return cmp.Or(cmp.Compare(scores[k], scores[i]), cmp.Compare(i, k)) })
		var hits []span
		for _, i := range order[:min(10, len(order))] {
			hits = append(hits, texts[i])
		}
		all = append(all, hits)
	}
	return all
}

// rankFTS5 ranks with SQLite's FTS5 and its Porter stems, or returns nothing without the
// program sqlite3.
func rankFTS5(texts []span, questions []question) (all [][]span) {
	var script strings.Builder
	script.WriteString("create virtual table t using fts5(a, tokenize='porter unicode61'); begin;\n")
	for i, s := range texts {
		fmt.Fprintf(&script, "insert into t(rowid, a) values (%d, '%s');\n", i+1,
			strings.NewReplacer("'", "''", "\x00", "").Replace(strings.ToValidUTF8(s.text, "")))
	}
	script.WriteString("commit;\n")
	for _, q := range questions {
		words := strings.FieldsFunc(q.Question, func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
		})
		for i, w := range words {
			words[i] = `"` + w + `"`
		}
		if len(words) > 0 {
			fmt.Fprintf(&script, "select rowid from t where t match '%s' order by rank limit 10;\n", strings.Join(words, " OR "))
		}
		script.WriteString("select 'end';\n")
	}
	sqlite := exec.Command("sqlite3", ":memory:")
	sqlite.Stdin = strings.NewReader(script.String())
	out, err := sqlite.Output()
	if err != nil {
		return nil
	}
	var hits []span
	for _, line := range strings.Fields(string(out)) {
		if n, err := strconv.Atoi(line); err == nil {
			hits = append(hits, texts[n-1])
			continue
		}
		all, hits = append(all, hits), nil
	}
	return all
}
