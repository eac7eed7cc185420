package index

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/memwatchd/memwatchd/memory"

	bleve "github.com/blevesearch/bleve_index_api"
)

// maxTerms bounds a query: what an agent pastes beyond that adds little.
const maxTerms = 128

// words is a query text taken apart.
type words struct {
	terms   []qterm  // distinct, in order
	phrases []string // squashed
}

// qterm is one term of a query.
type qterm struct {
	term   string
	weight float64
}

// parse takes a query text apart. Quotes make phrases, whose words are terms
// too; an unpaired quote is text. Stop words are left out, unless all is asked
// for or there is nothing else to look for.
func (a *analyzer) parse(text string, all bool) words {
	var w words
	seen := make(map[string]bool)
	text = quotes.Replace(text)
	var stops []qterm
	a.tokens(text, func(t token) {
		switch {
		case seen[t.term]:
		case !all && stopWords[t.term]:
			stops = append(stops, qterm{t.term, weightOf(t)})
		default:
			w.terms = append(w.terms, qterm{t.term, weightOf(t)})
		}
		seen[t.term] = true
	})
	if len(w.terms) == 0 {
		w.terms = stops
	}
	w.terms = w.terms[:min(len(w.terms), maxTerms)]
	w.phrases, _ = phrases(text)
	return w
}

// maxPhrases bounds a query's phrases: each is looked for in the text of every
// file that might hold it.
const maxPhrases = 32

// CheckText reports whether a query's text can be asked for.
func CheckText(text string) error {
	if quoted, _ := phrases(quotes.Replace(text)); len(quoted) > maxPhrases {
		return fmt.Errorf("%d phrases are more than %d", len(quoted), maxPhrases)
	}
	return nil
}

// CheckExclude is CheckText for what no hit may contain, of which nothing can be
// left out.
func CheckExclude(text string) error {
	if n := len(strings.Fields(squash(text))); n > maxTerms {
		return fmt.Errorf("%d words are more than %d", n, maxTerms)
	}
	return CheckText(text)
}

// phrases returns what stands in quotes, squashed, each once, and the rest.
func phrases(text string) (quoted []string, rest string) {
	var other strings.Builder
	seen := make(map[string]bool)
	for {
		before, after, _ := strings.Cut(text, `"`)
		phrase, next, ok := strings.Cut(after, `"`)
		other.WriteString(before + " ")
		if !ok {
			return quoted, other.String() + after
		}
		if s := squash(phrase); s != " " && !seen[s] {
			quoted, seen[s] = append(quoted, s), true
		}
		text = next
	}
}

// parseExclude takes apart what no hit may contain: words by their stems, and
// phrases. A word of a script without spaces is a phrase of its characters.
func (a *analyzer) parseExclude(text string) words {
	var w words
	quoted, rest := phrases(quotes.Replace(text))
	w.phrases = quoted
	for _, word := range strings.Fields(rest) {
		if strings.ContainsFunc(word, func(r rune) bool { return classOf(r) >= classCJK }) {
			w.phrases = append(w.phrases, squash(word))
			continue
		}
		a.tokens(word, func(t token) {
			if !t.part {
				w.terms = append(w.terms, qterm{term: t.term})
			}
		})
	}
	w.terms = w.terms[:min(len(w.terms), maxTerms)]
	return w
}

var quotes = strings.NewReplacer("“", `"`, "”", `"`, "„", `"`, "＂", `"`)

// weightOf makes single characters of a run and the parts of an identifier
// count less than the whole.
func weightOf(t token) float64 {
	if t.part && strings.HasSuffix(t.term, "*") {
		return tuning.prefix
	}
	if r := []rune(t.term); len(r) == 1 && classOf(r[0]) == classCJK {
		return tuning.unigram
	}
	return 1
}

// tuning holds the constants of ranking by relevance. They were chosen on
// judged collections; a change of one shows in the golden files.
var tuning = struct {
	k1, b         float64 // entry: short texts want little of either
	fileK1, fileB float64
	near          float64 // share of each neighbour's own score
	file          float64 // share of the file's score
	unigram       float64 // weight of a single Han character
	prefix        float64 // weight of a word's beginning
	recency       float64 // the most that being new adds, as a share
	halfLife      float64 // hours after which it is half of that
}{
	k1: 0.9, b: 0.3,
	fileK1: 1.2, fileB: 0.75,
	near: 0.2, file: 1,
	unigram: 0.5, prefix: 0.5,
	recency: 0.01, halfLife: 30 * 24,
}

// idf is the inverse document frequency of BM25 with one added, so that it is
// never negative (Robertson and Zaragoza 2009, as Lucene has it).
func idf(n, df int) float64 {
	return math.Log(1 + (float64(n)-float64(df)+0.5)/(float64(df)+0.5))
}

// bm25 is one term's part of a score (Robertson and Zaragoza 2009, (3.15)).
func bm25(idf, tf, length, average, k1, b float64) float64 {
	return idf * tf * (k1 + 1) / (tf + k1*(1-b+b*length/average))
}

// A candidate is an entry that matches.
type candidate struct {
	file  *file
	entry int32
	score float64
}

// before is the order of hits, and it is total: score, importance, newer time,
// path, place in the file.
func (c candidate) before(d candidate) bool {
	if c.score != d.score {
		return c.score > d.score
	}
	ce, de := &c.file.entries[c.entry], &d.file.entries[d.entry]
	if ce.importance != de.importance {
		return ce.importance > de.importance
	}
	if ce.time != de.time {
		return ce.time > de.time
	}
	if c.file.path != d.file.path {
		return c.file.path < d.file.path
	}
	return c.entry < d.entry
}

// search is one query on its way. It sees the index's table and one snapshot of
// bleve, and instead of the index's version of some files their present one.
type search struct {
	ctx      context.Context
	reader   bleve.IndexReader // nil when there is only the overlay
	table    *table
	over     *overlay
	view     memory.View
	query    *Query
	words    words
	analyzer *analyzer
	open     []*partition // that the view may read and that hold something

	files, entries  int // that the view may read
	length, filelen float64

	*scratch
	why   map[why]TermScore // with explain, as parts
	parts map[key]Why
	err   error
}

// scratch is the memory of a search, kept for the next one.
type scratch struct {
	accs  []acc
	at    []int32 // by file number: position in accs plus one
	cells []cell
	list  []found
	found []candidate
}

// found is one posting.
type found struct {
	ref
	slots
	acc int32
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// reset makes the memory ready for so many files.
func (s *scratch) reset(files int) {
	clear(s.accs) // they hold files
	clear(s.list)
	clear(s.found)
	s.accs, s.cells, s.list, s.found = s.accs[:0], s.cells[:0], s.list[:0], s.found[:0]
	if cap(s.at) < files {
		s.at = make([]int32, files+files/8)
	}
	s.at = s.at[:files]
	clear(s.at)
}

// grow adds n zero cells and returns where they begin.
func (s *scratch) grow(n int) int32 {
	first := len(s.cells)
	s.cells = slices.Grow(s.cells, n)[:first+n]
	clear(s.cells[first:])
	return int32(first)
}

// acc gathers what the terms say about one file.
type acc struct {
	file   *file
	first  int32   // of its cells: one for each entry
	length float64 // of what the view may read of it, in tokens
	tf     int     // of the term being added up, in tenths, plus one
	score  float64
	head   bool // a term stands in the head
}

// cell is one entry's own score and how many of the terms stand in it.
type cell struct {
	own  float64
	hits int32
}

// key names an entry.
type key struct {
	file  *file
	entry int32
}

// why names a part of a score, when the query wants them explained.
type why struct {
	file  *file
	entry int32
	term  int32
}

// refOf is where a block leads; overlaid files' blocks in the index lead
// nowhere.
func (s *search) refOf(number uint32) (ref, bool) {
	if int(number) >= len(s.table.refs) {
		return ref{}, false
	}
	r := s.table.refs[number]
	if r.file == nil || s.over.hides(r.file.path) {
		return ref{}, false
	}
	return r, true
}

// each calls fn for every block in the view's partitions that has the term,
// those of overlaid files included.
func (s *search) each(sort termSort, term string, fn func(ref, slots)) {
	for _, p := range s.open {
		if err := s.ctx.Err(); err != nil {
			s.err = err
			return
		}
		key := termKey(p.prefix, sort, term)
		if s.reader != nil {
			err := postings(s.ctx, s.reader, key, func(number uint32, v slots) {
				if r, ok := s.refOf(number); ok {
					fn(r, v)
				}
			})
			if err != nil {
				if s.ctx.Err() == nil {
					err = errDamaged{err}
				}
				s.err = err
				return
			}
		}
		s.over.each(p.Partition, termKey("", sort, term), fn)
	}
}

// begin finds out what there is to search.
func (s *search) begin() {
	for _, p := range s.view.Partitions() {
		part := partition{Partition: p, prefix: prefixOf(p)}
		if have := s.table.partitions[p]; have != nil {
			part = *have
		}
		s.over.adjust(&part, s.table)
		if part.files == 0 {
			continue
		}
		s.open = append(s.open, &part)
		s.files += part.files
		s.entries += part.entries
		s.length += float64(part.length)
		s.filelen += float64(part.filelen)
	}
	s.reset(len(s.table.byNumber) + s.over.len())
}

// of finds or makes the accumulator of a file.
func (s *search) of(f *file) int32 {
	i := s.at[f.number]
	if i == 0 {
		s.accs = append(s.accs, acc{file: f, first: s.grow(len(f.entries)), length: float64(f.length(s.view))})
		i = int32(len(s.accs))
		s.at[f.number] = i
	}
	return i - 1
}

// score adds up every term.
func (s *search) score() {
	avg := s.length / float64(max(s.entries, 1))
	avgFile := s.filelen / float64(max(s.files, 1))
	var touched []int32
	for i, t := range s.words.terms {
		s.list, touched = s.list[:0], touched[:0]
		df := 0
		s.each(sortWord, t.term, func(r ref, v slots) {
			a := s.of(r.file)
			if s.accs[a].tf == 0 {
				s.accs[a].tf = 1 // no more than a mark: a level is worth at least four
				touched = append(touched, a)
			}
			s.list = append(s.list, found{r, v, a})
			if r.block == 0 {
				v &^= 7
			}
			df += v.count()
		})
		if s.err != nil {
			return
		}
		weight := t.weight * idf(s.entries, df)
		for k := range s.list {
			p := &s.list[k]
			a := &s.accs[p.acc]
			n := entryOfSlot(int(p.block), 0)
			ordinals := p.file.parts[p.part].ordinals
			cells := s.cells[a.first:]
			for v := p.slots; v != 0; n, v = n+1, v>>3 {
				l := level(v & 7)
				if l == 0 {
					continue
				}
				a.tf += int(levelTenths[l])
				if n < 0 {
					a.head = true
					continue
				}
				e := n
				if ordinals != nil {
					e = int(ordinals[n])
				}
				tf := float64(levelTenths[l]) / 10
				part := bm25(weight, tf, float64(p.file.entries[e].length), avg, tuning.k1, tuning.b)
				cells[e].own += part
				if l > levelSection {
					cells[e].hits++
				}
				if s.why != nil {
					s.why[why{p.file, int32(e), int32(i)}] = TermScore{t.term, weight, tf, part}
				}
			}
		}
		weight = t.weight * idf(s.files, len(touched))
		for _, n := range touched {
			a := &s.accs[n]
			a.score += bm25(weight, float64(a.tf-1)/10, a.length, avgFile, tuning.fileK1, tuning.fileB)
			a.tf = 0
		}
	}
}

// relevance calls fn for each entry that matches, file by file, with its score
// and how many of the terms stand in it. Files that pass says no to are left
// out.
func (s *search) relevance(pass func(*file) bool, fn func(f *file, e int, hits int32, score float64)) {
	now := s.query.AsOf.UnixNano()
	var own []int // entries of one file that the view may read
	for i := range s.accs {
		a := &s.accs[i]
		if !pass(a.file) {
			continue
		}
		own = a.file.readable(s.view, own[:0])
		any := false
		cells := s.cells[a.first : int(a.first)+len(a.file.entries)]
		for k, e := range own {
			if cells[e].own == 0 {
				continue
			}
			any = true
			near := 0.0
			if k > 0 {
				near += cells[own[k-1]].own
			}
			if k+1 < len(own) {
				near += cells[own[k+1]].own
			}
			fn(a.file, e, cells[e].hits, s.sum(now, a.file, e, cells[e].own, near, a.score))
		}
		// A file that only its head matches is shown by its first entry.
		if !any && a.head && len(own) > 0 {
			fn(a.file, own[0], 0, s.sum(now, a.file, own[0], 0, 0, a.score))
		}
	}
}

// sum is the score of an entry: its own, its neighbours' and its file's, and a
// little for being new. With explain its parts are kept.
func (s *search) sum(now int64, f *file, e int, own, near, file float64) float64 {
	near *= tuning.near
	file *= tuning.file
	base := own + near + file
	recency := base * tuning.recency * freshness(now, f.entries[e].time)
	if s.query.Explain {
		s.parts[key{f, int32(e)}] = Why{Own: own, Near: near, File: file, Recency: recency}
	}
	return base + recency
}

// freshness is 1 for now and a half when a half-life has passed.
func freshness(now, t int64) float64 {
	if t == noTime {
		return 0
	}
	return tuning.halfLife / (tuning.halfLife + hours(now, t))
}

// hours is an age; it is never negative.
func hours(now, t int64) float64 {
	if t >= now {
		return 0
	}
	return float64(now-t) / 3.6e12
}

// overlap is the exact score of an entry of which hits of the query's distinct
// tokens were found in text or tags.
func overlapScore(q *Query, e *entry, hits, tokens int) (float64, Why) {
	var w Why
	if tokens > 0 {
		w.Text = float64(hits) / float64(tokens)
	}
	if e.time != noTime {
		w.Recency = 1 / (1 + hours(q.AsOf.UnixNano(), e.time))
	}
	w.Importance = e.importance
	return w.Text*(1-q.Bias) + w.Recency*q.Bias + w.Importance*0.15, w
}
