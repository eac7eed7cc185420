package index

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/internal/secrets"
)

const (
	minTypo        = 4  // letters of a word that can be corrected
	maxCorrections = 3  // terms that replace a word
	maxSimilar     = 64 // similar terms that are compared by frequency

	// Words that begin with the typed one may be misspelled themselves if they are
	// in at most maxRare blocks, and a word one edit away is in minCommon times as many.
	maxRare   = 2
	minCommon = 5
)

// typoOf returns an unquoted token as a word that may be misspelled, in lower
// case, or "".
func typoOf(text string, t token) string {
	word := text[t.start:t.end]
	if t.subword || utf8.RuneCountInString(word) < minTypo ||
		strings.ContainsFunc(word, func(r rune) bool { return classOf(r) != classLetter }) {
		return ""
	}
	return strings.ToLower(word)
}

// correctTerm adds the terms that replace the i-th term, which no readable file
// contains. The more frequent one of several similar words is the more likely one, so
// its occurrences count more, although it is less rare.
func (s *search) correctTerm(i int) {
	t := s.words.terms[i]
	q := s.query
	if t.typo == "" || len(s.words.list) > maxListed || q.KeepTypos || q.Mode == Overlap || q.Cover {
		return
	}
	similar := s.similarTerms(t)
	most := 0 // blocks of the most frequent term
	for _, a := range similar {
		most = max(most, a.blocks)
	}
	files := max(s.readable.files, most) // a file can have several blocks
	for _, a := range similar {
		weight := t.weight * tuning.typo * idf(files, most) / idf(files, a.blocks) * math.Sqrt(float64(a.blocks)/float64(most))
		s.insertTerm(&i, qterm{term: a.term, weight: weight, corrects: t.typo})
	}
}

// A similarTerm is a term that a misspelled word may stand for.
type similarTerm struct {
	term   string
	edits  int // none if the term begins with the word
	blocks int // that contain the term
}

// similarTerms returns the readable terms that a misspelled word most likely
// stands for: those that begin with the word, as if it is still being typed, and if
// these are rare, frequent ones that are one edit away; or else those that are one edit
// away. More frequent terms come first.
func (s *search) similarTerms(t qterm) []similarTerm {
	found := make(map[string]int) // edits of each term
	similar, err := similarTo(t.term)
	if err != nil {
		s.err = err
		return nil
	}
	// The ending of a misspelled word may leave another stem, as in certficate, so the
	// words one edit away are stemmed again.
	for _, word := range editsOf(t.typo) {
		s.analyzer.eachToken(word, func(t token) {
			if found[t.term] == 0 && !t.subword {
				if ok, _ := similar.MatchAndDistance(t.term); !ok {
					found[t.term] = 1
				}
			}
		})
	}
	add := func(term string) {
		if classOf(firstRune(term)) == classLetter {
			_, distance := similar.MatchAndDistance(term)
			found[term] = int(distance)
		}
	}
	for _, p := range s.readable.partitions {
		if err := s.postings.eachSimilar(s.ctx, p.prefix+termKey(kindWord, ""), similar, add); err != nil {
			s.err = s.damaged(err)
			return nil
		}
	}
	for _, term := range s.completionsOf(t.typo) {
		found[term] = 0
	}
	return s.mostFrequent(found)
}

// mostFrequent returns the terms with the fewest edits that are in the most
// blocks, and frequent terms one edit away if only rare ones begin with the word. Terms
// that are not readable are left out.
func (s *search) mostFrequent(found map[string]int) []similarTerm {
	var list []similarTerm
	for term, n := range found {
		if utf8.RuneCountInString(term) >= minTypo-1 {
			list = append(list, similarTerm{term: term, edits: n})
		}
	}
	slices.SortFunc(list, func(a, b similarTerm) int {
		return cmp.Or(cmp.Compare(a.edits, b.edits), cmp.Compare(a.term, b.term))
	})
	kept := list[:0] // a stem of the word may be in no block
	for _, a := range list {
		if len(kept) == maxSimilar {
			break
		}
		s.eachBlock(termKey(kindWord, a.term), func(uint32, ref, slots) { a.blocks++ })
		if a.blocks > 0 {
			kept = append(kept, a)
		}
	}
	list = kept
	if len(list) == 0 {
		return nil
	}
	least, longer := list[0].edits, 0 // blocks of the most frequent term that begins with the word
	for _, a := range list {
		if a.edits == 0 {
			longer = max(longer, a.blocks)
		}
	}
	list = slices.DeleteFunc(list, func(a similarTerm) bool {
		return a.edits != least && (longer > maxRare || a.blocks < minCommon*longer)
	})
	slices.SortFunc(list, func(a, b similarTerm) int {
		return cmp.Or(cmp.Compare(b.blocks, a.blocks), cmp.Compare(a.term, b.term))
	})
	return list[:min(len(list), maxCorrections)]
}

// editsOf returns the words that a word becomes by removing, swapping, inserting or
// replacing one letter.
func editsOf(word string) (list []string) {
	first, last := 'a', 'z'
	if scriptOf(firstRune(word)) == scriptCyrillic {
		first, last = 'а', 'я'
	}
	letters := []rune(word)
	for i := range letters {
		before, letter, after := string(letters[:i]), string(letters[i]), string(letters[i+1:])
		list = append(list, before+after)
		if i+1 < len(letters) {
			list = append(list, before+string(letters[i+1])+letter+string(letters[i+2:]))
		}
		for r := first; r <= last; r++ {
			list = append(list, before+string(r)+after, before+letter+string(r)+after)
		}
	}
	return list
}

func firstRune(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

func (s *search) corrections(hits []Hit) (list []Correction) {
	corrects := make(map[string][]string) // by term
	for _, t := range s.words.terms {
		if t.corrects != "" {
			corrects[t.term] = append(corrects[t.term], t.corrects)
		}
	}
	if len(corrects) == 0 {
		return nil
	}
	for _, h := range hits {
		// A word of a credential would not be recognized as such by itself.
		text, _ := secrets.Redact(strings.Join(append([]string{h.Entry.Text, h.Doc.Place.Path}, headingsOf(h.Doc, h.Entry)...), "\n"))
		s.analyzer.eachToken(text, func(t token) {
			words, ok := corrects[t.term]
			if !ok || strings.ContainsFunc(text[t.start:t.end], unicode.IsDigit) {
				return
			}
			delete(corrects, t.term)
			to := strings.ToLower(text[t.start:t.end])
			for _, word := range words {
				i := slices.IndexFunc(list, func(c Correction) bool { return c.Word == word })
				if i < 0 {
					list = append(list, Correction{Word: word})
					i = len(list) - 1
				}
				list[i].To = append(list[i].To, to)
			}
		})
	}
	return list
}
