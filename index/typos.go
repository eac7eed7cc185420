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
	minTypo        = 4 // letters of a word that can be corrected
	maxCorrections = 3 // terms that replace a word
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
		weight := t.weight * tuning.typo * idf(files, most) / idf(files, a.blocks) *
			math.Sqrt(float64(a.blocks)/float64(most))
		s.insertTerm(&i, qterm{term: a.term, weight: weight, corrects: t.typo})
	}
}

// A similarTerm is a term that a misspelled word may stand for.
type similarTerm struct {
	term   string
	blocks int // that contain the term
}

// similarTerms returns the readable terms that a misspelled word most likely stands for:
// the most frequent of those that are one edit away, and of those that begin with the
// word, as if it is still being typed. The word is compared as written, because an edit
// can leave another stem.
func (s *search) similarTerms(t qterm) (list []similarTerm) {
	found := make(map[string]bool)
	for _, word := range editsOf(t.typo) {
		s.analyzer.eachToken(word, func(t token) {
			if !t.subword {
				found[t.term] = true
			}
		})
	}
	for _, term := range s.completionsOf(t.typo) {
		found[term] = true
	}
	for term := range found {
		a := similarTerm{term: term}
		if utf8.RuneCountInString(term) >= minTypo-1 {
			s.eachBlock(termKey(kindWord, term), func(uint32, ref, slots) { a.blocks++ })
		}
		if a.blocks > 0 {
			list = append(list, a)
		}
	}
	slices.SortFunc(list, func(a, b similarTerm) int {
		return cmp.Or(cmp.Compare(b.blocks, a.blocks), cmp.Compare(a.term, b.term))
	})
	return list[:min(len(list), maxCorrections)]
}

// alphabets contains the letters by which a word is corrected, which depend on its first
// letter.
var alphabets = []string{"abcdefghijklmnopqrstuvwxyz", "абвгдежзийклмнопрстуфхцчшщъыьэюяіїєґ", "αβγδεζηθικλμνξοπρσςτυφχψω",
	"ابتثجحخدذرزسشصضطظعغفقكلمنهوي",
	"אבגדהוזחטיכלמנסעפצקרשתךםןףץ"}

// editsOf returns the words that a word becomes by removing, swapping, inserting or
// replacing one letter.
func editsOf(word string) (list []string) {
	letters := []rune(word)
	alphabet := alphabets[0]
	for _, a := range alphabets {
		if strings.ContainsRune(a, letters[0]) {
			alphabet = a
		}
	}
	for i := range letters {
		before, letter, after := string(letters[:i]), string(letters[i]), string(letters[i+1:])
		list = append(list, before+after)
		if i+1 < len(letters) {
			list = append(list, before+string(letters[i+1])+letter+string(letters[i+2:]))
		}
		for _, r := range alphabet {
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
		text, _ := secrets.Redact(strings.Join(append([]string{h.Entry.Text, h.Doc.Place.Path},
			headingsOf(h.Doc, h.Entry)...), "\n"))
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
