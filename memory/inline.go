package memory

import (
	"bytes"
	"cmp"
	"net/url"
	"path"
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark/util"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
	"github.com/memwatchd/memwatchd/internal/letters"
)

// A leaf is the text of a block without nested blocks: a paragraph, a heading,
// the rows of a table, an HTML block.
type leaf struct {
	buf  []byte
	segs []seg // positions of the parts of buf in the source; nil if buf is one piece that starts at at
	at   int
	html bool // only comments are read
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
}

// inlineElements holds the inline elements of an entry.
type inlineElements struct {
	tags  []string
	links []Link

	percent      bool // there are comments of Obsidian
	noCommentEnd bool // no further comment of this leaf is closed
}

// maxRun bounds the run of backticks that opens a code span. The bound keeps
// the search for the end of the span linear.
const maxRun = 64

// scanLeaf reads the inline elements of a leaf outside code: comments, tags and links.
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
				break
			}
			if bytes.HasPrefix(b[i:], percentMark) && (i == 0 || b[i-1] == '\n') {
				l.comments = append(l.comments, comment{from: i, to: i, src: Span{l.pos(i), l.pos(i)}, state: commentBroken})
				f.percent = true
			}
			i += runLen(b[i:], '%')
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
			return j + n
		}
		j += m
	}
}

// privateTagPattern matches a <private> or </private> tag, which has a limited length.
const privateTagPattern = `(?i:<(/?)private(?:[ \t][^>]{0,98})?>)`

var privateRE, privateStartRE = lazyregexp.New(privateTagPattern), lazyregexp.New(`^` + privateTagPattern)

// scanAngle reads a comment or an autolink at offset i, and returns the offset after
// it.
func (f *inlineElements) scanAngle(l *leaf, i int) int {
	b := l.buf
	if bytes.HasPrefix(b[i:], commentOpen) {
		from := i + len(commentOpen)
		if f.noCommentEnd {
			return from
		}
		end := bytes.Index(b[from:], commentClose)
		c := comment{from: i, to: i, src: Span{l.pos(i), l.pos(i)}}
		if end < 0 {
			f.noCommentEnd, c.state = true, commentBroken
			l.comments = append(l.comments, c)
			return from
		}
		c.to = from + end + len(commentClose)
		c.src.End = l.pos(c.to-1) + 1
		c.attrs, c.state = parseComment(string(b[from : from+end]))
		l.comments = append(l.comments, c)
		return c.to
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
	end := min(len(b), from+200)
	for end < len(b) && !utf8.RuneStart(b[end]) {
		end++
	}
	if word := quotedTag(b[from:end]); word != "" {
		f.tags = append(f.tags, FoldTag(word))
		return from + len(word) + 2
	}
	found := tagRE().Find(b[from:end])
	word := strings.TrimRight(FoldTag(string(found)), "-/:.")
	if !strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsDigit(r) && !strings.ContainsRune("-/:.", r) }) {
		return i + 1 + runLen(b[i+1:], '#')
	}
	f.tags = append(f.tags, word)
	return from + len(found)
}

// tagRE matches the word of a tag, which may be a number.
var tagRE = lazyregexp.New(`^[\pL\pM\p{So}\p{Nd}_\x{200d}][\pL\pM\p{So}\p{Nd}_\x{200d}/:.-]*`)

// atWordStart reports whether the character before b[i] separates words.
func atWordStart(b []byte, i int) bool {
	r, _ := utf8.DecodeLastRune(b[:i])
	return i == 0 || unicode.IsSpace(r) || strings.ContainsRune("([{<\"'|*_~，。；：！？、（【《「“‘", r)
}

// quotedTagRE matches a tag in quotes, without characters that may have another meaning.
var quotedTagRE = lazyregexp.New("^\"([^\"<>`\\\\\r\n]+)\"")

// quotedTag returns the tag in quotes at the start of b, or "" if there is none.
func quotedTag(b []byte) string {
	m := quotedTagRE().FindSubmatch(b)
	if m == nil || m[1][0] == '#' || !bytes.Equal(m[1], bytes.TrimSpace(m[1])) ||
		!bytes.ContainsFunc(m[1], unicode.IsLetter) {
		return ""
	}
	return string(m[1])
}

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

// percentMark opens and closes a comment of Obsidian in one block: %%comment%%.
var percentMark = []byte("%%")

// percentComment returns the end of the comment of Obsidian that begins at b[i], or 0
// if none does. A comment begins and ends with a word, so that formats such as
// %%d are text. It contains no HTML comments, which keep their effect. A file in which a line begins with %% and no comment is private.
func percentComment(b []byte, i int) int {
	if !bytes.HasPrefix(b[i:], percentMark) || !atWordStart(b, i) {
		return 0
	}
	from := i + len(percentMark)
	n := bytes.Index(b[from:], percentMark)
	if n <= 0 || bytes.Contains(b[from:from+n], commentOpen) {
		return 0
	}
	end := from + n + len(percentMark)
	if r, _ := utf8.DecodeRune(b[end:]); end < len(b) && (r == '%' || unicode.IsLetter(r) || unicode.IsDigit(r)) {
		return 0
	}
	return end
}

// findPrivateTags returns the <private> tags in a text from an offset on, wherever they
// are: text in which a tag has no effect cannot be mistaken for other text.
func findPrivateTags(text []byte, from int) (tags []privateMark) {
	for _, m := range privateRE().FindAllSubmatchIndex(text[from:], -1) {
		tags = append(tags, privateMark{at: from + m[0], close: m[3] > m[2]})
	}
	return tags
}

// HasPrivateTag reports whether a text contains a <private> tag.
func HasPrivateTag(text string) bool { return privateRE().MatchString(text) }

// hasScheme reports whether s starts with a URL scheme.
func hasScheme(s string) bool { return schemeRE().MatchString(s) }

var schemeRE = lazyregexp.New(`^[A-Za-z][A-Za-z0-9+.-]+:`)

// earlierDirs returns the directories that may have contained an archived file.
func (p Place) earlierDirs() []string {
	switch {
	case p.isDailyNote():
		return []string{memoryDir + "/"}
	case p.Kind == Archive && p.Day != "":
		return []string{p.Day + "/", memoryDir + "/" + p.Day + "/"}
	}
	return nil
}

// isBelowRoot reports whether a clean path can be that of a file below the root.
func isBelowRoot(s string) bool {
	return s != ".." && !strings.HasPrefix(s, "../") && !strings.HasPrefix(s, "/") && strings.IndexByte(s, 0) < 0
}

// linkName returns the name of a link in a file of the directory dir, or "" if it
// has none. A path from the file or from the root becomes a whole path, which
// begins with a slash.
func linkName(dir, target string) string {
	whole := ""
	switch {
	case strings.HasPrefix(target, "/"):
		whole, target = "/", strings.TrimLeft(target, "/")
	case slices.Contains(strings.Split(target, "/"), "..") || strings.HasPrefix(target, "./"):
		whole, target = "/", path.Join(dir, target)
	}
	name, md := CutMarkdown(path.Clean(target))
	if !md || !isBelowRoot(name) || strings.HasSuffix("/"+name, "/") {
		return ""
	}
	return whole + letters.FoldCase(name)
}

var attachmentRE = lazyregexp.New(`\.[A-Za-z][A-Za-z0-9]{1,4}$`)

// MeansNote reports whether a link means a Markdown file, not a URL, a directory or an
// attachment such as [[photo.png]].
func (l *Link) MeansNote() bool {
	_, md := CutMarkdown(l.Target)
	return l.Name != "" && (md || !attachmentRE().MatchString(l.Target))
}

// NameKey returns the part of the name of a link, or of an alias, by which an index
// finds it: the last element, folded.
func NameKey(name string) string {
	name = letters.FoldCase(name)
	return name[strings.LastIndexByte(name, '/')+1:]
}

// NameKeys returns the keys by which links find a file: those of its base name and
// of its aliases. A conflict copy has none, because links mean the original.
func (d *Document) NameKeys() []string {
	if d.Place.Copy != "" {
		return nil
	}
	name, _ := CutMarkdown(d.Place.below())
	keys := []string{NameKey(name)}
	for _, alias := range d.Front.Aliases() {
		if key := NameKey(alias); key != "" && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// Title returns the title of the file in its frontmatter, or its name.
func (d *Document) Title() string {
	name, _ := CutMarkdown(path.Base(d.Place.Path))
	return cmp.Or(d.Front.text("title"), d.Front.text("name"), name)
}

// NearestFirst sorts the paths of files with the same name as Obsidian does for a
// link in the file from: those in its directory first, then the shortest path. All
// paths are below the same root.
func NearestFirst(from string, paths []string) []string {
	far := func(p string) int {
		if path.Dir(p) == path.Dir(from) {
			return 0
		}
		return 1
	}
	return slices.SortedFunc(slices.Values(paths), func(a, b string) int {
		return cmp.Or(far(a)-far(b), len(a)-len(b), strings.Compare(a, b))
	})
}

// FindNamed returns those of the paths that the name of a link in the file from
// means, best first, in the order of Obsidian: a file with exactly this path, then
// [NearestFirst]. The name is the end of each path, without its extension and
// without regard to case. All paths are below the same root.
func (l *Link) FindNamed(from string, paths []string) (found []string) {
	exact := 0
	for _, p := range NearestFirst(from, paths) {
		name, _ := CutMarkdown(p)
		name = "/" + letters.FoldCase(name)
		switch {
		case l.Name == "":
		case name == "/"+strings.TrimPrefix(l.Name, "/"):
			found = slices.Insert(found, exact, p)
			exact++
		case l.Name[0] != '/' && strings.HasSuffix(name, "/"+l.Name):
			found = append(found, p)
		}
	}
	return found
}

// resolveLink sets the possible targets of a link: its name, and its paths from the
// root, from the file, from the places of the file before archiving, and in the
// archives of all these. Paths outside the root are ignored.
func (p *docParser) resolveLink(link *Link) {
	if link.Target == "" || hasScheme(link.Target) || strings.HasPrefix(link.Target, "//") {
		return
	}
	target, err := url.PathUnescape(link.Target)
	if err != nil {
		target = link.Target
	}
	if _, md := CutMarkdown(target); link.wiki && !md {
		target += mdExt
	}
	below := p.d.Place.below()
	root := strings.TrimSuffix(p.d.Place.Path, below) // with a colon, or empty
	add := func(s string) {
		s = path.Clean(s)
		if s != "." && isBelowRoot(s) && !slices.Contains(link.Paths, root+s) {
			link.Paths = append(link.Paths, root+s)
		}
	}
	dir, _ := path.Split(below)
	link.Name = linkName(dir, target)
	rooted := strings.TrimLeft(target, "/")
	add(rooted)
	if rooted == target {
		add(dir + target)
		for _, dir := range p.d.Place.earlierDirs() {
			add(dir + target)
		}
	}
	for _, s := range link.Paths[:len(link.Paths):len(link.Paths)] {
		p.addArchived(s, add)
	}
}

// addArchived adds the archive paths of the file at a path.
func (p *docParser) addArchived(s string, add func(string)) {
	if below, ok := strings.CutPrefix(s, longtermsDir+"/"); ok {
		dir, rest, ok := strings.Cut(below, "/")
		if ok && !strings.HasPrefix(rest, archiveDir+"/") {
			add(longtermsDir + "/" + dir + "/" + archiveDir + "/" + rest)
		}
		return
	}
	dir, name := path.Split(strings.TrimPrefix(s, memoryDir+"/"))
	day := strings.TrimSuffix(dir, "/")
	base, md := CutMarkdown(name)
	if of, ok := DailyName(base); ok && md && dir == "" { // a daily note is archived in its day, too
		day = of
	}
	if !IsDay(day) {
		return
	}
	if strings.HasPrefix(p.d.Place.Path, longtermsDir+"/") {
		add(archivedDay(p.d.Place.Dir, day, name))
	}
	if ValidSubject(p.d.Front.SubjectID) == nil {
		add(archivedDay(SubjectDir(p.d.Front.SubjectID), day, name))
	}
	add(archivedDay(p.dir, day, name))
}

// scanWikilink reads [[target#anchor|text]].
func (f *inlineElements) scanWikilink(b []byte, i int) (end int, ok bool) {
	if !bytes.HasPrefix(b[i:], []byte("[[")) {
		return 0, false
	}
	in := b[i+2 : min(len(b), i+2+maxLinkText)]
	n := bytes.Index(in, []byte("]]"))
	if n <= 0 || bytes.ContainsAny(in[:n], "\n[") || bytes.Contains(in[:n], commentOpen) {
		return 0, false
	}
	target, text, named := strings.Cut(string(in[:n]), "|")
	target = strings.TrimSpace(strings.TrimSuffix(target, "\\"))
	if !named {
		text = target
	}
	target, anchor, _ := strings.Cut(target, "#")
	_, md := CutMarkdown(target)
	if embed := i > 0 && b[i-1] == '!'; !embed || md || !attachmentRE().MatchString(target) {
		f.links = append(f.links, Link{Text: strings.TrimSpace(text), Target: target, Anchor: anchor, wiki: true})
	}
	return i + 2 + n + 2, true
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
		if !ok || bytes.Contains(b[i:end], commentOpen) {
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
// the offset after the closing parenthesis. Regular expressions would be slow where
// openings without end are close together.
func parseDestination(b []byte, i int) (target string, end int, ok bool) {
	b = b[:min(len(b), i+maxTarget)]
	skip := func() { i += len(b[i:]) - len(bytes.TrimLeft(b[i:], " \t\n")) }
	skip()
	if bytes.HasPrefix(b[i:], []byte("<")) {
		n := bytes.IndexAny(b[i:], ">\n")
		if n < 0 || b[i+n] == '\n' {
			return "", 0, false
		}
		target, i = unescape(b[i+1:i+n]), i+n+1
	} else {
		to := bareEnd(b, i)
		if to < 0 {
			return "", 0, false
		}
		target, i = unescape(b[i:to]), to
	}
	skip()
	if i < len(b) && strings.IndexByte(`"'(`, b[i]) >= 0 { // the title
		quote := b[i]
		if quote == '(' {
			quote = ')'
		}
		for i++; i < len(b) && b[i] != quote; i++ {
			if b[i] == '\\' {
				i++
			}
		}
		i = min(i+1, len(b))
		skip()
	}
	return target, i + 1, i < len(b) && b[i] == ')'
}

// bareEnd returns the end of a destination without angle brackets, or -1 if too many
// parentheses are nested in it.
func bareEnd(b []byte, i int) int {
	for depth := 0; i < len(b); i++ {
		switch c := b[i]; {
		case c == ' ', c == '\t', c == '\n', c == ')' && depth == 0:
			return i
		case c == '(' && depth == maxParens:
			return -1
		case c == '\\' && i+1 < len(b) && util.IsPunct(b[i+1]):
			i++
		case c == '(':
			depth++
		case c == ')':
			depth--
		}
	}
	return len(b)
}

// unescape removes the backslashes before punctuation.
func unescape(b []byte) string { return string(util.UnescapePunctuations(b)) }

const (
	maxParens   = 32      // nested in a destination; CommonMark allows this limit
	maxTarget   = 2 << 10 // bytes of a link's destination
	maxLinkText = 1 << 10
)
