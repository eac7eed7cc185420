package memory

import (
	"bytes"
	"cmp"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/yuin/goldmark/util"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
)

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
	return whole + Fold(name)
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
	name = Fold(name)
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
		name = "/" + Fold(name)
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
