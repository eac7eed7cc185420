package index

import (
	"slices"
	"strings"
	"sync"
)

// addForms adds the other forms of irregular verbs and nouns after the terms of a
// query. An entry can contain a form instead of the word.
func (w *words) addForms() {
	for i := 0; i < len(w.terms) && len(w.terms) < maxTerms; i++ {
		forms := irregularForms()[w.terms[i].term]
		if forms == nil {
			continue
		}
		w.terms[i].typo = "" // a word, even if nothing contains it
		t := w.terms[i]
		for _, form := range forms {
			if slices.ContainsFunc(w.terms, func(o qterm) bool { return o.term == form }) {
				continue
			}
			i++
			w.terms = slices.Insert(w.terms, i, qterm{term: form, weight: t.weight * tuning.irregular, instead: t.whole})
		}
	}
}

// irregularForms contains the terms of the other forms of each term.
var irregularForms = sync.OnceValue(func() map[string][]string {
	a, forms := newAnalyzer(), make(map[string][]string)
	for line := range strings.Lines(irregularText) {
		for group := range strings.SplitSeq(line, ",") {
			var terms []string
			a.eachToken(group, func(t token) { terms = append(terms, t.term) })
			for _, term := range terms {
				for _, other := range terms {
					if other != term && !slices.Contains(forms[term], other) {
						forms[term] = append(forms[term], other)
					}
				}
			}
		}
	}
	return forms
})

const irregularText = `become became, begin began begun, bite bit bitten, break broke broken, bring brought, build built, buy bought
catch caught, choose chose chosen, come came, deal dealt, dig dug, draw drew drawn, drink drank drunk, drive drove driven
eat ate eaten, fall fell fallen, feed fed, feel felt, fight fought, find found, fly flew flown, forget forgot forgotten
freeze froze frozen, get got gotten, give gave given, go went gone, grow grew grown, hang hung, hear heard, hide hid hidden
hold held, keep kept, know knew known, lead led, leave left, lend lent, lose lost, make made, mean meant, meet met, pay paid
ride rode ridden, ring rang rung, rise rose risen, run ran, say said, see saw seen, seek sought, sell sold, send sent
shake shook shaken, shoot shot, show shown, sing sang sung, sit sat, sleep slept, speak spoke spoken, spend spent
stand stood, steal stole stolen, stick stuck, strike struck, sweep swept, swim swam swum, take took taken, teach taught
tear tore torn, tell told, think thought, throw threw thrown, understand understood, wake woke woken, wear wore worn
win won, write wrote written
child children, man men, woman women, person people, foot feet, tooth teeth, mouse mice, goose geese, life lives, wife wives
knife knives, leaf leaves, shelf shelves, half halves, wolf wolves, index indices, matrix matrices, criterion criteria
`
