package main

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/memwatchd/memwatchd/api"
)

// A question is one search, for memwatchd and its rivals.
type question struct {
	Words   []string
	Public  bool // in a context where others can read the answer
	Overlap bool
	Now     bool // does not wait for recent saves
	Kind    string
	Type    string
	Dir     string // only files of this directory
	Tag     string
	Since   time.Time
}

func (q question) request() api.SearchRequest {
	list := func(value string) []string {
		if value == "" {
			return nil
		}
		return []string{value}
	}
	r := api.SearchRequest{Query: strings.Join(q.Words, " "), Kinds: list(q.Kind), Types: list(q.Type), Tags: list(q.Tag)}
	if q.Public {
		r.Context, r.Subject = new("public"), new("owner")
	}
	if q.Overlap {
		r.Mode = "overlap"
	}
	if q.Now {
		r.Sync = new(false)
	}
	if q.Dir != "" {
		r.Path = q.Dir + "/*.md"
	}
	if !q.Since.IsZero() {
		r.Since = q.Since.Format(time.DateOnly)
	}
	return r
}

type quiz struct {
	Name  string
	Like  string // name of the quiz with equal questions for a rival; empty if there is none
	Plain bool   // only words, without conditions
	List  []question
}

func (z *quiz) forRival() bool { return z.Like == z.Name }

// A census describes the content of a tree.
type census struct {
	files, entries int
	private        int // entries that the owner may read in private
	public         int // entries that the owner may read in public
	bytes          int64
	sample         []entry  // entries that the owner may read
	own            []string // files whose last entry the owner may read
}

// takeCensus counts the files and entries of a tree and draws a sample of
// entries for questions. Each entry is equally likely, and the sample does not
// depend on the order in which files are read.
func takeCensus(ctx context.Context, root string, seed uint64) (*census, error) {
	const keep = 20_000
	type drawn struct {
		lot uint64
		entry
	}
	var sample []drawn
	best := func() {
		slices.SortFunc(sample, func(a, b drawn) int {
			return cmp.Or(cmp.Compare(a.lot, b.lot), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line))
		})
		sample = slices.Delete(sample, min(keep, len(sample)), len(sample))
	}
	c := &census{}
	err := parseTree(ctx, root, func(list []entry) error {
		c.files++
		if n := len(list); n > 0 && list[n-1].readable(true) {
			c.own = append(c.own, list[n-1].Path)
		}
		for _, e := range list {
			c.entries++
			if e.readable(false) {
				c.public++
			}
			if e.readable(true) {
				c.private++
				h := fnv.New64a()
				fmt.Fprint(h, seed, e.Path, e.Line)
				sample = append(sample, drawn{h.Sum64(), e})
			}
		}
		if len(sample) > 2*keep {
			best()
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	best()
	for _, d := range sample {
		c.sample = append(c.sample, d.entry)
	}
	slices.Sort(c.own)
	c.bytes, err = diskSize(root)
	return c, err
}

// quizzes returns the questions of one run. The words of a question occur
// together in some entry, because people search for content that they remember.
// Ubiquitous words are excluded.
func (c *census) quizzes(seed uint64, each int) []quiz {
	r := rand.New(rand.NewPCG(seed, 8))
	var list []quiz
	add := func(name, like string, words int, change func(*question, *entry) bool) {
		q := quiz{Name: name, Like: like}
		asked := map[string]bool{}
		for tries := 0; len(q.List) < each && tries < 200*each; tries++ {
			e := &c.sample[r.IntN(len(c.sample))]
			found := pick(r, e.Text, words)
			key := strings.Join(found, " ")
			if len(found) < words || asked[key] {
				continue
			}
			one := question{Words: found}
			if !change(&one, e) {
				continue
			}
			asked[key] = true
			q.List = append(q.List, one)
		}
		if len(q.List) > 0 {
			list = append(list, q)
		}
	}
	rival := func(name string, words int, change func(*question, *entry) bool) { add(name, name, words, change) }
	sizes := []int{1, 3, 8}
	for _, n := range sizes {
		rival(count(n, "word"), n, func(*question, *entry) bool { return true })
		list[len(list)-1].Plain = true
	}
	for _, n := range sizes {
		add(count(n, "word")+", sync=false", count(n, "word"), n, func(q *question, _ *entry) bool {
			q.Now = true
			return true
		})
	}
	for _, n := range sizes {
		rival(count(n, "word")+", public context", n, func(q *question, e *entry) bool {
			q.Public = true
			return e.readable(false)
		})
	}
	rival("3 words, one kind", 3, func(q *question, e *entry) bool {
		q.Kind = e.Kind
		return true
	})
	rival("3 words, one type", 3, func(q *question, e *entry) bool {
		q.Type = e.Type
		return true
	})
	rival("3 words, one directory", 3, func(q *question, e *entry) bool {
		q.Dir = path.Dir(e.Path)
		return q.Dir != "."
	})
	rival("3 words, since a day", 3, func(q *question, e *entry) bool {
		q.Since = e.Time
		return !e.Time.IsZero()
	})
	rival("3 words, one tag", 3, func(q *question, e *entry) bool {
		if len(e.Tags) == 0 {
			return false
		}
		q.Tag = e.Tags[r.IntN(len(e.Tags))]
		return true
	})
	for _, n := range sizes {
		add(count(n, "word")+", mode overlap", "", n, func(q *question, _ *entry) bool {
			q.Overlap = true
			return true
		})
	}
	return list
}

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// common contains words that are not worth searching for.
var common = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(functionWords + " md http https www com") {
		m[w] = true
	}
	return m
}()

// pick returns n distinct words of a text, in random order, or nil if the text
// has fewer.
func pick(r *rand.Rand, text string, n int) []string {
	var all []string
	seen := map[string]bool{}
	for _, word := range wordsOf(text) {
		if low := strings.ToLower(word); !seen[low] && !common[low] {
			seen[low] = true
			all = append(all, word)
		}
	}
	if len(all) < n {
		return nil
	}
	r.Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] })
	return all[:n]
}

// wordsOf returns the words of a text that are worth searching for: words of
// letters and digits, and pairs of Chinese characters.
func wordsOf(text string) []string {
	var list []string
	for run := range strings.FieldsFuncSeq(text, func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c) && c != '\'' && c != '_'
	}) {
		var word, han []rune
		flush := func() {
			if len(word) > 1 {
				list = append(list, strings.Trim(string(word), "'_"))
			}
			for i := 0; i+1 < len(han); i += 2 {
				list = append(list, string(han[i:i+2]))
			}
			word, han = nil, nil
		}
		for _, c := range run {
			switch isHan := unicode.Is(unicode.Han, c); {
			case isHan && strings.ContainsRune(particles, c):
				flush()
			case isHan && len(word) > 0, !isHan && len(han) > 0:
				flush()
				fallthrough
			default:
				if isHan {
					han = append(han, c)
				} else {
					word = append(word, c)
				}
			}
		}
		flush()
	}
	return list
}
