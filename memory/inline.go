package memory

import (
	"bytes"
	"path"
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark/util"
)

// A leaf is the text of a block without nested blocks: a paragraph, a heading,
// the rows of a table, an HTML block.
type leaf struct {
	buf  []byte
	segs []seg // positions of the parts of buf in the source; nil if buf is one piece that starts at at
	at   int
	html bool // only comments and <private> tags are read
	item int  // list item that contains it, an index in block.items
	lead bool // first block of that item, or of the entry

	comments []comment
}

type seg struct{ buf, src int }

// pos returns the source offset of an offset in the leaf's text.
func (l *leaf) pos(i int) int {
	if l.segs == nil {
		return l.at + i
	}
	n := sort.Search(len(l.segs), func(n int) bool { return l.segs[n].buf > i }) - 1
	return l.segs[n].src + i - l.segs[n].buf
}

// end returns the source offset after the last character of the leaf's text, or
// 0 if the leaf is blank.
func (l *leaf) end() int {
	n := len(bytes.TrimRight(l.buf, " \t\n"))
	if n == 0 {
		return 0
	}
	return l.pos(n-1) + 1
}

type comment struct {
	from, to int  // in the leaf's buf; to equals from if the comment is not closed
	src      Span // position in the source, up to the end of the comment
	attrs    []attr
	state    commentState
}

// A privateMark is a <private> tag.
type privateMark struct {
	at    int // source offset
	close bool
	code  bool // inside code, so it applies only to the entry that contains it
}

// inlineElements holds the inline elements of an entry.
type inlineElements struct {
	tags  []string
	links []Link
	marks []privateMark

	percent      bool // there are comments of Obsidian
	noCommentEnd bool // no further comment of this leaf is closed
}

// maxRun bounds the run of backticks that opens a code span. The bound keeps
// the search for the end of the span linear.
const maxRun = 64

const (
	maxParens   = 32      // nested in a destination; CommonMark allows this limit
	maxTarget   = 2 << 10 // bytes of a link's destination
	maxLinkText = 1 << 10
)

// scanLeaf reads the inline elements of a leaf: comments, tags, links and <private>
// marks. Inside code it reads only <private> marks.
func (f *inlineElements) scanLeaf(l *leaf) {
	b := l.buf
	f.noCommentEnd = false
	var failed [maxRun + 1]bool
	var open []int // brackets
	special := "\\`<[]#%"
	if l.html {
		special = "<"
	}
	for i := 0; i < len(b); {
		n := bytes.IndexAny(b[i:], special)
		if n < 0 {
			break
		}
		i += n
		switch b[i] {
		case '\\':
			i++
			if i < len(b) && b[i] < utf8.RuneSelf && b[i] != '\n' {
				i++
			}
		case '`':
			i = f.codeSpan(l, i, &failed)
		case '<':
			i = f.scanAngle(l, i)
		case '#':
			i = f.scanTag(b, i)
		case '%':
			if end := percentComment(b, i); end > 0 {
				l.comments = append(l.comments, comment{from: i, to: end, src: Span{l.pos(i), l.pos(end-1) + 1}})
				i, f.percent = end, true
			} else {
				i += runLen(b[i:], '%')
			}
		case '[':
			if end, ok := f.scanWikilink(b, i); ok {
				i = end
				break
			}
			open = append(open, i)
			i++
		case ']':
			i++
			if len(open) == 0 {
				break
			}
			from := open[len(open)-1]
			open = open[:len(open)-1]
			i = f.scanLink(b, from, i)
		}
	}
}

// codeSpan returns the offset after a code span, or after its backticks if the
// span is not closed.
func (f *inlineElements) codeSpan(l *leaf, i int, failed *[maxRun + 1]bool) int {
	b := l.buf
	n := runLen(b[i:], '`')
	if n > maxRun || failed[n] {
		return i + n
	}
	for j := i + n; ; {
		k := bytes.IndexByte(b[j:], '`')
		if k < 0 {
			failed[n] = true
			return i + n
		}
		j += k
		m := runLen(b[j:], '`')
		if m == n {
			f.codeMarks(b[i:j], func(k int) int { return l.pos(i + k) })
			return j + n
		}
		j += m
	}
}

// codeMarks records the <private> tags in code.
func (f *inlineElements) codeMarks(b []byte, pos func(int) int) {
	for i, c := range b {
		if c != '<' {
			continue
		}
		if n, closing := privateTag(b[i:]); n > 0 {
			f.marks = append(f.marks, privateMark{at: pos(i), close: closing, code: true})
		}
	}
}

// skippedMarks records the <private> tags in text that has no other inline elements. A
// closing tag has an effect outside of the text only if its opening tag is in the text,
// so that hidden text never ends a private range.
func (f *inlineElements) skippedMarks(b []byte, pos func(int) int) {
	first, depth := len(f.marks), 0
	f.codeMarks(b, pos)
	for i := range f.marks[first:] {
		m := &f.marks[first+i]
		switch {
		case !m.close:
			depth++
			m.code = false
		case depth > 0:
			depth--
			m.code = false
		}
	}
}

// startsMark reports whether an HTML comment or a <private> tag begins in b[from:to].
func startsMark(b []byte, from, to int) bool {
	for i := from; i < to; i++ {
		if b[i] != '<' {
			continue
		}
		if n, _ := privateTag(b[i:]); n > 0 || bytes.HasPrefix(b[i:], commentOpen) {
			return true
		}
	}
	return false
}

// maxPrivateTag is the maximum length of a <private> or </private> tag in bytes.
const maxPrivateTag = len("</private") + 100

// privateTag returns the length of the <private> or </private> tag at the start of
// b, or 0 if there is none, and whether it is a closing tag. b begins with "<".
func privateTag(b []byte) (n int, closing bool) {
	rest := b[1:]
	if len(rest) > 0 && rest[0] == '/' {
		rest, closing = rest[1:], true
	}
	const word = "private"
	if len(rest) <= len(word) || !strings.EqualFold(string(rest[:len(word)]), word) {
		return 0, false
	}
	rest = rest[len(word):]
	if rest[0] != '>' && rest[0] != ' ' && rest[0] != '\t' {
		return 0, false
	}
	end := bytes.IndexByte(rest[:min(len(rest), maxPrivateTag-len("</private"))], '>')
	if end < 0 {
		return 0, false
	}
	return len(b) - len(rest) + end + 1, closing
}

// scanAngle reads a comment, a <private> tag or an autolink at offset i, and
// returns the offset after it.
func (f *inlineElements) scanAngle(l *leaf, i int) int {
	b := l.buf
	if bytes.HasPrefix(b[i:], commentOpen) {
		from := i + len(commentOpen)
		end := -1
		if !f.noCommentEnd {
			end = bytes.Index(b[from:], commentClose)
			f.noCommentEnd = end < 0 // no further comment of this leaf is closed either
		}
		c := comment{from: i, to: i, src: Span{l.pos(i), l.pos(i)}}
		if end < 0 {
			c.state = unclosedComment(b[from:])
			if c.state == commentPlain && l.html {
				c.state = commentUnclosed
			}
			if c.state != commentPlain {
				l.comments = append(l.comments, c)
			}
			return from
		}
		c.to = from + end + len(commentClose)
		c.src.End = l.pos(c.to-1) + 1
		c.attrs, c.state = parseComment(string(b[from : from+end]))
		l.comments = append(l.comments, c)
		f.skippedMarks(b[from:from+end], func(k int) int { return l.pos(from + k) })
		return c.to
	}
	if n, closing := privateTag(b[i:]); n > 0 {
		f.marks = append(f.marks, privateMark{at: l.pos(i), close: closing})
		return i + n
	}
	if l.html {
		return i + 1
	}
	end := bytes.IndexAny(b[i+1:min(len(b), i+maxTarget)], "<> \n")
	if end > 0 && b[i+1+end] == '>' && hasScheme(string(b[i+1:i+1+end])) {
		url := string(b[i+1 : i+1+end])
		f.links = append(f.links, Link{Text: url, Target: url})
		return i + end + 2
	}
	return i + 1
}

// scanTag scans a #tag at b[i] and returns the offset after it. A tag must start a
// word and must not be a number. In quotes, as in #"c++", it may contain spaces and
// other characters.
func (f *inlineElements) scanTag(b []byte, i int) int {
	if !atWordStart(b, i) {
		return i + 1 + runLen(b[i+1:], '#')
	}
	from := i + 1
	if word := quotedTag(b[from:min(len(b), from+200)]); word != "" {
		f.tags = append(f.tags, FoldTag(word))
		return from + len(word) + 2
	}
	end, letters := from, false
	for end < len(b) && end-from < 200 {
		r, n := utf8.DecodeRune(b[end:])
		switch {
		case isEmojiStyle(r):
		case unicode.IsLetter(r) || unicode.IsMark(r) || r == '_' || r == '\u200d' || unicode.Is(unicode.So, r):
			letters = true
		case unicode.IsDigit(r):
		case end > from && (r == '-' || r == '/' || r == ':' || r == '.'):
		default:
			n = 0
		}
		if n == 0 {
			break
		}
		end += n
	}
	word := strings.TrimRight(FoldTag(string(b[from:end])), "-/:.")
	if !letters || word == "" {
		return i + 1 + runLen(b[i+1:], '#')
	}
	f.tags = append(f.tags, word)
	return end
}

// atWordStart reports whether the character before b[i] separates words.
func atWordStart(b []byte, i int) bool {
	r, _ := utf8.DecodeLastRune(b[:i])
	return i == 0 || unicode.IsSpace(r) || strings.ContainsRune("([{<\"'|*_~，。；：！？、（【《「“‘", r)
}

// quotedTag returns the tag in quotes at the start of b, or "" if there is none.
func quotedTag(b []byte) string {
	if len(b) == 0 || b[0] != '"' {
		return ""
	}
	n := bytes.IndexAny(b[1:], "\"<>`\\\r\n") // these may have another meaning
	if n <= 0 || b[1+n] != '"' {
		return ""
	}
	word := string(b[1 : 1+n])
	if word != strings.TrimSpace(word) || !strings.ContainsFunc(word, unicode.IsLetter) || word[0] == '#' {
		return ""
	}
	return word
}

// scanWikilink reads [[target#anchor|text]].
func (f *inlineElements) scanWikilink(b []byte, i int) (end int, ok bool) {
	if !bytes.HasPrefix(b[i:], []byte("[[")) {
		return 0, false
	}
	in := b[i+2 : min(len(b), i+2+maxLinkText)]
	n := bytes.Index(in, []byte("]]"))
	if n <= 0 || bytes.IndexByte(in[:n], '\n') >= 0 || bytes.IndexByte(in[:n], '[') >= 0 {
		return 0, false
	}
	if startsMark(b, i, i+2+n) {
		return 0, false
	}
	target, text, named := strings.Cut(string(in[:n]), "|")
	target = strings.TrimSpace(strings.TrimSuffix(target, "\\"))
	if !named {
		text = target
	}
	if embed := i > 0 && b[i-1] == '!'; !embed || !isAttachment(target) {
		target, anchor, _ := strings.Cut(target, "#")
		f.links = append(f.links, Link{Text: strings.TrimSpace(text), Target: target, Anchor: anchor, wiki: true})
	}
	return i + 2 + n + 2, true
}

// attachments are the extensions of the files other than notes that Obsidian shows
// inside a note.
var attachments = []string{".avif", ".bmp", ".gif", ".jpeg", ".jpg", ".png", ".svg", ".webp", ".flac", ".m4a", ".mp3",
	".ogg", ".wav", ".3gp", ".mkv", ".mov", ".mp4", ".ogv", ".webm", ".pdf", ".canvas", ".base"}

// isAttachment reports whether the target of a link is a file other than a note.
func isAttachment(target string) bool {
	target, _, _ = strings.Cut(target, "#")
	return slices.Contains(attachments, strings.ToLower(path.Ext(target)))
}

// scanLink reads the part of a link after the closing bracket of its text, and
// returns the offset after it.
func (f *inlineElements) scanLink(b []byte, from, i int) int {
	if i >= len(b) {
		return i
	}
	image := from > 0 && b[from-1] == '!'
	text := string(b[from+1 : min(i-1, from+1+maxLinkText)])
	var target string
	var end int
	switch {
	case b[i] == '(':
		var ok bool
		target, end, ok = parseDestination(b, i+1)
		if !ok || startsMark(b, i, end) {
			return i
		}
	case b[i] == ':' && (from == 0 || b[from-1] == '\n') && !strings.HasPrefix(text, "^"):
		dest := bytes.TrimLeft(b[i+1:min(len(b), i+1+maxTarget)], " \t")
		if nl := bytes.IndexByte(dest, '\n'); nl >= 0 {
			dest = dest[:nl]
		}
		target, _, _ = strings.Cut(string(dest), " ")
		if target == "" {
			return i
		}
		target = strings.Trim(target, "<>")
		end = i
	default:
		return i
	}
	if !image {
		target, anchor, _ := strings.Cut(target, "#")
		if target != "" || anchor != "" {
			f.links = append(f.links, Link{Text: strings.TrimSpace(text), Target: target, Anchor: anchor})
		}
	}
	return end
}

// parseDestination reads the parenthesized part of a link; i is the offset after the
// opening parenthesis. It returns the target without its backslash escapes, and
// the offset after the closing parenthesis.
func parseDestination(b []byte, i int) (target string, end int, ok bool) {
	b = b[:min(len(b), i+maxTarget)]
	skip := func() {
		for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n') {
			i++
		}
	}
	skip()
	from := i
	if i < len(b) && b[i] == '<' {
		n := bytes.IndexAny(b[i+1:], ">\n")
		if n < 0 || b[i+1+n] != '>' {
			return "", 0, false
		}
		from, i = i+1, i+1+n
		target = unescape(b[from:i])
		i++
	} else {
		depth := 0
	dest:
		for ; i < len(b); i++ {
			switch b[i] {
			case ' ', '\t', '\n':
				break dest
			case '\\':
				if i+1 < len(b) && util.IsPunct(b[i+1]) {
					i++
				}
			case '(':
				depth++
				if depth > maxParens {
					return "", 0, false
				}
			case ')':
				if depth == 0 {
					break dest
				}
				depth--
			}
		}
		target = unescape(b[from:min(i, len(b))])
	}
	skip()
	if i < len(b) && (b[i] == '"' || b[i] == '\'' || b[i] == '(') {
		quote := b[i]
		if quote == '(' {
			quote = ')'
		}
		for i++; i < len(b) && b[i] != quote; i++ {
			if b[i] == '\\' {
				i++
			}
		}
		i++
		skip()
	}
	if i >= len(b) || b[i] != ')' {
		return "", 0, false
	}
	return target, i + 1, true
}

// unescape removes the backslashes before punctuation.
func unescape(b []byte) string { return string(util.UnescapePunctuations(b)) }

// textFrom returns the leaf's text from an offset on, without comments.
func (l *leaf) textFrom(from int) string {
	if len(l.comments) == 0 {
		return string(l.buf[min(from, len(l.buf)):])
	}
	var b strings.Builder
	for _, c := range l.comments {
		if c.from >= from {
			b.Write(l.buf[from:c.from])
		}
		from = max(from, c.to)
	}
	b.Write(l.buf[min(from, len(l.buf)):])
	return b.String()
}

// percentMark opens and closes a comment of Obsidian: %%comment%%.
var percentMark = []byte("%%")

// percentComment returns the end of the comment of Obsidian that begins at b[i], or 0
// if none does. A comment begins and ends with a word, so that formats such as
// %%d are text. It contains neither HTML comments nor <private> tags, which keep
// their effect.
func percentComment(b []byte, i int) int {
	if !bytes.HasPrefix(b[i:], percentMark) || !atWordStart(b, i) {
		return 0
	}
	from := i + len(percentMark)
	n := bytes.Index(b[from:], percentMark)
	if n <= 0 || hasMarks(b[from:from+n]) {
		return 0
	}
	end := from + n + len(percentMark)
	if r, _ := utf8.DecodeRune(b[end:]); end < len(b) && (r == '%' || unicode.IsLetter(r) || unicode.IsDigit(r)) {
		return 0
	}
	return end
}

// hasMarks reports whether a text has HTML comments or <private> tags.
func hasMarks(b []byte) bool { return bytes.Contains(b, commentOpen) || HasPrivateTag(string(b)) }

// HasPrivateTag reports whether a text contains a <private> tag.
func HasPrivateTag(text string) bool {
	for at := range len(text) {
		if text[at] == '<' {
			if n, _ := privateTag([]byte(text[at:min(len(text), at+maxPrivateTag)])); n > 0 {
				return true
			}
		}
	}
	return false
}
