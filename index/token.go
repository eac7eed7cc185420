package index

import (
	"html"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// flushWord emits the tokens of the word being read and resets it.
func (a *analyzer) flushWord() {
	w := a.word
	for len(w) > 0 && classOf(w[len(w)-1].r) == classJoin {
		w = w[:len(w)-1]
	}
	a.word = a.word[:0]
	if len(w) == 0 {
		return
	}
	if n := len(w); n > 2 && isApostrophe(w[n-2].r) && (w[n-1].r == 's' || w[n-1].r == 'S') {
		w = w[:n-2] // possessive
	}
	for i := 1; i < len(w)-1; i++ {
		if !isApostrophe(w[i].r) {
			continue
		}
		if !isElided(a.text[w[0].start:w[i-1].end], w[i+1].r) {
			break
		}
		a.emitWord(w[:i], false)
		w, i = w[i+1:], 0
	}
	cut := w[:min(len(w), maxWord)]
	start, end := w[0].start, w[len(w)-1].end
	a.emitWord(cut, false)
	for _, p := range splitIdentifier(cut) {
		a.emitWord(p, true)
	}
	a.emitJoined(start, end)
}

func (a *analyzer) emitWord(w []wordRune, part bool) {
	term, script := a.termOf(w)
	if term == "" {
		return
	}
	start, end := w[0].start, w[len(w)-1].end
	a.emit(token{term: term, start: start, end: end, subword: part})
	if script == scriptOther && !part {
		if beginning, cut := FirstRunes(term, 5); cut {
			a.emit(token{term: beginning + beginningMark, start: start, end: end, subword: true})
		}
	}
}

// maxTurns bounds the letters that follow a digit in a word that has parts. In other words,
// which are encoded data, parts occur by chance.
const maxTurns = 1

// maxContraction bounds an apostrophe and the characters of an ending after it, as in they're.
const maxContraction = 3

// splitIdentifier returns the parts of an identifier, or nil for a plain word.
// It splits at '_', between lower case and upper case, before the last capital
// of a run of capitals ("HTTPServer"), between letters and digits, and at an apostrophe
// before more than an ending ("O'Brien"). A part of one character is no word.
func splitIdentifier(w []wordRune) (parts [][]wordRune) {
	start, turns := 0, 0
	cut := func(end, next int) {
		if end-start > 1 && end-start < len(w) {
			parts = append(parts, w[start:end])
		}
		start = next
	}
	for i, c := range w {
		if c.r == '_' || isApostrophe(c.r) && len(w)-i > maxContraction {
			cut(i, i+1)
			continue
		}
		if i > 0 && unicode.IsDigit(w[i-1].r) && unicode.IsLetter(c.r) {
			turns++
		}
		if i == start {
			continue
		}
		before := w[i-1].r
		switch {
		case unicode.IsUpper(c.r) && unicode.IsLower(before),
			unicode.IsDigit(c.r) != unicode.IsDigit(before) && !unicode.IsMark(c.r) && !isApostrophe(c.r) &&
				!isApostrophe(before),
			unicode.IsUpper(c.r) && unicode.IsUpper(before) && i+1 < len(w) && unicode.IsLower(w[i+1].r):
			cut(i, i)
		}
	}
	cut(len(w), len(w))
	if turns > maxTurns {
		return nil
	}
	return parts
}

func isElision(text string, t token) bool {
	r, n := utf8.DecodeRuneInString(text[t.end:])
	return isApostrophe(r) && isElided(text[t.start:t.end], firstRune(text[t.end+n:]))
}

// wholeWords calls emit for the tokens of a text that are whole words. A word of
// letters and digits, such as an identifier, counts without its parts. A run of
// a script without spaces counts as its pairs of adjacent characters, or as the
// one character that it consists of.
func (a *analyzer) wholeWords(text string, emit func(token)) {
	var last token // single character that may begin a run
	flush := func() {
		if last.term != "" {
			emit(last)
		}
		last = token{}
	}
	a.eachToken(text, func(t token) {
		runes := []rune(t.term)
		inRun := classOf(runes[0]) >= classCJK
		switch {
		case inRun && len(runes) == 1 && !t.subword:
			flush()
			last = t
		case inRun && len(runes) == 2:
			last = token{}
			emit(t)
		case !inRun && !t.subword:
			flush()
			emit(t)
		}
	})
	flush()
}

// eachToken calls emit for every token of s as the reader sees it, in the order of the
// text. The parts of an identifier follow the whole. A term can share the memory of s.
func (a *analyzer) eachToken(s string, emit func(token)) {
	if seen, at := unescape(s); at != nil {
		a.eachTokenOf(seen, func(t token) {
			t.start, t.end = at[t.start], at[t.end]
			emit(t)
		})
		return
	}
	a.eachTokenOf(s, emit)
}

func (a *analyzer) eachTokenOf(s string, emit func(token)) {
	a.emit, a.text, a.joined, a.run = emit, s, wordRange{}, runState{}
	a.word = a.word[:0]
	for i := 0; i < len(s); {
		if n := norm.NFKC.QuickSpanString(s[i:]); n > 0 {
			a.readNormal(i, i+n)
			i += n
			continue
		}
		n := max(1, norm.NFKC.NextBoundaryInString(s[i:], true))
		if seg := s[i : i+n]; norm.NFKC.IsNormalString(seg) {
			a.readNormal(i, i+n)
		} else {
			for _, r := range norm.NFKC.String(seg) {
				a.readRune(r, i, i+n, false)
			}
		}
		i += n
	}
	a.flushWord()
	a.emit, a.text = nil, ""
}

// readNormal reads the bytes from i to end of the text, which are in normal form.
func (a *analyzer) readNormal(i, end int) {
	for s := a.text; i < end; {
		if s[i] >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:end])
			a.readRune(r, i, i+n, true)
			i += n
			continue
		}
		if i+1 == len(s) || s[i+1] < utf8.RuneSelf {
			if len(a.word) == 0 {
				if n := plainWord(s[i:min(len(s), i+maxWord+1)]); 0 < n && n <= end-i {
					a.run.class = classNone
					a.emitPlain(i, i+n)
					i += n
					continue
				}
			}
		}
		a.readRune(rune(s[i]), i, i+1, true)
		i++
	}
}

// readRune reads one code point of the normalized text, which the bytes from
// start to end produced. If raw is set, they are this code point.
func (a *analyzer) readRune(r rune, start, end int, raw bool) {
	c := classOf(r)
	if c == classMark && a.run.class == classSEA {
		c = classSEA
	}
	if c >= classCJK {
		a.flushWord()
		a.addRune(c, r, start, end, raw)
		return
	}
	a.run.class = classNone
	switch {
	case r == softHyphen, r == '\u200d': // a joiner
	case isSymbol(r):
		a.flushWord()
		a.emit(token{term: string(r), start: start, end: end})
	case c == classNone:
		a.flushWord()
	case len(a.word) == maxRead, len(a.word) == 0 && (c == classMark || c == classJoin): // part of no word
	default:
		a.word = append(a.word, wordRune{r, start, end})
	}
}

// plainWord returns the length of the word at the start of s if it consists of
// ASCII letters that are not the parts of an identifier, and zero otherwise.
// Most words are plain.
func plainWord(s string) int {
	n := 1
	switch {
	case s[0]|0x20 < 'a' || 'z' < s[0]|0x20:
		return 0
	case s[0] <= 'Z' && len(s) > 1 && 'A' <= s[1] && s[1] <= 'Z':
		for n < len(s) && 'A' <= s[n] && s[n] <= 'Z' {
			n++
		}
	default:
		for n < len(s) && 'a' <= s[n] && s[n] <= 'z' {
			n++
		}
	}
	if n > maxWord || n < len(s) && (s[n] >= utf8.RuneSelf || classOf(rune(s[n])) != classNone) {
		return 0
	}
	return n
}

func (a *analyzer) emitPlain(start, end int) {
	if a.only == nil || a.only[a.text[start]|0x20] { // stems begin as their words
		a.low = a.low[:0]
		for i := start; i < end; i++ {
			a.low = append(a.low, a.text[i]|0x20)
		}
		a.emit(token{term: a.stemOf(scriptLatin), start: start, end: end})
	}
	a.emitJoined(start, end)
}

// addRune adds a character to the run, and emits the tokens that end with it.
func (a *analyzer) addRune(c class, r rune, start, end int, raw bool) {
	s := &a.run
	if s.class != c {
		*s = runState{class: c}
	}
	if s.raw++; !raw {
		s.raw = 0
	}
	// emit emits the last n characters, which begin at a byte.
	emit := func(n, from int) {
		t := token{start: from, end: end, subword: n > 1 || s.n > 0}
		if s.raw >= n {
			t.term = a.text[from:end]
		} else {
			last := [3]rune{s.r[0], s.r[1], r}
			t.term = string(last[3-n:])
		}
		a.emit(t)
	}
	if c != classSEA {
		emit(1, start)
	}
	if s.n >= 1 {
		emit(2, s.starts[1])
	}
	if c == classSEA && s.n >= 2 {
		emit(3, s.starts[0])
	}
	s.r[0], s.r[1] = s.r[1], r
	s.starts[0], s.starts[1] = s.starts[1], start
	s.n++
}

// isSymbol reports whether a character is a word of its own: an emoji or a sign, but no
// part of a drawing.
func isSymbol(r rune) bool {
	return r >= utf8.RuneSelf && r != utf8.RuneError && unicode.In(r, unicode.So, unicode.Sc) &&
		(r < 0x2500 || r > 0x259F)
}

// unescape returns a text without the backslashes and entities of Markdown, and the
// offset in s of each of its bytes and of its end. If s has none, at is nil.
func unescape(s string) (seen string, at []int) {
	done := 0 // bytes of s
	var b strings.Builder
	add := func(text string, from, end int) { // for the bytes of s from one to another
		for ; done < from; done++ {
			at = append(at, done)
			b.WriteByte(s[done])
		}
		for range len(text) {
			at = append(at, from)
		}
		b.WriteString(text)
		done = end
	}
	for i := 0; i+1 < len(s); i++ {
		switch {
		case s[i] == '\\' && strings.IndexByte("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", s[i+1]) >= 0:
			add(s[i+1:i+2], i, i+2)
			i++
		case s[i] == '&':
			end := strings.IndexByte(s[i:min(len(s), i+maxEntity)], ';') + 1
			if text := html.UnescapeString(s[i : i+end]); text != s[i:i+end] {
				add(text, i, i+end)
				i += end - 1
			}
		}
	}
	if at == nil {
		return s, nil
	}
	add("", len(s), len(s))
	return b.String(), append(at, len(s))
}

// maxEntity bounds the bytes of an entity.
const maxEntity = 32
