package compactor

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/internal/letters"
	"github.com/memwatchd/memwatchd/internal/transcript"
	"github.com/memwatchd/memwatchd/memory"
)

const (
	// A summary line has at most maxSentences sentences and maxSummary
	// characters, unless its only sentence is longer: users do not read longer
	// lines.
	maxSentences      = 3
	maxSummary        = 400
	maxSentenceLength = 240 // characters of one sentence; longer ones are shortened
)

// A sentence is one sentence of an entry, as written there.
type sentence struct {
	entry int // in the document
	nth   int // in the entry
	text  string
}

// sentencesOf returns the sentences of an entry, without the markers of lists,
// quotes and boxes. A new list item ends a sentence. Content that depends on
// its context, such as code, tables, HTML and comments, has no sentences.
func sentencesOf(doc *memory.Document, entry int) []sentence {
	e := &doc.Entries[entry]
	switch e.Block {
	case memory.Item, memory.Paragraph, memory.Quote:
	default:
		return nil
	}
	var list []sentence
	var text string
	end := func() {
		for _, s := range transcript.Sentences(text) {
			if !strings.ContainsAny(s, "<>`|") && strings.ContainsFunc(s, unicode.IsLetter) {
				list = append(list, sentence{entry, len(list), shortenSentence(s)})
			}
		}
		text = ""
	}
	fence := ""
	for line := range strings.SplitSeq(e.Text, "\n") {
		line = strings.TrimLeft(line, " \t>")
		if mark := line[:min(3, len(line))]; mark == "```" || mark == "~~~" {
			end()
			switch fence {
			case "":
				fence = mark
			case mark:
				fence = ""
			}
			continue
		}
		if fence != "" {
			continue
		}
		if rest, ok := transcript.CutMarker(line); ok {
			end()
			line = rest
		}
		text = strings.TrimSpace(text + " " + strings.TrimRight(line, " \t\\"))
	}
	end()
	return list
}

// shortenSentence truncates a long sentence, at a space if there is one near.
func shortenSentence(s string) string {
	if utf8.RuneCountInString(s) <= maxSentenceLength {
		return s
	}
	cut := string([]rune(s)[:maxSentenceLength-1])
	if i := strings.LastIndexByte(cut, ' '); i > len(cut)-len(cut)/4 {
		cut = cut[:i]
	}
	return strings.TrimRight(cut, " ") + "…"
}

// chooseSentences selects the sentences of a summary: decisions first, then by
// importance, by time from the newest, and by position. It fills the available
// length without duplicates and returns the sentences in the order of the file.
func chooseSentences(doc *memory.Document, entries []int) []sentence {
	var list []sentence
	for _, i := range byWeight(doc, entries) {
		list = append(list, sentencesOf(doc, i)...)
	}
	var chosen []sentence
	said, room := map[string]bool{}, maxSummary
	for _, s := range list {
		n := utf8.RuneCountInString(s.text)
		if same := letters.FoldCase(s.text); said[same] || len(chosen) == maxSentences || n > room && len(chosen) > 0 {
			continue
		} else {
			said[same] = true
		}
		chosen, room = append(chosen, s), room-n
	}
	slices.SortFunc(chosen,
		func(a, b sentence) int { return cmp.Or(cmp.Compare(a.entry, b.entry), cmp.Compare(a.nth, b.nth)) })
	return chosen
}

// byWeight returns the entries in the order in which their sentences are chosen.
func byWeight(doc *memory.Document, entries []int) []int {
	entries = slices.Clone(entries)
	slices.SortFunc(entries, func(a, b int) int {
		x, y := &doc.Entries[a], &doc.Entries[b]
		return cmp.Or(trueFirst(x.Type == "decision", y.Type == "decision"), cmp.Compare(y.Importance, x.Importance),
			y.Time.Compare(x.Time), cmp.Compare(a, b))
	})
	return entries
}

func joinSentences(list []sentence) string {
	var b strings.Builder
	for i, s := range list {
		if i > 0 {
			last, _ := utf8.DecodeLastRuneInString(b.String())
			if !strings.ContainsRune(".!?…。！？;；:：", last) {
				b.WriteByte(';')
			}
			b.WriteByte(' ')
		}
		b.WriteString(s.text)
	}
	return b.String()
}
