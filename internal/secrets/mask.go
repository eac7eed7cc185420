package secrets

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
)

// maskWord is repeated to replace the letters and digits of a credential.
const maskWord = "REDACTED"

// Mask returns source with a mask in place of each credential, or source itself
// if there is none. A mask has the length of the credential and replaces
// letters and digits by letters and digits. The result therefore has the same
// lines and the same structure as Markdown and as YAML. A leading digit is
// replaced by a digit, because digits and letters begin different constructs.
func Mask(source []byte) []byte {
	out := source
	// If one credential runs into another, the second is found only after the
	// first is masked.
	for range 8 {
		found := Find(string(out))
		if found == nil {
			break
		}
		if &out[0] == &source[0] {
			out = slices.Clone(source)
		}
		for _, f := range found {
			maskBytes(out[f.Start:f.End], f.Start > 0 && source[f.Start-1] == '\\')
		}
	}
	return out
}

// Version identifies the rules of [Mask]. It changes with the rules, so that
// results cached under other rules can be discarded.
func Version() string {
	h := fnv.New64a()
	fmt.Fprintln(h, "labels 5", valueForm(), valueEnd(), labelGap(),
		clauseEnd(), numberEnd(), compound(), hardwareUse(), prosePhrase(), mixed(), partWord(),
		cardIssuers(), cardForm(), identityForm())
	for _, r := range allRules() {
		fmt.Fprintf(h, "%q %q %q %q %q %q %q %v\n", r.words, r.form, r.sample, r.link, r.bare, r.after, r.not, r.entropy)
	}
	return fmt.Sprintf("%x", h.Sum64())
}

// Redact masks a text outside a file. It returns the number of masks in the
// result, including those that text had before.
func Redact(text string) (string, int) {
	l := find(text)
	if l.found != nil {
		text = string(Mask([]byte(text)))
		l = find(text)
	}
	return text, countMasks(text, l.masks)
}

// Remove replaces each credential in a text that will be written to a file, in
// which a mask would stand for an existing credential. It returns the names of
// the matching rules, sorted.
func Remove(text string) (string, []string) {
	var rules []string
	for range 8 { // as in Mask
		found := Find(text)
		if found == nil {
			break
		}
		var b strings.Builder
		at := 0
		for _, f := range found {
			b.WriteString(text[at:f.Start] + "[removed]")
			at = f.End
			rules = append(rules, f.Rule)
		}
		text = b.String() + text[at:]
	}
	slices.Sort(rules)
	return text, slices.Compact(rules)
}

// maskBytes replaces letters and digits, except a character after a backslash, which
// is part of an escape sequence.
func maskBytes(b []byte, escaped bool) {
	n := 0
	for i, c := range b {
		switch {
		case escaped || !isAlnum(c):
			escaped = !escaped && c == '\\'
			continue
		case n == 0 && c <= '9':
			b[i] = '0'
		default:
			b[i] = maskWord[n%len(maskWord)]
		}
		n++
	}
}

// isMask reports whether all letters and digits of a text are those of a mask.
func isMask(s string) bool {
	n, escaped := 0, false
	for i := range len(s) {
		switch c := s[i]; {
		case escaped || !isAlnum(c):
			escaped = !escaped && c == '\\'
			continue
		case c != maskWord[n%len(maskWord)] && (n > 0 || c != '0'):
			return false
		}
		n++
	}
	return n > 0
}

// CountMasks returns the number of masks in a text. The letters of a mask may be
// separated by any character that occurs in a credential. Masked lines count as
// one mask if a line continues the letters of the previous one, as in a private
// key. The mask of a password may be shorter.
func CountMasks(text string) int {
	return countMasks(text, find(text).masks)
}

// countMasks is [CountMasks] for a text with these masks of passwords.
func countMasks(text string, passwords []Finding) int {
	count := countLongMasks(text)
	for _, f := range passwords {
		if countLongMasks(text[f.Start:f.End]) == 0 {
			count++
		}
	}
	return count
}

// maskSeparator matches text between the letters of a mask: characters of credentials,
// escapes such as \n, and the beginnings of lines.
const maskSeparator = `(?:[-_.=+/~: ]|(?:[\r\n]|\\[\x00-\x{10FFFF}])[^A-Za-z0-9\\]*)*`

// longMask matches a mask of at least 13 letters: shorter ones may be words.
var longMask = lazyregexp.New("[R0]" + strings.ReplaceAll("EDACTEDREDAC", "", maskSeparator) +
	"(?:" + strings.ReplaceAll("TEDREDAC", "", maskSeparator) + ")*")

// countLongMasks returns the number of masks of at least 13 letters.
func countLongMasks(text string) int {
	if !strings.Contains(text, maskWord[1:4]) {
		return 0
	}
	return len(longMask().FindAllStringIndex(text, -1))
}

// Redaction is returned in place of a rule name for a text with a mask. If such
// a text were written to a file, the mask would replace the credential.
const Redaction = "redaction"

// MatchingRule returns the name of the rule that matches a credential in a text,
// [Redaction] if the text has only a mask, and "" otherwise.
func MatchingRule(text string) string {
	l := find(text)
	if l.found != nil {
		return l.found[0].Rule
	}
	if countMasks(text, l.masks) > 0 {
		return Redaction
	}
	return ""
}

// MatchingID is [MatchingRule] for an id, such as that of a session, which becomes part of
// the names of files: the marker of a provider before a long run of letters and digits is
// enough, for tokens of any length.
func MatchingID(id string) string {
	if rule := MatchingRule(id); rule != "" || len(id) < wordBytes {
		return rule
	}
	m := sharedMatcher()
	for _, w := range m.words[wordKey(id)] {
		rest, ok := strings.CutPrefix(id, w.text)
		if ok && w.rule >= 0 && !isAlnum(w.text[len(w.text)-1]) && idRunRE().MatchString(rest) {
			return m.rules[w.rule].name
		}
	}
	return ""
}

// idRunRE matches the random part of a token, which the ids of sessions, such as UUIDs and
// words with a day, do not contain.
var idRunRE = lazyregexp.New(`[A-Za-z0-9]{16}`)

func isAlnum(c byte) bool {
	return c-'0' < 10 || c|0x20-'a' < 26
}
