package index

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	minPrefix      = 3    // letters before the * of a prefix
	maxPrefixTerms = 50   // terms that a prefix stands for; the shortest are used
	besideWhole    = 0.05 // weight of the words that a prefix stands for beside the same word as a whole
	maxEnding      = 4    // letters of a prefix that belong to the ending of its word
)

// endings are the English endings that stems lack most often.
var endings = []string{"s", "es", "ed", "er", "ers", "ing", "ings", "ly", "ment", "ments", "ness", "tion", "tions",
	"ation", "ations", "ity", "ities", "able", "ible", "al", "ally", "ive", "ively", "ful", "fully", "ance", "ence",
	"e", "y", "ies"}

// prefixOfWord returns the beginning of a word that a token and a following *
// stand for, or "". A word between two * is emphasized text.
func prefixOfWord(text string, t token) string {
	rest, ok := strings.CutPrefix(text[t.end:], "*")
	if t.subword && !t.joined || !ok || strings.HasPrefix(rest, "*") || strings.HasSuffix(text[:t.start], "*") ||
		rest != "" && classOf(firstRune(rest)) != classNone {
		return ""
	}
	prefix := strings.ReplaceAll(normalizePhrase(text[t.start:t.end]), " ", "")
	if utf8.RuneCountInString(prefix) < minPrefix || classOf(firstRune(prefix)) >= classCJK {
		return ""
	}
	return prefix
}

// insertTerm inserts a term after the i-th one, which it can replace, and
// increments i. A term that the query has already gets no weight, so that it counts
// once.
func (s *request) insertTerm(i *int, t qterm) {
	if slices.ContainsFunc(s.words.terms, func(o qterm) bool { return o.term == t.term }) {
		t.weight = 0
	}
	t.instead = s.words.terms[*i].whole || s.words.terms[*i].instead
	*i++
	s.words.terms = slices.Insert(s.words.terms, *i, t)
}

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
		if term != t.term {
			s.insertTerm(&i, qterm{term: term, weight: t.weight, maxIdf: maxIdf, minDF: together})
		}
	}
	return together > 0
}

// countBlocks returns the number of readable blocks that contain words, summed over the words.
func (s *reader) countBlocks(terms []string) (sum int) {
	for _, term := range terms {
		for _, p := range s.readable.partitions {
			n, err := s.postings.count(p.fields[kindWord], term)
			s.err = cmp.Or(s.err, s.damaged(err))
			sum += n
		}
	}
	return sum
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
