package index

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/arabic"
	"github.com/blevesearch/snowballstem/english"
	"github.com/blevesearch/snowballstem/russian"

	"github.com/memwatchd/memwatchd/internal/letters"
)

func firstRune(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

// A runState describes a run of characters of a script without spaces. It holds
// only the data of the last two characters.
type runState struct {
	class  class
	n      int
	raw    int     // number of the last characters that are as in the text
	r      [2]rune // previous characters, newest last
	starts [2]int
}

// A wordRange is the range of the bytes of a word.
type wordRange struct{ start, end int }

// Text of all languages goes through one analysis, the same for files and for
// queries:
//
//   - NFKC, and letters and digits folded by package letters;
//   - words of letters and digits: English words are stemmed with Porter 2,
//     Russian and Arabic words with their Snowball stemmers; words of other
//     alphabets are kept and also indexed by their first five letters, as a
//     substitute for removing endings;
//   - elided words (l'été) and the words that follow them;
//   - identifiers (snake_case, camelCase, letters with digits) whole and in parts,
//     and those that end with ++ or #;
//   - two words that a hyphen, a slash or a dot joins as one word, too;
//   - words in which letters and digits alternate, such as base64 and hashes, whole only;
//   - runs of Han, kana or hangul as single characters and pairs, runs of Thai,
//     Lao, Khmer and Myanmar as pairs and triples; no pair or triple crosses a
//     space or another script.
//
// Stop words are indexed, because a phrase or a name may consist of them. A
// query that has other words omits its stop words (see [analyzer.parseQuery]).

// softHyphen marks where a word may be divided. Words are read without it.
const softHyphen = '\u00AD'

// maxWord bounds the indexed part of a word, in code points. Longer words are
// data, not language, and equal prefixes of that length do not occur by chance.
const maxWord = 64

// maxRead bounds the part of a word that is read, in code points. It exceeds
// maxWord because analysis removes marks.
const maxRead = 256

// A token is one term and the byte range of the text that produced it.
type token struct {
	term       string
	start, end int
	subword    bool // part of the preceding identifier or run, not a separate word
	joined     bool // identifier of two words or with symbols; it follows its words
}

// An analyzer splits text into tokens. It has a cache of stems and buffers, so
// each goroutine needs its own.
type analyzer struct {
	stems map[string]string
	env   *snowballstem.Env

	emit func(token)
	only *initials  // of the plain words that emit needs; nil for all
	word []wordRune // word being read
	run  runState   // run being read
	low  []byte

	text   string    // being analyzed
	joined wordRange // that is joined to the one being read; zero for none
}

// An initials is a set of first bytes of terms.
type initials [utf8.RuneSelf]bool

type wordRune struct {
	r          rune
	start, end int
}

func newAnalyzer() *analyzer {
	return &analyzer{stems: make(map[string]string), env: snowballstem.NewEnv("")}
}

type class uint8

const (
	classNone   class = iota // separator
	classLetter              // letter of a script written with spaces
	classDigit
	classMark // belongs to the preceding letter
	classJoin // '_' and apostrophes: only inside a word
	classCJK
	classHangul
	classSEA // scripts of South-East Asia written without spaces
)

var seAsian = []*unicode.RangeTable{unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar}

// classOf returns the class of a character for the division into words.
func classOf(r rune) class {
	switch {
	case r < utf8.RuneSelf:
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z':
			return classLetter
		case '0' <= r && r <= '9':
			return classDigit
		case r == '_', r == '\'':
			return classJoin
		}
		return classNone
	case r == '’':
		return classJoin
	case r < 0x0E00: // before Thai no code point needs the script tables
	case unicode.Is(unicode.Han, r), unicode.Is(unicode.Hiragana, r), unicode.Is(unicode.Katakana, r), r == 'ー',
		r == '々':
		return classCJK
	case unicode.Is(unicode.Hangul, r):
		return classHangul
	case unicode.In(r, seAsian...):
		if unicode.IsDigit(r) {
			return classDigit
		}
		return classSEA
	}
	switch {
	case unicode.IsLetter(r):
		return classLetter
	case unicode.IsNumber(r):
		return classDigit
	case unicode.IsMark(r):
		return classMark
	}
	return classNone
}

// termOf returns the term of a word and its script, which is scriptLatin for one with
// digits.
func (a *analyzer) termOf(w []wordRune) (string, script) {
	a.low = a.low[:0]
	script := scriptLatin
	digits := false
	for _, c := range w {
		if isApostrophe(c.r) {
			continue
		}
		n := len(a.low)
		a.low = letters.Append(a.low, c.r)
		for _, f := range string(a.low[n:]) {
			digits = digits || '0' <= f && f <= '9' || f == '_'
			if s := scriptOf(f); s != scriptLatin {
				script = s
			}
		}
	}
	if digits {
		return string(a.low), scriptLatin
	}
	return a.stemOf(script), script
}

// beginningMark ends the term of the beginning of a word.
const beginningMark = "*"

// maxStems bounds the cache of stems. The most frequent words are soon in it again.
const maxStems = 1 << 13

// stemOf returns the stem of the word in a.low.
func (a *analyzer) stemOf(s script) string {
	stem, ok := a.stems[string(a.low)]
	if !ok {
		if len(a.stems) >= maxStems {
			clear(a.stems)
		}
		word := string(a.low)
		stem = a.stemWord(word, s)
		a.stems[word] = stem
	}
	return stem
}

// stemWord returns the stem of a word in the language that the script suggests, or the word.
func (a *analyzer) stemWord(word string, s script) string {
	if len(word) < 3 {
		return word
	}
	a.env.SetCurrent(word)
	switch s {
	case scriptLatin:
		english.Stem(a.env)
	case scriptCyrillic:
		russian.Stem(a.env)
	case scriptArabic:
		arabic.Stem(a.env)
	default:
		return word
	}
	if stem := a.env.Current(); stem != "" {
		return stem
	}
	return word
}

type script uint8

const (
	scriptLatin script = iota
	scriptCyrillic
	scriptArabic
	scriptOther
)

func scriptOf(r rune) script {
	switch {
	case r < 0x0250:
		return scriptLatin
	case unicode.Is(unicode.Cyrillic, r):
		return scriptCyrillic
	case unicode.Is(unicode.Arabic, r):
		return scriptArabic
	case unicode.Is(unicode.Latin, r):
		return scriptLatin
	}
	return scriptOther
}

func isApostrophe(r rune) bool { return r == '\'' || r == '’' }

// elided contains the words of French, Italian and Catalan that lose a vowel before a
// word that begins with one, as in l'été.
var elided = []string{"l", "d", "j", "m", "t", "s", "n", "c", "qu", "un", "all", "dall", "dell", "nell", "sull"}

// isElided reports whether a word before an apostrophe and a letter is a word of its
// own. Contractions of English, such as c'mon and d'you, have other letters there.
func isElided(word string, next rune) bool {
	first := letters.Append(nil, next)
	return len(first) > 0 && strings.IndexByte("aeiouh", first[0]) >= 0 && slices.Contains(elided, letters.Fold(word))
}

// FirstRunes returns the first n code points of s and reports whether s is
// longer.
func FirstRunes(s string, n int) (string, bool) {
	for i := range s {
		if n == 0 {
			return s[:i], true
		}
		n--
	}
	return s, false
}
