package secrets

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
)

// maskWord is what stands for the letters and digits of a credential, over and
// over.
const maskWord = "REDACTED"

// leastMask is how many of its letters in a row are a mask, and no word.
const leastMask = 2 * len(maskWord)

// Mask is a source with a mask in place of each credential, or the source itself
// if there is none. It is as long, and every letter and digit of a mask stands
// for a letter or digit: so both have the same lines, and mean the same as
// Markdown and as YAML. A digit that comes first stays one, because it begins
// other things than a letter does.
func Mask(source []byte) []byte {
	out := source
	// Where one credential runs into another, the second is found once the
	// first is gone.
	for range 8 {
		found := Find(string(out))
		if found == nil {
			break
		}
		if &out[0] == &source[0] {
			out = slices.Clone(source)
		}
		for _, f := range found {
			mask(out[f.Start:f.End], f.Start > 0 && source[f.Start-1] == '\\')
		}
	}
	return out
}

// Version names what [Mask] hides: it changes when the rules do, so that what
// was kept of a text that other rules had masked is not kept any longer.
func Version() string {
	h := fnv.New64a()
	for _, r := range slices.Concat(published, further) {
		fmt.Fprintf(h, "%q %q %q %v\n", r.words, r.form, r.sample, r.entropy)
	}
	return fmt.Sprintf("%x", h.Sum64())
}

// Redact is Mask for a text that is no file, with the number of masks in it,
// those that were there before included.
func Redact(text string) (string, int) {
	if found := Find(text); found != nil {
		text = string(Mask([]byte(text)))
	}
	return text, Masks(text)
}

// mask replaces letters and digits, but for those that a backslash before them
// makes into something else.
func mask(b []byte, escaped bool) {
	n := 0
	for i, c := range b {
		switch {
		case escaped || !alnum(c):
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

// isMask reports whether a text has a mask for letters and nothing else.
func isMask(s string) bool {
	n, escaped := 0, false
	for i := range len(s) {
		switch c := s[i]; {
		case escaped || !alnum(c):
			escaped = !escaped && c == '\\'
			continue
		case c != maskWord[n%len(maskWord)] && (n > 0 || c != '0'):
			return false
		}
		n++
	}
	return true
}

// Masks is how many masks a text has. What is between two letters of a mask may
// be anything that stands in a credential; lines belong together if the next one
// goes on where the last one ends, as those of a private key do.
func Masks(text string) int {
	if !strings.Contains(text, maskWord) {
		return 0
	}
	count, n, line := 0, 0, 0 // n of the letters there are, line of them on this line
	end := func() {
		if n >= leastMask {
			count++
		}
		n, line = 0, 0
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			i++ // as in \n
			line = 0
		case alnum(c):
			if n > 0 && c != maskWord[n%len(maskWord)] {
				end()
			}
			if n > 0 || c == maskWord[0] || c == '0' {
				n, line = n+1, line+1
			}
		case c == '\n', c == '\r':
			line = 0
		case strings.IndexByte("-_.=+/~:", c) >= 0:
		case line > 0:
			end()
		}
	}
	end()
	return count
}

// Redaction is in place of a rule's name where a text has a mask: written to a
// file, that would take the place of the credential it stands for.
const Redaction = "redaction"

// Rule is the rule by which a text has a credential, else [Redaction] if it has
// a mask, else empty.
func Rule(text string) string {
	if found := Find(text); found != nil {
		return found[0].Rule
	}
	if Masks(text) > 0 {
		return Redaction
	}
	return ""
}

func alnum(c byte) bool {
	return c-'0' < 10 || c|0x20-'a' < 26
}
