package memory

// Bounds of similar texts.
const (
	minSimilar      = 0.6  // share of the words of both texts that both have
	minSimilarWords = 3    // of each text; with fewer, one word decides
	maxSimilar      = 1000 // texts to compare with
)

// A SimilarTexts finds the text that is most similar to another one, by their
// words. It is meant for proposals to a person or an agent: similar texts often
// have different meanings.
type SimilarTexts []map[string]bool

// NewSimilarTexts returns the texts to compare with, none if there are very many.
func NewSimilarTexts(texts []string) SimilarTexts {
	if len(texts) > maxSimilar {
		return nil
	}
	sets := make(SimilarTexts, len(texts))
	for i, text := range texts {
		sets[i] = wordSet(TaskNorm(text))
	}
	return sets
}

// MostSimilar returns the index of the text that is most similar to text, the
// last of equals, or -1 if none is similar.
func (s SimilarTexts) MostSimilar(text string) int {
	words := wordSet(TaskNorm(text))
	best, at := minSimilar, -1
	if len(words) < minSimilarWords {
		return at
	}
	for i, set := range s {
		if len(set) < minSimilarWords {
			continue
		}
		both := 0
		for word := range words {
			if set[word] {
				both++
			}
		}
		if share := float64(both) / float64(len(words)+len(set)-both); share >= best {
			best, at = share, i
		}
	}
	return at
}

// similarEntry returns the entry of the file that is most similar to a new item,
// or -1. It compares with readable items of the same section.
func (m *Merge) similarEntry(it *MergeItem) int {
	x := it.section
	if x.similar == nil {
		texts := make([]string, len(x.entries))
		for i, e := range x.entries {
			texts[i] = m.doc.Entries[e].Norm
		}
		x.similar = NewSimilarTexts(texts)
	}
	if i := x.similar.MostSimilar(it.entry.Norm); i >= 0 {
		return x.entries[i]
	}
	return -1
}
