package index

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/secrets"
)

// A Correction is a word of a query that no readable entry contains, and similar
// words that the hits contain instead.
type Correction struct {
	Word string
	To   []string
}

const (
	minTypo        = 4  // letters of a word that can be corrected
	minTwoEdits    = 8  // letters of a word in which two edits are corrected
	maxCorrections = 3  // terms that replace a word
	maxSimilar     = 64 // similar terms that are compared by frequency

	// maxTypoWords is the maximum number of words in a query whose words are
	// corrected. A long text contains many words that are right and occur
	// nowhere, and does not depend on a single word.
	maxTypoWords = 12
	// maxTwoEditWords is the maximum number of words in a query in which two
	// edits are corrected, which takes longer to search.
	maxTwoEditWords = 3
)

// typoOf returns an unquoted token as a word that may be misspelled, in lower
// case, or "".
func typoOf(text string, t token) string {
	word := text[t.start:t.end]
	if t.subword || utf8.RuneCountInString(word) < minTypo {
		return ""
	}
	if strings.ContainsFunc(word, func(r rune) bool { return classOf(r) != classLetter }) {
		return ""
	}
	return strings.ToLower(word)
}

// correctTerm adds the terms that replace the i-th term, which no readable file
// contains.
func (s *search) correctTerm(i int) error {
	t := s.words.terms[i]
	q := s.query
	if t.typo == "" || s.words.wordCount > maxTypoWords || s.postings == nil || q.KeepTypos || q.Mode == Overlap || q.Cover {
		return nil
	}
	similar, err := s.similarTerms(t)
	if err != nil {
		return err
	}
	for _, term := range similar {
		s.insertTerm(&i, qterm{term: term, weight: t.weight * tuning.typo, corrects: t.typo})
	}
	return nil
}

// similarTerms returns the readable terms that a misspelled word most likely
// stands for: one edit away or beginning with the word, or two edits away in a long
// word that has no such terms. More frequent terms come first.
func (s *search) similarTerms(t qterm) ([]string, error) {
	edits := 1
	if utf8.RuneCountInString(t.typo) >= minTwoEdits && s.words.wordCount <= maxTwoEditWords {
		edits = 2
	}
	found := make(map[string]int) // edits of each term
	// The ending of a misspelled word may leave another stem, so words with two
	// letters swapped or a letter too many are stemmed again.
	letters := []rune(t.typo)
	for i := range letters {
		s.analyzer.addStem(found, slices.Delete(slices.Clone(letters), i, i+1))
		if i > 0 {
			swapped := slices.Clone(letters)
			swapped[i-1], swapped[i] = swapped[i], swapped[i-1]
			s.analyzer.addStem(found, swapped)
		}
	}
	for _, p := range s.partitions {
		key := termKey(p.prefix, kindWord, "")
		err := s.postings.eachSimilar(s.ctx, key, t.term, edits, func(term string) {
			if classOf(firstRune(term)) != classLetter {
				return
			}
			n := editDistance(t.term, term)
			if n <= edits && (n == 1 || firstRune(term) == firstRune(t.term)) {
				found[term] = n
			}
		})
		if err != nil {
			return nil, s.damaged(err)
		}
	}
	longer, err := s.termsWithPrefix(kindWord, t.typo)
	if err != nil {
		return nil, err
	}
	for _, term := range longer {
		found[term] = 1
	}
	return s.mostFrequent(found)
}

// mostFrequent returns the terms with the fewest edits that are in the most
// blocks. Terms that are not readable are left out.
func (s *search) mostFrequent(found map[string]int) ([]string, error) {
	type similar struct {
		term   string
		edits  int
		blocks int
	}
	var list []similar
	for term, n := range found {
		if utf8.RuneCountInString(term) >= minTypo-1 {
			list = append(list, similar{term: term, edits: n})
		}
	}
	slices.SortFunc(list, func(a, b similar) int {
		return cmp.Or(cmp.Compare(a.edits, b.edits), cmp.Compare(a.term, b.term))
	})
	list = list[:min(len(list), maxSimilar)]
	for i := range list {
		s.eachBlock(kindWord, list[i].term, func(uint32, ref, slots) { list[i].blocks++ })
	}
	list = slices.DeleteFunc(list, func(a similar) bool { return a.blocks == 0 })
	slices.SortFunc(list, func(a, b similar) int {
		return cmp.Or(cmp.Compare(a.edits, b.edits), cmp.Compare(b.blocks, a.blocks), cmp.Compare(a.term, b.term))
	})
	var terms []string
	for _, a := range list[:min(len(list), maxCorrections)] {
		if a.edits == list[0].edits {
			terms = append(terms, a.term)
		}
	}
	return terms, s.err
}

// addStem adds the stem of a word, one edit away, to found.
func (a *analyzer) addStem(found map[string]int, word []rune) {
	a.eachToken(string(word), func(t token) {
		if !t.subword {
			found[t.term] = 1
		}
	})
}

func firstRune(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

// editDistance returns the number of insertions, deletions, substitutions and
// swaps of neighbouring letters that turn a into b.
func editDistance(a, b string) int {
	from, to := []rune(a), []rune(b)
	before, last := make([]int, len(to)+1), make([]int, len(to)+1)
	for j := range last {
		last[j] = j
	}
	for i := range from {
		row := make([]int, len(to)+1)
		row[0] = i + 1
		for j := range to {
			substituted := last[j]
			if from[i] != to[j] {
				substituted++
			}
			row[j+1] = min(substituted, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && from[i] == to[j-1] && from[i-1] == to[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(to)]
}

// corrections returns the corrected words of the query, with the words of the
// hits that replace them.
func (p *page) corrections(hits []Hit) (list []Correction) {
	corrects := make(map[string]string) // by term
	for _, t := range p.words.terms {
		if t.corrects != "" {
			corrects[t.term] = t.corrects
		}
	}
	if len(corrects) == 0 {
		return nil
	}
	for _, h := range hits {
		// A word of a credential would not be recognized as such by itself.
		text, _ := secrets.Redact(strings.Join(append([]string{h.Entry.Text, h.Doc.Place.Path}, h.Entry.Sections...), "\n"))
		p.analyzer.eachToken(text, func(t token) {
			word, ok := corrects[t.term]
			if !ok || strings.ContainsFunc(text[t.start:t.end], unicode.IsDigit) {
				return
			}
			delete(corrects, t.term)
			to := strings.ToLower(text[t.start:t.end])
			i := slices.IndexFunc(list, func(c Correction) bool { return c.Word == word })
			if i < 0 {
				list = append(list, Correction{Word: word})
				i = len(list) - 1
			}
			list[i].To = append(list[i].To, to)
		})
	}
	return list
}
