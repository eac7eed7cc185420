package index

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// endings are the English endings that stems lack most often.
var endings = []string{"s", "es", "ed", "er", "ers", "ing", "ings", "ly", "ment", "ments", "ness", "tion", "tions",
	"ation", "ations", "ity", "ities", "able", "ible", "al", "ally", "ive", "ively", "ful", "fully", "ance", "ence",
	"e", "y", "ies"}

// expandPrefix adds the readable terms of the words that begin with the prefix of
// the i-th term, which df entries contain as a whole: these precede the others. All of
// the words are as rare as they are together, because any of them may be meant.
// expandPrefix reports whether there are any.
func (s *request) expandPrefix(i, df int) bool {
	t := s.words.terms[i]
	terms := s.completionsOf(t.prefix)
	slices.SortStableFunc(terms, func(a, b string) int { return cmp.Compare(len(a), len(b)) })
	terms = terms[:min(len(terms), maxPrefixTerms)]
	maxIdf := 0.0
	if df > 0 {
		maxIdf = besideWhole * idf(s.readable.entries, df)
	}
	together := s.countBlocks(terms)
	for _, term := range terms {
		s.insertTerm(&i, qterm{term: term, weight: t.weight, maxIdf: maxIdf, minDF: together})
	}
	return together > 0
}

// completionsOf returns the readable terms of the words that begin with a prefix. The
// prefix may end inside an ending that the stem lacks, as environm does; terms that
// follow from an ending may be in no readable entry.
func (s *request) completionsOf(prefix string) []string {
	terms := s.termsWithPrefix(kindWord, prefix)
	for n := 1; n <= maxEnding; n++ {
		if len(prefix)-n < minPrefix || !utf8.RuneStart(prefix[len(prefix)-n]) {
			break
		}
		stem, rest := prefix[:len(prefix)-n], prefix[len(prefix)-n:]
		if slices.ContainsFunc(endings, func(e string) bool {
			return strings.HasPrefix(e, rest) && s.analyzer.stemWord(stem+e, scriptLatin) == stem
		}) {
			terms = append(terms, stem)
		}
	}
	return terms
}
