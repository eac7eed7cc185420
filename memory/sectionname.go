package memory

import (
	"strings"
	"unicode"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
)

var (
	// headingLinkRE matches a link, with the text that is shown for it, or an image.
	headingLinkRE = lazyregexp.New(`!\[[^\]]*\]\([^)]*\)|\[\[(?:[^\]|]*\|)?([^\]|]*)\]\]|` +
		`\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])`)
	// decorationRE matches the parts of a heading that do not name its section:
	// HTML tags, {#anchors}, counters such as (3) and [1/2], and emoji written as
	// :memo: or as a keycap.
	decorationRE = lazyregexp.New(`<[^>]*>|\{[^{}]*\}\s*$|[\[(]\d+(?:/\d+|%)?[\])]\s*$|` +
		`:[a-z][a-z0-9_+-]*:|[0-9#*]\x{fe0f}?\x{20e3}`)
	// numberingRE matches the number of a heading: 1. or 2.3 or (4) or 三、
	numberingRE = lazyregexp.New(`^(?:\d+(?:\.\d+)+\s|\(?(?:\d+(?:\.\d+)*|[一二三四五六七八九十]+)[.)、]+|` +
		`\(?(?:[a-z]|[ivx]+)[.)]\s)`)
)

// sectionName returns a heading in the form in which section names are
// compared: folded, without numbering, tags, anchors, links, emphasis, emoji and
// a trailing colon.
func sectionName(s string) string {
	_, name := splitHeading(s)
	return name
}

// splitHeading returns the number of a heading, if it has one, and the name of its
// section.
func splitHeading(s string) (number, name string) {
	for range 4 { // one decoration may follow another
		_, s = splitAnchor(strings.TrimSpace(s))
		if !strings.ContainsAny(s, "<[({:#^\u20e3") {
			break
		}
		s = decorationRE().ReplaceAllString(headingLinkRE().ReplaceAllString(s, "$1$2"), "")
		if untagged := tagWordRE().ReplaceAllString(s, "$1"); trimDecoration(untagged) != "" {
			s = untagged
		}
	}
	s = trimDecoration(Fold(stripEmphasis(s)))
	n := len(numberingRE().FindString(s))
	return s[:n], trimDecoration(s[n:])
}

// trimDecoration returns a heading without the symbols at its ends.
func trimDecoration(s string) string {
	return strings.TrimFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.In(r, unicode.So, unicode.Sk, unicode.Variation_Selector) ||
			strings.ContainsRune(":#=|•·–—\u200d", r)
	})
}

// SameSection reports whether two headings name one section, apart from decoration
// such as emphasis, tags and anchors. Differently numbered headings do not.
func SameSection(a, b string) bool {
	number, name := splitHeading(a)
	otherNumber, otherName := splitHeading(b)
	return name == otherName && (number == "" || otherNumber == "" || number == otherNumber)
}
