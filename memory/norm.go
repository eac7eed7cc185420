package memory

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
)

// Fold returns a form of s that ignores differences in case, width and white
// space.
func Fold(s string) string {
	if b, ok := foldFast(make([]byte, 0, len(s)), s); ok {
		return string(b)
	}
	return foldSlow(s)
}

func foldSlow(s string) string {
	s = norm.NFKC.String(strings.ToLower(norm.NFKC.String(s)))
	return strings.Join(strings.FieldsFunc(s, unicode.IsSpace), " ")
}

// foldFast appends the folded text to b. It handles only the most common
// characters and returns false for others. Its result equals that of foldSlow
// without the cost of general normalisation.
func foldFast(b []byte, s string) (out []byte, ok bool) {
	space := false
	for _, r := range s {
		if r >= 0xFF01 && r <= 0xFF5E { // full width
			r -= 0xFEE0
		}
		switch {
		case r == ' ' || r >= '\t' && r <= '\r' || r == 0x3000:
			space = len(b) > 0
			continue
		case r >= 'A' && r <= 'Z', r >= 0x410 && r < 0x430 && r != 0x419:
			r += 'a' - 'A' // Russian too
		case r < utf8.RuneSelf, r >= 0x430 && r <= 0x44F && r != 0x439,
			r >= 0x4E00 && r <= 0x9FFF, r >= 0x3001 && r <= 0x3003,
			r >= 0x3008 && r <= 0x3011, // CJK and its punctuation
			r == '—', r == '–', r == '‘', r == '’', r == '“', r == '”':
		default:
			return nil, false
		}
		if space {
			b, space = append(b, ' '), false
		}
		b = utf8.AppendRune(b, r)
	}
	return b, true
}

// stripEmphasis removes emphasis and strike-through markers: runs that open before a
// word and close after one. Unpaired runs and those inside a word (snake_case,
// 2*3) are text.
func stripEmphasis(s string) string {
	if !strings.ContainsAny(s, "*_~") {
		return s
	}
	type run struct {
		at, n int
	}
	const markers = "*_~"
	var open [len(markers)][]run
	var drop []run
	for i, n := 0, 0; i < len(s); i += n {
		kind := strings.IndexByte(markers, s[i])
		n = runLen(s[i:], s[i])
		if kind < 0 || s[i] == '~' && n < 2 {
			continue
		}
		opens, closes := emphasisFlanks(s, i, i+n)
		at := run{i, n}
		if m := len(open[kind]); closes && m > 0 {
			drop = append(drop, open[kind][m-1], at)
			open[kind] = open[kind][:m-1]
		} else if opens {
			open[kind] = append(open[kind], at)
		}
	}
	if len(drop) == 0 {
		return s
	}
	slices.SortFunc(drop, func(a, b run) int { return a.at - b.at })
	var out strings.Builder
	out.Grow(len(s))
	from := 0
	for _, r := range drop {
		out.WriteString(s[from:r.at])
		from = r.at + r.n
	}
	out.WriteString(s[from:])
	return out.String()
}

// emphasisFlanks reports whether a run of markers can open or close emphasis. Inside a
// word only asterisks can, and only next to letters of scripts without spaces
// between words.
func emphasisFlanks(s string, from, to int) (opens, closes bool) {
	before, _ := utf8.DecodeLastRuneInString(s[:from])
	after, _ := utf8.DecodeRuneInString(s[to:])
	spaceBefore := from == 0 || unicode.IsSpace(before)
	spaceAfter := to == len(s) || unicode.IsSpace(after)
	word := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	if !spaceBefore && !spaceAfter && word(before) && word(after) &&
		(s[from] != '*' || before < utf8.RuneSelf && after < utf8.RuneSelf) {
		return false, false
	}
	return !spaceAfter && (spaceBefore || !word(before) || word(after)),
		!spaceBefore && (spaceAfter || !word(after) || word(before))
}

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
	if strings.IndexByte(s, '^') < 0 {
		return "", s
	}
	t := strings.TrimRight(s, " \t\n")
	i := strings.LastIndexByte(t, '^')
	if i < 0 || len(t)-i > 100 {
		return "", s
	}
	m := anchorRE().FindStringSubmatchIndex(t[max(0, i-1):])
	if m == nil {
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
		return Fold(stripEmphasis(trimMarkers(text)))
	}
	var b strings.Builder
	b.Grow(len(text))
	for len(text) > 0 {
		line, rest, _ := strings.Cut(text, "\n")
		b.WriteString(trimMarkers(line))
		b.WriteByte('\n')
		text = rest
	}
	return Fold(stripEmphasis(b.String()))
}

// trimMarkers returns a line without the markers of quotes, items and tasks.
func trimMarkers(line string) string {
	line = strings.TrimLeft(line, " \t>")
	line = line[listMarkerLen(line):]
	return line[boxLen(line):]
}

var (
	// taskLinkRE matches links with the dates of creation and completion.
	taskLinkRE = lazyregexp.New(`\s*\[(?:Created|Done)\]\([^)]*\)`)
	addedAnyRE = lazyregexp.New(`\s*[(（]added\s+\d{4}-\d{2}-\d{2}[)）]`)
)

var tagWordRE = lazyregexp.New(`(^|\s)#\pN*[\pL_][\pL\pN\pM_/:.-]*`)

// readTaskText returns a task's text on one line, without the properties that programs
// write, and the values of these.
func readTaskText(s string) (string, taskFields) {
	_, s = splitAnchor(s)
	if strings.Contains(s, "](") {
		s = taskLinkRE().ReplaceAllString(s, "")
	}
	s, fields := cutTaskFields(s)
	fields.recurs = fields.recurs || hasRecurringTag(s)
	return HeadingLine(s), fields
}

func taskText(s string) string {
	text, _ := readTaskText(s)
	return text
}

// taskNorm returns a task's text in the form in which copies of a task are
// compared.
func taskNorm(text string) string {
	if strings.Contains(text, "added") {
		text = addedAnyRE().ReplaceAllString(text, "")
	}
	_, text = cutLeadingDate(text)
	if strings.Contains(text, "#") {
		text = tagWordRE().ReplaceAllString(text, "$1")
	}
	text = Fold(stripEmphasis(text))
	return strings.TrimRightFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune(".,;:!?。，；：！？、…", r)
	})
}

// TaskNorm returns a task's text in the form in which copies of a task are
// compared: without the marks that [Task] omits from its text, and without
// case, width, white space, emphasis, tags, added date and trailing
// punctuation.
func TaskNorm(text string) string { return taskNorm(taskText(text)) }

// Undated returns [Entry.Norm] without the added date.
func (e *Entry) Undated() string {
	if e.Added == "" {
		return e.Norm
	}
	return strings.TrimSpace(addedAnyRE().ReplaceAllString(e.Norm, ""))
}
