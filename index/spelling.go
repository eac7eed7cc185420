package index

import "strings"

// americanSpelling returns an English word, in lower case, in its American
// spelling, so that both spellings have one stem.
func americanSpelling(word string) string {
	if len(word) < 5 {
		return word
	}
	if strings.Contains(word, "our") {
		for _, root := range ourRoots {
			if at := strings.Index(word, root); at >= 0 {
				at += len(root) - len("ur")
				return word[:at] + word[at+1:]
			}
		}
	}
	for i := 0; i < len(britishRoots); i += 2 {
		if rest, ok := strings.CutPrefix(word, britishRoots[i]); ok {
			return britishRoots[i+1] + rest
		}
	}
	for _, ending := range iseEndings {
		root, ok := strings.CutSuffix(word, "is"+ending)
		if !ok || len(root) < 3 {
			continue
		}
		for _, other := range alwaysIse {
			if strings.HasPrefix(word, other) {
				return word
			}
		}
		return root + "iz" + ending
	}
	return word
}

// ourRoots are the words in which -our is American -or.
var ourRoots = strings.Fields(`armour behaviour candour clamour colour demeanour endeavour favour fervour flavour harbour honour
	humour labour neighbour odour parlour rancour rigour rumour saviour savour splendour tumour valour vapour vigour`)

// britishRoots are beginnings of words and their American spellings.
var britishRoots = strings.Fields(`analyse analyze analysing analyzing catalogue catalog centre center defence defense dialogue dialog
	fibre fiber grey gray licence license litre liter metre meter offence offense paralyse paralyze paralysing paralyzing
	programme program sceptic skeptic theatre theater`)

// iseEndings are the endings after -is- or -iz-.
var iseEndings = []string{"e", "es", "ed", "ing", "er", "ers", "ation", "ations", "able"}

// alwaysIse are beginnings of words that have -ise in both spellings.
var alwaysIse = strings.Fields(`advis anis appris aris bruis chastis circumcis compris compromis concis cruis demis despis devis disguis
	enterpris equipois excis exercis expertis franchis improvis incis likewis merchandis nois otherwis paradis porpois prais precis
	premis promis rais revis supervis surmis surpris televis tortois treatis turquois`)
