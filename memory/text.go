package memory

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
	"github.com/memwatchd/memwatchd/internal/letters"
)

// lines is an index of the lines of a text. A line ends with LF, CR LF or a
// lone CR, as in CommonMark; the text is split in a copy with LF endings. A file
// with a lone CR is read and never changed.
type lines struct {
	starts []int // of every line; the last line ends at size
	size   int
}

// splitLines indexes a text with LF line endings.
func splitLines(text []byte) lines {
	l := lines{size: len(text), starts: make([]int, 0, 1+bytes.Count(text, []byte("\n")))}
	for at := 0; at < len(text); at += lineLen(text[at:]) {
		l.starts = append(l.starts, at)
	}
	return l
}

// lineLen returns the length of the first line of b with its ending.
func lineLen(b []byte) int {
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		return i + 1
	}
	return len(b)
}

func (l lines) count() int { return len(l.starts) }

// start returns the offset of a 1-based line. The line after the last one
// starts at the end of the text.
func (l lines) start(line int) int {
	if line > len(l.starts) {
		return l.size
	}
	return l.starts[line-1]
}

// span returns the bytes of lines from to to, inclusive.
func (l lines) span(from, to int) Span { return Span{l.start(from), l.start(to + 1)} }

// at returns the 1-based number of the line that contains an offset.
func (l lines) at(offset int) int {
	return max(1, sort.Search(len(l.starts), func(i int) bool { return l.starts[i] > offset }))
}

// ending returns the line ending of a line of the source. If the line has none, it
// returns that of the nearest line above, or a line feed.
func (l lines) ending(source []byte, line int) []byte {
	for line = min(line, l.count()); line > 0; line-- {
		s := l.span(line, line)
		b := source[s.Start:s.End]
		if end := b[len(trimEnding(b)):]; len(end) > 0 {
			return end
		}
	}
	return []byte("\n")
}

// trimEnding removes the line ending from a line.
func trimEnding(b []byte) []byte {
	b = bytes.TrimSuffix(b, []byte("\n"))
	return bytes.TrimSuffix(b, []byte("\r"))
}

// commonEnding returns the line ending of all lines of a text, or "" if they differ
// or the text has none.
func commonEnding(text []byte) string {
	switch lf, crlf := bytes.Count(text, []byte("\n")), bytes.Count(text, []byte("\r\n")); {
	case lf == 0:
		return ""
	case crlf == 0:
		return "\n"
	case crlf == lf:
		return "\r\n"
	}
	return ""
}

// isBlankText reports whether b contains only white space.
func isBlankText(b []byte) bool { return len(bytes.TrimLeft(b, " \n\t\r")) == 0 }

// displayText returns a text of the source in its display form: LF line endings,
// and replacement characters for invalid UTF-8 and NUL.
func displayText(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	return strings.ReplaceAll(unixLines(s), "\x00", "\uFFFD")
}

// unixText returns a copy of the source, of the same length, in which every
// line ends with LF. If the source has no CR, the result shares its memory. NUL
// characters stay, because they do not affect the structure.
func unixText(src []byte) []byte {
	if bytes.IndexByte(src, '\r') < 0 {
		return src[:len(src):len(src)]
	}
	out := bytes.ReplaceAll(src, []byte("\r\n"), []byte(" \n"))
	return bytes.ReplaceAll(out, []byte("\r"), []byte("\n"))
}

// spansFrom returns the spans that end behind an offset, of sorted spans without common
// bytes.
func spansFrom(spans []Span, at int) []Span {
	for len(spans) > 0 && spans[0].End <= at {
		spans = spans[1:]
	}
	return spans
}

// removeSpans appends to out a line that begins at start in the source, without the
// spans in cuts, which are sorted.
func removeSpans(out, line []byte, start int, cuts []Span) []byte {
	at := 0
	for _, c := range cuts {
		if c.Start >= start+len(line) {
			break
		}
		from, to := max(c.Start-start, at), min(c.End-start, len(line))
		if from >= to {
			continue
		}
		out, at = append(out, line[at:from]...), to
	}
	return append(out, line[at:]...)
}

// Span is a range of bytes in a document's source, end exclusive.
type Span struct{ Start, End int }

// A textEdit replaces the bytes of a span of a text. An empty span inserts.
type textEdit struct {
	Span Span
	New  []byte
}

// splice returns a copy of source with edits applied. The edits may be in any
// order. Edits at the same position are applied in the given order, insertions
// first. If edits overlap or lie outside the source, splice returns an error.
func splice(source []byte, edits []textEdit) ([]byte, error) {
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, func(a, b textEdit) int {
		return cmp.Or(cmp.Compare(a.Span.Start, b.Span.Start),
			cmp.Compare(min(a.Span.End, a.Span.Start+1), min(b.Span.End, b.Span.Start+1)))
	})
	out, at := make([]byte, 0, len(source)), 0
	for _, e := range edits {
		if e.Span.Start < at || e.Span.End < e.Span.Start || e.Span.End > len(source) {
			return nil, fmt.Errorf("two changes overlap at byte %d", e.Span.Start)
		}
		out = append(append(out, source[at:e.Span.Start]...), e.New...)
		at = e.Span.End
	}
	return append(out, source[at:]...), nil
}

var bom = []byte("\xEF\xBB\xBF")

// bomLen returns the length of the byte order mark at the start of b, or 0.
func bomLen(b []byte) int { return len(b) - len(bytes.TrimPrefix(b, bom)) }

// trimBlank returns lines without leading and trailing blank lines.
func trimBlank(lines []string) []string {
	empty := func(s string) bool { return strings.Trim(s, " \t") == "" }
	for len(lines) > 0 && empty(lines[0]) {
		lines = lines[1:]
	}
	for len(lines) > 0 && empty(lines[len(lines)-1]) {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// dedent removes the common leading white space of lines.
func dedent(lines []string) []string {
	indent := -1
	for _, l := range lines {
		if n := len(l) - len(strings.TrimLeft(l, " \t")); n < len(l) && (indent < 0 || n < indent) {
			indent = n
		}
	}
	if indent <= 0 {
		return lines
	}
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = l[min(indent, len(l)):]
	}
	return out
}

func runLen[T string | []byte](b T, c byte) int {
	n := 0
	for n < len(b) && b[n] == c {
		n++
	}
	return n
}

// unixLines returns a text with LF line endings.
var unixLines = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace

// stripEmphasis removes the markers of emphasis and strike-through, paired or not, except
// single ones inside a word: 2*3 and snake_case stay. It is for comparisons only.
func stripEmphasis(s string) string {
	if !strings.ContainsAny(s, "*_~") {
		return s
	}
	var b strings.Builder
	for i, n := 0, 0; i < len(s); i += n {
		n = runLen(s[i:], s[i])
		before, _ := utf8.DecodeLastRuneInString(s[:i])
		after, _ := utf8.DecodeRuneInString(s[i+n:])
		inWord := n == 1 && isWord(before) && isWord(after)
		if inWord || strings.IndexByte("*_~", s[i]) < 0 {
			b.WriteString(s[i : i+n])
		}
	}
	return b.String()
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// listMarkerLen returns the length of the list marker and following space at
// the start of a line, or 0.
func listMarkerLen(s string) int {
	i := 0
	for i < len(s) && i < 9 && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	switch {
	case i >= len(s):
		return 0
	case i > 0 && (s[i] == '.' || s[i] == ')'), i == 0 && (s[i] == '-' || s[i] == '*' || s[i] == '+'):
		i++
	default:
		return 0
	}
	n := i
	for n < len(s) && (s[n] == ' ' || s[n] == '\t') {
		n++
	}
	if n == i && n < len(s) {
		return 0
	}
	return n
}

// boxLen returns the length of a task's box and the following space at the
// start of s, or 0.
func boxLen(s string) int {
	if len(s) < 4 || s[0] != '[' || s[2] != ']' || s[1] != ' ' && s[1] != 'x' && s[1] != 'X' {
		return 0
	}
	n := 3
	for n < len(s) && (s[n] == ' ' || s[n] == '\t' || s[n] == '\n') {
		n++
	}
	if n == 3 || n == len(s) {
		return 0
	}
	return n
}

var anchorRE = lazyregexp.New(`(?:^|\s)\^([A-Za-z0-9][A-Za-z0-9-]*)\s*$`)

// splitAnchor returns the Obsidian block id at the end of a text, and the text
// before it.
func splitAnchor(s string) (id, before string) {
	t := strings.TrimRight(s, " \t\n")
	i := strings.LastIndexByte(t, '^')
	if i < 0 || len(t)-i > 100 || !anchorRE().MatchString(t[max(0, i-1):]) {
		return "", s
	}
	return t[i+1:], strings.TrimRight(t[:i], " \t\n")
}

// normText normalizes an entry's text for duplicate detection: it folds case,
// character width and white space, and removes emphasis, list markers, checkboxes
// and anchors.
func normText(text string) string {
	_, text = splitAnchor(text)
	if strings.IndexByte(text, '\n') < 0 {
		return letters.FoldCase(stripEmphasis(trimMarkers(text)))
	}
	var b strings.Builder
	b.Grow(len(text))
	for len(text) > 0 {
		line, rest, _ := strings.Cut(text, "\n")
		b.WriteString(trimMarkers(line))
		b.WriteByte('\n')
		text = rest
	}
	return letters.FoldCase(stripEmphasis(b.String()))
}

// trimMarkers returns a line without the markers of quotes, items and tasks.
func trimMarkers(line string) string {
	line = strings.TrimLeft(line, " \t>")
	line = line[listMarkerLen(line):]
	return line[boxLen(line):]
}

var tagWordRE = lazyregexp.New(`(^|\s)#\pN*[\pL_][\pL\pN\pM_/:.-]*`)

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
	s = trimDecoration(letters.FoldCase(stripEmphasis(s)))
	n := 0
	if strings.ContainsAny(s, ".)、") {
		n = len(numberingRE().FindString(s))
	}
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

// splitTitle splits a leading bold text and its colon from an entry's lead.
func splitTitle(lead string) (title, rest string) {
	mark := "**"
	if strings.HasPrefix(lead, "__") {
		mark = "__"
	}
	body, ok := strings.CutPrefix(lead, mark)
	if !ok {
		return "", lead
	}
	end := unescapedIndex(body, mark)
	if end <= 0 || body[0] == ' ' || body[0] == '*' || body[end-1] == ' ' || strings.IndexByte(body[:end], '\n') >= 0 {
		return "", lead
	}
	title, rest = strings.TrimSpace(body[:end]), strings.TrimLeft(body[end+len(mark):], "*")
	rest, cut := cutColon(rest, strings.CutPrefix)
	if !cut { // a colon after the title would leave one in the title
		title, cut = cutColon(title, strings.CutSuffix)
	}
	rest = strings.TrimLeft(rest, " \t")
	if !cut {
		rest, _ = cutColon(rest, strings.CutPrefix)
	}
	return strings.TrimSpace(title), strings.TrimLeft(rest, " \t")
}

// cutColon removes a colon from one end of a text.
func cutColon(s string, cut func(s, colon string) (string, bool)) (rest string, ok bool) {
	rest, ok = cut(s, ":")
	if !ok {
		rest, ok = cut(s, "：")
	}
	return rest, ok
}

// unescapedIndex returns the index of the first mark in s that does not follow
// a backslash, or -1.
func unescapedIndex(s, mark string) int {
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			i++
		case strings.HasPrefix(s[i:], mark):
			return i
		}
	}
	return -1
}

// IsDay reports whether s is a calendar day written YYYY-MM-DD.
func IsDay(s string) bool {
	if len(s) != len(time.DateOnly) || s[4] != '-' || s[7] != '-' {
		return false
	}
	_, err := time.Parse(time.DateOnly, s)
	return err == nil
}

// meansPrivate reports whether a value is that of a private visibility. Without an
// attribute visibility, it is probably the value of a misspelled one.
func meansPrivate(value string) bool { return letters.FoldCase(value) == PrivateOnly.String() }

// FoldTag returns a tag in the form in which tags are compared: in lower case, and
// without the selectors of the style of emojis, which some editors add.
func FoldTag(tag string) string {
	return strings.Map(func(r rune) rune {
		if isEmojiStyle(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, tag)
}

// isEmojiStyle reports whether a character selects the style of the symbol before
// it, text or emoji.
func isEmojiStyle(r rune) bool { return r == '\ufe0e' || r == '\ufe0f' }

// textWords returns the words of a text, separated by white space or byte order
// marks.
func textWords(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || r == '\ufeff' })
}

// listMarker returns the marker at the start of a list item, or an empty
// string.
func listMarker(s string) string { return strings.TrimRight(s[:listMarkerLen(s)], " \t") }

// Done tasks without boxes begin with a check mark. The emoji may be followed
// by a variation selector.
const (
	checkMark  = "✅"
	emojiStyle = "\ufe0f"
)

var idEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

const idDigits = 10

// hashID returns the derived id for a hash input.
func hashID(b []byte) string {
	sum := sha256.Sum256(b)
	var out [16]byte
	idEncoding.Encode(out[:], sum[:10])
	return "~" + string(out[:idDigits])
}

// A lineRange is a range of 1-based lines, inclusive.
type lineRange struct{ from, to int }

func (r lineRange) overlaps(from, to int) bool { return from <= r.to && to >= r.from }

// regions is a sorted list of ranges without common lines.
type regions []lineRange

func (list regions) overlaps(from, to int) bool {
	i, _ := slices.BinarySearchFunc(list, from, func(r lineRange, line int) int { return r.to - line })
	return i < len(list) && list[i].overlaps(from, to)
}

// joinRegions sorts regions and joins those that have a line in common.
func joinRegions(regions []lineRange) []lineRange {
	slices.SortFunc(regions, func(a, b lineRange) int { return a.from - b.from })
	merged := regions[:0]
	for _, r := range regions {
		if n := len(merged); n > 0 && r.from <= merged[n-1].to {
			merged[n-1].to = max(merged[n-1].to, r.to)
		} else {
			merged = append(merged, r)
		}
	}
	return merged
}
