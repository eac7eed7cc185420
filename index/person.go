package index

import (
	"slices"
	"sync"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
	"github.com/memwatchd/memwatchd/memory"
)

// A question in the first person asks for what the owner of the memory wrote about
// himself: a statement in the first person, a decision, a preference or long-term
// memory comes before a reference note.

// firstPerson contains the stop words of the first person.
var firstPerson = map[string]bool{"i": true, "me": true, "my": true, "mine": true, "we": true, "us": true,
	"our": true, "ours": true, "我": true}

// habitRE matches questions for a habit or, with the group 1 or 2, for a decision. What
// to do next is another question.
var habitRE = lazyregexp.New(`(?i)\b(?:what|which)\b.*\b(?:did|do|have) (?:i|we)\b.*\b` +
	`(?:use|prefer|(choose|chosen|decided?|pick(?:ed)?|settled?|agreed?))\b|我们?.*(?:用|喜欢|偏好|(选|决定)).*[什哪]`)

// decision and preference are types of entries.
const decision, preference = "decision", "preference"

// chosen is the type in the terms of the entries that state a decision of the writer, by their
// type or by [decisionRE].
const chosen = "chosen"

// ownKinds are the kinds of files about their owner.
var ownKinds = []memory.Kind{memory.Longterm, memory.Items, memory.Identity}

// readPerson finds out whether the query is a question in the first person, and adds the
// types of entries that answer it to the terms.
func (s *search) readPerson() {
	isPerson := func(t qterm) bool { return t.person }
	if s.query.Mode != Relevance || !slices.ContainsFunc(s.words.terms, isPerson) ||
		!questionRE().MatchString(s.query.Text) {
		return
	}
	s.own = s.entriesWith(levelSection, termKey(kindType, decision), termKey(kindType, preference))
	m := habitRE().FindStringSubmatch(s.query.Text)
	switch {
	case m == nil:
	case m[1]+m[2] != "":
		s.decided = s.entriesWith(levelSection, termKey(kindType, chosen))
		s.words.terms = append(s.words.terms, qterm{term: chosen, weight: tuning.decision, isType: true})
	default:
		s.words.terms = append(s.words.terms, qterm{term: decision, weight: tuning.habit, isType: true},
			qterm{term: preference, weight: tuning.habit, isType: true})
	}
}

// ownFactor returns the factor of an entry, of its score and of its cover, for a question
// in the first person.
func (s *search) ownFactor(k entryKey) float64 {
	if s.own == nil {
		return 1
	}
	v := s.table.fileAt(k.file)
	if slices.Contains(ownKinds, v.Kind) || s.own.has(v, int(k.entry)) {
		return tuning.mine
	}
	return 1
}

// decisionRE matches statements of a decision by the writer.
var decisionRE = lazyregexp.New(`(?i)\b(?:we|i)(?:['’]ve)?\s+(?:\w+\s+){0,2}(?:decided|chose|chosen|picked|settled|agreed)\b|` +
	`(?:^|[.:!]\s+)[\s*_>+-]*(?:decided|chose|agreed|settled|picked|decision)\b|我们?[^，。\n]{0,8}(?:决定|选择|选用|选定)|^[\s*_>+-]*(?:决定|选用|选定)`)

// decisionVerbs contains the terms of the words without which decisionRE, which takes longer
// than the analysis of a text, does not match.
var decisionVerbs = sync.OnceValue(func() map[string]bool {
	return termsOf("decided decision chose chosen picked settled agreed 决定 选择 选用 选定")
})
