package index

import (
	"slices"

	"github.com/memwatchd/memwatchd/memory"
)

// firstPerson contains the stop words of the first person.
var firstPerson = map[string]bool{"i": true, "me": true, "my": true, "mine": true, "we": true, "us": true,
	"our": true, "ours": true, "我": true}

// ownKinds are the kinds of files about their owner.
var ownKinds = []memory.Kind{memory.Longterm, memory.Items, memory.Identity}

// readPerson finds out whether the query is a question in the first person.
func (s *request) readPerson() {
	isPerson := func(t qterm) bool { return t.person }
	s.own = s.query.Mode == Relevance && slices.ContainsFunc(s.words.terms, isPerson) &&
		questionRE().MatchString(s.query.Text)
}

// ownFactor returns the factor of an entry, of its score and of its cover. A question in the
// first person asks for what the owner of the memory wrote about himself: long-term memory
// comes before a reference note.
func (s *request) ownFactor(k entryKey) float64 {
	if s.own && slices.Contains(ownKinds, s.table.fileAt(k.file).Kind) {
		return tuning.mine
	}
	return 1
}
