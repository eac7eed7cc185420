package index

import (
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/memwatchd/memwatchd/internal/letters"
)

// A Phrase is a sequence of whole words to find in texts. Words are those of a search, without
// their stems and without the parts of camelCase: they are equal whatever their width, accents,
// apostrophes and letter case. A character of a script without spaces, a symbol and an emoji
// are words of their own. The zero value is in no text.
type Phrase struct {
	words    []string
	ids      map[string]int // by word, from 1
	sameCase bool
}

// NewPhrase returns the phrase that a text consists of. With sameCase, words in another letter
// case differ.
func NewPhrase(text string, sameCase bool) Phrase {
	p := Phrase{ids: map[string]int{}, sameCase: sameCase}
	p.eachWord(text, func(word []byte, _, _ int) {
		p.words = append(p.words, string(word))
		if p.ids[string(word)] == 0 {
			p.ids[string(word)] = len(p.words)
		}
	})
	return p
}

// Empty reports whether the phrase has no words.
func (p Phrase) Empty() bool { return len(p.words) == 0 }

// In reports whether a text contains the phrase.
func (p Phrase) In(text string) bool { return len(p.Find(text)) > 0 }

// Find returns the ranges of bytes of a text that are the phrase.
func (p Phrase) Find(text string) (found [][2]int) {
	if p.Empty() {
		return nil
	}
	var ids []int
	var spans [][2]int
	p.eachWord(text, func(word []byte, start, end int) {
		ids = append(ids, p.ids[string(word)])
		spans = append(spans, [2]int{start, end})
	})
	want := make([]int, len(p.words))
	for i, word := range p.words {
		want[i] = p.ids[word]
	}
	for i := 0; i+len(want) <= len(ids); i++ {
		if slices.Equal(ids[i:i+len(want)], want) {
			found = append(found, [2]int{spans[i][0], spans[i+len(want)-1][1]})
			i += len(want) - 1
		}
	}
	return found
}

// MayBeIn reports whether a text has all words of the phrase, in any order. Without that, no
// part of the text contains the phrase.
func (p Phrase) MayBeIn(text string) bool {
	seen := make([]bool, len(p.words)+1)
	missing := len(p.ids)
	p.eachWord(text, func(word []byte, _, _ int) {
		if id := p.ids[string(word)]; id > 0 && !seen[id] {
			seen[id] = true
			missing--
		}
	})
	return missing == 0 && !p.Empty()
}

// eachWord calls emit for each word of a text, with the bytes of the text that it stands for.
// The word is valid only during the call.
func (p Phrase) eachWord(text string, emit func(word []byte, start, end int)) {
	r := wordReader{text: text, sameCase: p.sameCase, symbols: true, emit: emit, apostrophe: -1}
	r.readText()
}

// normalizePhrase returns a text in the form in which the phrases of a query and the
// names of headings are compared: its words, each with a space on both sides.
func normalizePhrase(text string) string {
	var b strings.Builder
	b.Grow(len(text) + 2)
	b.WriteByte(' ')
	r := wordReader{text: text, emit: func(word []byte, _, _ int) {
		b.Write(word)
		b.WriteByte(' ')
	}, apostrophe: -1}
	r.readText()
	return b.String()
}

// readText emits the words of the text, normalized to NFKC, with their ranges in the text as
// written.
func (r *wordReader) readText() {
	if seen, at := unescape(r.text); at != nil {
		emit := r.emit
		r.text, r.emit = seen, func(word []byte, start, end int) { emit(word, at[start], at[end]) }
	}
	text := r.text
	for i := 0; i < len(text); {
		n := norm.NFKC.QuickSpanString(text[i:])
		for end := i + n; i < end; {
			switch c := text[i]; { // the most frequent cases
			case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
				if len(r.word) == 0 {
					r.start = i
				}
				r.word, r.end = append(r.word, c), i+1
				i++
				continue
			case c == ' ':
				r.flush()
				i++
				continue
			}
			c, size := utf8.DecodeRuneInString(text[i:])
			r.read(c, i, i+size)
			i += size
		}
		if i < len(text) {
			n = max(1, norm.NFKC.NextBoundaryInString(text[i:], true))
			for _, c := range norm.NFKC.String(text[i : i+n]) {
				r.read(c, i, i+n)
			}
			i += n
		}
	}
	r.flush()
}

// A wordReader splits a text into folded words.
type wordReader struct {
	text     string
	sameCase bool
	symbols  bool // symbols, and those at the end of C++ and C#, belong to words
	emit     func(word []byte, start, end int)

	word       []byte
	start, end int // of the word
	apostrophe int // length of the word before its last apostrophe, or -1
	before     int // end of the text before that apostrophe
}

// read reads a code point of the normalized text, which the bytes from start to end stand for.
func (r *wordReader) read(c rune, start, end int) {
	switch class := classOf(c); {
	case c == softHyphen:
	case isApostrophe(c):
		switch {
		case len(r.word) == 0:
		case isElided(r.text[r.start:r.end], firstRune(r.text[end:])):
			r.flush()
		default:
			r.apostrophe, r.before = len(r.word), r.end
		}
	case r.symbols && isSymbol(c), class == classCJK, class == classHangul,
		class == classSEA:
		r.flush()
		r.add(c, start, end)
		r.flush()
	case class == classNone, class == classJoin, class == classMark && len(r.word) == 0:
		if n := symbolsAfter(r.text[start:]); r.symbols && n > 0 && start == r.end && len(r.word) > 0 {
			r.word, r.end = append(r.word, r.text[start:start+n]...), start+n
		}
		r.flush()
	default:
		r.add(c, start, end)
	}
}

func (r *wordReader) add(c rune, start, end int) {
	if len(r.word) == 0 {
		r.start = start
	}
	if r.sameCase {
		r.word = letters.AppendBase(r.word, c)
	} else {
		r.word = letters.Append(r.word, c)
	}
	r.end = end
}

// flush ends the word, without a possessive 's.
func (r *wordReader) flush() {
	if n := r.apostrophe; n > 0 && (string(r.word[n:]) == "s" || string(r.word[n:]) == "S") {
		r.word, r.end = r.word[:n], r.before
	}
	if len(r.word) > 0 {
		r.emit(r.word, r.start, r.end)
	}
	r.word, r.apostrophe = r.word[:0], -1
}

// symbolsAfter returns the length of the symbols that make another word of the one before
// them, as in C++ and C#, or 0.
func symbolsAfter(s string) int {
	n := 0
	switch {
	case len(s) > 1 && s[:2] == "++":
		n = 2
	case len(s) > 0 && s[0] == '#':
		n = 1
	}
	if n > 0 && continues(s[n:]) {
		return 0
	}
	return n
}
