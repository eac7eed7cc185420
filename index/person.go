package index

import (
	"slices"

	"github.com/memwatchd/memwatchd/memory"
)

// A question in the first person asks for what the owner of the memory wrote about
// himself: a statement in the first person, a decision, a preference or long-term
// memory comes before a reference note.

// firstPerson contains the stop words of the first person.
var firstPerson = map[string]bool{"i": true, "me": true, "my": true, "mine": true, "we": true, "us": true,
	"our": true, "ours": true, "我": true}

// decision and preference are types of entries.
const decision, preference = "decision", "preference"

// ownKinds are the kinds of files about their owner.
var ownKinds = []memory.Kind{memory.Longterm, memory.Items, memory.Identity}

// readPerson finds out whether the query is a question in the first person.
func (s *search) readPerson() {
	isPerson := func(t qterm) bool { return t.person }
	if s.query.Mode != Relevance || !slices.ContainsFunc(s.words.terms, isPerson) ||
		!questionRE().MatchString(s.query.Text) {
		return
	}
	s.own = s.entriesWith(levelSection, termKey(kindType, decision), termKey(kindType, preference))
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
