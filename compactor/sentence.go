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
	// A line of a summary has at most so many sentences, and, unless one alone
	// is longer, so many characters: what is longer is not read.
	maxSentences  = 3
	maxSummary    = 400
	maxOneInTotal = 240 // of a single sentence; what is longer is cut
)

// A sentence is one of an entry, as it is written there.
type sentence struct {
	entry int // in the document
	nth   int // in the entry
	text  string
}

// sentencesOf lists the sentences of an entry, without the markers of lists,
// quotes and boxes. A line of a list ends one. What cannot be taken out of its
// place, such as code, tables, HTML and comments, has none.
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
				list = append(list, sentence{entry, len(list), shorten(s)})
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

// cutMarker cuts the marker of a list item, and a box, off a line.
func cutMarker(line string) (rest string, ok bool) {
	digits := len(line) - len(strings.TrimLeft(line, "0123456789"))
	switch {
	case digits > 0 && digits < 10 && len(line) > digits+1 && strings.IndexByte(".)", line[digits]) >= 0 && line[digits+1] == ' ':
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

// splitSentences splits a text behind each mark that ends a sentence: one of the
// scripts that have no spaces; or one of the others before a space and anything
// but a small letter, which would be behind an abbreviation.
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

// shorten cuts what is too long, at a space if there is one near.
func shorten(s string) string {
	if utf8.RuneCountInString(s) <= maxOneInTotal {
		return s
	}
	cut := string([]rune(s)[:maxOneInTotal-1])
	if i := strings.LastIndexByte(cut, ' '); i > len(cut)-len(cut)/4 {
		cut = cut[:i]
	}
	return strings.TrimRight(cut, " ") + "…"
}

// choose picks the sentences of a summary out of those of some entries: the
// decisions first, then the more important, then the newer, then in the order of
// the file; as many as there is room for, none twice. What is chosen is in the
// order of the file.
func choose(doc *memory.Document, entries []int) []sentence {
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
	slices.SortFunc(chosen, func(a, b sentence) int { return cmp.Or(cmp.Compare(a.entry, b.entry), cmp.Compare(a.nth, b.nth)) })
	return chosen
}

// byWeight are some entries, those first of which the sentences are chosen first.
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
		return cmp.Or(cmp.Compare(first(x), first(y)), cmp.Compare(y.Importance, x.Importance), y.Time.Compare(x.Time), cmp.Compare(a, b))
	})
	return entries
}

// join makes one line of sentences.
func join(list []sentence) string {
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
