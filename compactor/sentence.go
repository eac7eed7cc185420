package compactor

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

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
		for _, s := range splitSentences(text) {
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
		if rest, ok := cutMarker(line); ok {
			end()
			line = rest
		}
		text = strings.TrimSpace(text + " " + strings.TrimRight(line, " \t\\"))
	}
	end()
	return list
}

// cutMarker removes the list marker and the box from a line and reports whether
// there was a marker.
func cutMarker(line string) (rest string, ok bool) {
	digits := len(line) - len(strings.TrimLeft(line, "0123456789"))
	switch {
	case digits > 0 && digits < 10 && len(line) > digits+1 && strings.IndexByte(".)", line[digits]) >= 0 &&
		line[digits+1] == ' ':
		line = line[digits+2:]
	case len(line) > 1 && strings.IndexByte("-*+", line[0]) >= 0 && line[1] == ' ':
		line = line[2:]
	default:
		return line, false
	}
	line = strings.TrimLeft(line, " \t")
	if len(line) > 3 && line[0] == '[' && line[2] == ']' && line[3] == ' ' {
		line = strings.TrimLeft(line[4:], " ")
	}
	return line, true
}

// splitSentences splits text after each mark that ends a sentence. A mark of a
// script without spaces always does. Other marks do only before a space, unless
// a lower-case letter follows, as after an abbreviation.
func splitSentences(text string) []string {
	var list []string
	from := 0
	for i, r := range text {
		after := i + utf8.RuneLen(r)
		ends := strings.ContainsRune("。！？", r)
		if strings.ContainsRune(".!?", r) && strings.HasPrefix(text[after:], " ") {
			next, _ := utf8.DecodeRuneInString(strings.TrimLeft(text[after:], " "))
			ends = !unicode.IsLower(next)
		}
		if ends {
			list = append(list, text[from:after])
			from = after
		}
	}
	list = append(list, text[from:])
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	return slices.DeleteFunc(list, func(s string) bool { return s == "" })
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
		if same := memory.Fold(s.text); said[same] || len(chosen) == maxSentences || n > room && len(chosen) > 0 {
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
	first := func(e *memory.Entry) int {
		if e.Type == "decision" {
			return 0
		}
		return 1
	}
	entries = slices.Clone(entries)
	slices.SortFunc(entries, func(a, b int) int {
		x, y := &doc.Entries[a], &doc.Entries[b]
		return cmp.Or(cmp.Compare(first(x), first(y)), cmp.Compare(y.Importance, x.Importance), y.Time.Compare(x.Time),
			cmp.Compare(a, b))
	})
	return entries
}

func joinSentences(list []sentence) string {
	var b strings.Builder
	for i, s := range list {
		if i > 0 {
			if last, _ := utf8.DecodeLastRuneInString(b.String()); !strings.ContainsRune(".!?…。！？;；:：", last) {
				b.WriteByte(';')
			}
			b.WriteByte(' ')
		}
		b.WriteString(s.text)
	}
	return b.String()
}
