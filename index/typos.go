package index

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// correctTerm adds the terms that replace the i-th term, which no readable file contains.
func (s *request) correctTerm(i int) {
	t := s.words.terms[i]
	q := s.query
	if t.typo == "" || len(s.words.list) > maxListed || q.KeepTypos || q.Cover {
		return
	}
	for _, term := range s.similarTerms(t) {
		s.insertTerm(&i, qterm{term: term, weight: t.weight * tuning.typo, corrects: t.typo})
	}
}

// similarTerms returns the readable terms that a misspelled word most likely stands for:
// the most frequent of those that are one edit away. The word is compared as written, because
// an edit can leave another stem.
func (s *request) similarTerms(t qterm) (list []string) {
	blocks := make(map[string]int)
	for _, word := range editsOf(t.typo) {
		s.analyzer.eachToken(word, func(t token) {
			if !t.subword && utf8.RuneCountInString(t.term) >= minTypo-1 {
				blocks[t.term] = 0
			}
		})
	}
	for term := range blocks {
		s.eachBlock(termKey(kindWord, term), func(uint32, ref, slots) { blocks[term]++ })
		if blocks[term] > 0 {
			list = append(list, term)
		}
	}
	slices.SortFunc(list, func(a, b string) int {
		return cmp.Or(cmp.Compare(blocks[b], blocks[a]), cmp.Compare(a, b))
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
