package memory

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
)

// Meta holds the properties of a file other than its content.
type Meta struct {
	ModTime  time.Time
	Unstable bool // the file was being written while it was read, so all of it is private
}

// Parse parses a file. It never fails: defects become a [Problem], and text of
// doubtful visibility becomes private. The document keeps src, which must not
// be modified afterwards.
func (l *Layout) Parse(path string, src []byte, meta Meta) *Document {
	masked := src
	if l.Mask != nil {
		masked = l.Mask(src)
	}
	d := l.parse(path, src, masked, meta, nil)
	d.setExcerpt(l, meta)
	return d
}

// parse parses the masked source of a file, or of its excerpt.
func (l *Layout) parse(path string, src, masked []byte, meta Meta, of *excerptOf) *Document {
	d := &Document{Place: l.Place(path), Source: src, masked: masked}
	p := &docParser{l: l, d: d, meta: meta, of: of, text: unixText(masked), plain: utf8.Valid(src)}
	if !p.plain {
		p.addProblem("utf8_invalid", 0,
			"not valid UTF-8; the file is read with replacement characters and never changed")
		d.Unsound = true
	}
	p.plain = p.plain && bytes.IndexByte(src, '\r') < 0 && bytes.IndexByte(src, 0) < 0
	p.ln = splitLines(p.text)

	var problems []Problem
	if of == nil || of.front {
		d.Front, p.body, problems = l.readFront(src, p.text)
		d.Problems = append(d.Problems, problems...)
		p.recurs = slices.ContainsFunc(d.Front.Tags, isRecurringTag)
	}
	if p.plain {
		p.source = string(masked[p.body:])
	}
	if d.Front.Broken {
		d.Unsound = true
		p.private.hideFrom(1)
	}
	if meta.Unstable {
		p.private.hideFrom(1)
	}
	marks := p.hideConflictMarkers()
	p.setOwner()
	p.names, p.dir = l.sectionNames(), SubjectDir(l.owner())
	p.from, p.to, p.dated = dayBounds(d.Place.Day, l.location())

	tops, problem := parseStructure(p.text, p.body, p.ln)
	p.recordLimit(tops, problem)
	text, hidden, problems := hideGenerated(p.text, tops, p.body, p.ln)
	d.Problems = append(d.Problems, problems...)
	if len(problems) > 0 {
		d.Unsound = true
	}
	d.percent = slices.ContainsFunc(hidden, func(r lineRange) bool {
		return bytes.HasPrefix(p.text[p.ln.start(r.from):], percentMark)
	})
	p.readHidden(hidden)
	p.hidden = joinRegions(append(marks, hidden...))
	if hidden != nil {
		p.text = text
		tops, _ = parseStructure(p.text, p.body, p.ln)
	}
	for _, t := range tops {
		p.readInfo(t.node)
	}
	p.readBlocks(tops)
	p.finishDocument()
	return d
}

// readHidden reads the marks in hidden regions, because the lines of a hidden region
// are visible to the readers of the file. A region with a private mark is private.
func (p *docParser) readHidden(regions []lineRange) {
	for _, r := range regions {
		s := p.ln.span(r.from, r.to)
		lf, f := leaf{buf: p.text[s.Start:s.End], at: s.Start, html: true}, inlineElements{}
		f.scanLeaf(&lf)
		f.marks = nil // the tags of a closed comment too
		f.skippedMarks(lf.buf, lf.pos)
		private := len(f.marks) > 0
		for _, c := range lf.comments {
			switch c.state {
			case commentBroken:
				p.reportBroken(r.from, p.ln.at(c.src.Start))
			case commentAttributes, commentUnclosed:
				private = private || c.state == commentUnclosed || setsPrivate(c.attrs)
			}
		}
		if private {
			p.private.regions = append(p.private.regions, r)
		}
		p.marks = append(p.marks, f.marks...)
	}
}

// recordLimit records that a part of the structure could not be parsed, and makes
// that part private, because a mark that makes it private may have been missed.
func (p *docParser) recordLimit(tops []topBlock, problem *Problem) {
	if problem == nil {
		return
	}
	if problem.Code != nestingTooDeep {
		problem.Line = 1
		if len(tops) > 0 {
			problem.Line = tops[len(tops)-1].from
		}
		p.private.hideFrom(problem.Line)
		p.d.Unsound = true
	}
	p.d.Problems = append(p.d.Problems, *problem)
}

type docParser struct {
	l                 *Layout
	d                 *Document
	meta              Meta
	of                *excerptOf // properties of the excerpt; nil for a whole file
	text              []byte     // masked source with LF line endings, hidden text blanked
	plain             bool       // the source is its own display form
	source            string     // its body, if plain: entries share this string
	ln                lines
	body              int
	hidden            []lineRange
	private           privateRanges
	marks             []privateMark
	names             sectionNames
	recurs            bool                // all tasks of the file do
	sections          []section           // by heading
	stack             []int               // the open headings, outermost first
	pending           []pendingAttributes // by entry
	fileTags          []string            // of the frontmatter, lower-cased and sorted
	owner             string              // of the file's public entries
	defaultVisibility Visibility          // of entries without an attribute visibility
	dir               string              // archive directory of the root's owner

	dated    bool      // the path contains a day
	from, to time.Time // first and last second of that day

	block block  // the current block
	cuts  []Span // buffer for one entry
	buf   []byte // buffer for one entry
}

func (p *docParser) addProblem(code string, line int, message string) {
	p.d.Problems = append(p.d.Problems, Problem{code, line, message})
}

// setOwner determines the owner and the default visibility of the file.
func (p *docParser) setOwner() {
	d := p.d
	place, subject := d.Place, d.Front.SubjectID
	if place.Dir != "" && !isSafeName(place.Dir) {
		p.addProblem("directory_unmapped", 0,
			"the name of the directory belongs to no subject, so its files have no readers; rename the directory")
	}
	if subject != "" {
		if err := ValidSubject(subject); err != nil {
			p.frontProblem("subject_invalid", "subject_id", "the subject_id is ignored: "+err.Error())
			subject = ""
		}
	}
	if d.Front.ContactNickname != "" && d.Front.ContactID == "" {
		p.frontProblem("contact_id_missing", "contact_nickname",
			"contact_nickname is set without contact_id; set contact_id")
	}
	p.owner = place.Owner
	switch {
	case place.Root != "": // the files of a root cannot choose their readers
	case place.Kind == Archive && place.Day != "":
		switch root := place.Dir == SubjectDir(p.l.owner()); { // the archive of files without a subject
		case subject != "":
			p.owner = subject
		case root && place.isDailyNote():
			p.owner = p.l.owner()
		case root || d.Front.SessionID != "":
			p.owner = ""
		}
	case place.Dir != "":
		if subject != "" && place.Owner == longtermKey(SubjectDir(subject)) ||
			place.Owner == userKey(UserDir(subject)) && subject != "" {
			d.Claim = subject
		} else if subject != "" {
			p.frontProblem("subject_conflict", "subject_id",
				"the subject_id does not match this directory and is ignored; the directory of this "+
					"subject is "+longtermsDir+"/"+
					SubjectDir(subject))
		}
	case subject != "":
		p.owner = subject
	}
	p.defaultVisibility = place.Visibility
	if d.Front.HasVisibility {
		p.defaultVisibility = d.Front.Visibility
	}
	if p.of != nil {
		p.owner, p.defaultVisibility = p.of.owner, PublicOK
	}
	visibility := p.defaultVisibility
	if p.private.from > 0 {
		visibility = PrivateOnly
	}
	d.Own, d.publicPartition = p.partitionFor(visibility), p.partitionFor(PublicOK)
}

func (p *docParser) frontProblem(code, key, message string) {
	f, _ := p.d.Front.Field(key)
	p.addProblem(code, f.Line, message)
}

// partitionFor returns the partition for text of a visibility. Private text always
// has a subject: by default the owner of the root.
func (p *docParser) partitionFor(v Visibility) Partition {
	if v == PrivateOnly && p.owner == "" {
		return Partition{Owner: p.l.owner(), Visibility: v}
	}
	return Partition{Owner: p.owner, Visibility: v}
}

// readBlocks converts top-level blocks to headings, entries and hidden lines.
func (p *docParser) readBlocks(tops []topBlock) {
	entries := 0
	for i, t := range tops {
		if t.kind == topEntry || t.kind == topHeading && emptySection(tops[i:]) {
			entries++
		}
	}
	p.d.Entries, p.pending = make([]Entry, 0, entries), make([]pendingAttributes, 0, entries)
	for _, r := range p.hidden {
		p.d.Hidden = append(p.d.Hidden, p.ln.span(r.from, r.to))
	}
	last := -1 // the entry to which a following attribute comment belongs
	for i := 0; i < len(tops); i++ {
		t := &tops[i]
		switch t.kind {
		case topRule:
			last = -1
			if s := p.ln.span(t.from, t.to); string(bytes.TrimSpace(p.text[s.Start:s.End])) == separator {
				p.d.separators = append(p.d.separators, t.from)
			}
		case topComment:
			last = p.readComment(t, last)
		case topHeading:
			if emptySection(tops[i:]) {
				last = p.readEntry(t, p.closeHeadings(t.level))
			} else {
				p.readHeading(t)
				last = -1
			}
		case topEntry:
			if i+1 < len(tops) && t.block == Paragraph && tops[i+1].block == Code && tops[i+1].kind == topEntry {
				code := tops[i+1]
				code.from, code.introduction = t.from, t.node
				t, i = &code, i+1
			}
			last = p.readEntry(t, p.currentHeading())
		}
	}
}

// emptySection reports whether the section of tops[0], a heading, contains
// neither an entry nor a heading.
func emptySection(tops []topBlock) bool {
	for _, t := range tops[1:] {
		switch t.kind {
		case topHeading:
			return t.level <= tops[0].level
		case topEntry:
			return false
		}
	}
	return true
}

// readComment reads comments between entries. One with attributes belongs to the
// entry above it, which it may make private; the others become hidden lines. It
// returns the index of the entry to which a further comment would belong.
func (p *docParser) readComment(t *topBlock, last int) int {
	f := p.read(t)
	state, attrs, span := commentPlain, []attr(nil), Span{}
	for _, c := range f.leaves[0].comments {
		if c.state == commentBroken || c.state == commentAttributes && hasKnownKey(c.attrs) && state == commentPlain {
			state, attrs, span = c.state, c.attrs, c.src
		}
	}
	switch {
	case state == commentPlain || len(f.marks) > 0 && state == commentAttributes && !setsPrivate(attrs):
	case state == commentBroken:
		from := t.from
		if last >= 0 {
			from = p.d.Entries[last].Line
		}
		p.reportBroken(from, t.from)
	case last >= 0:
		e, dr := &p.d.Entries[last], &p.pending[last]
		e.EndLine, e.Span = t.to, p.ln.span(e.Line, t.to)
		dr.setsPrivate = dr.setsPrivate || setsPrivate(attrs)
		if dr.attrs == nil {
			dr.attrs, dr.mayPublish, e.Comment = attrs, true, span
		}
		return -1
	default:
		p.addProblem("attributes_stray", t.from,
			"attributes without an entry above; move the attributes to the end of an entry")
		if setsPrivate(attrs) {
			p.private.hideFrom(t.from)
		}
	}
	p.d.Hidden = append(p.d.Hidden, p.ln.span(t.from, t.to))
	return last
}

func (p *docParser) reportBroken(from, line int) {
	p.addProblem("attributes_broken", line,
		"invalid attributes in this comment; the rest of the file is private. Write key=value pairs, with %20 for "+
			"a space in a value")
	p.private.hideFrom(from)
}

func (p *docParser) currentHeading() int {
	if len(p.stack) == 0 {
		return -1
	}
	return p.stack[len(p.stack)-1]
}

// closeHeadings closes the open headings of the given level or deeper, and returns the
// innermost remaining one.
func (p *docParser) closeHeadings(level int) int {
	for len(p.stack) > 0 && p.d.Headings[p.currentHeading()].Level >= level {
		p.stack = p.stack[:len(p.stack)-1]
	}
	return p.currentHeading()
}

func (p *docParser) readHeading(t *topBlock) {
	text := ""
	for _, lf := range p.read(t).leaves {
		text = lf.heading()
		for _, c := range lf.comments {
			if c.state == commentBroken {
				p.reportBroken(t.from, t.from)
			} else if setsPrivate(c.attrs) {
				p.addProblem("attributes_stray", t.from,
					"attributes of a heading have no effect except for visibility; the rest of the file is private")
				p.private.hideFrom(t.from)
			}
		}
	}
	parent := p.closeHeadings(t.level)
	p.d.Headings = append(p.d.Headings,
		Heading{Level: t.level, Text: text, Line: t.from, EndLine: t.to, Parent: parent})
	p.stack = append(p.stack, len(p.d.Headings)-1)
	s := section{path: []string{text}}
	if parent >= 0 {
		s = p.sections[parent]
		s.path = append(s.path[:len(s.path):len(s.path)], text)
	}
	p.sections = append(p.sections, p.names.applyHeading(s, text))
}

// heading returns the leaf's text on one line.
func (l *leaf) heading() string { return HeadingLine(displayText(l.textFrom(0))) }

func (p *docParser) sectionAt(heading int) section {
	if heading < 0 {
		return section{}
	}
	return p.sections[heading]
}

// A pendingAttributes holds the parts of an entry that are applied when the whole file has
// been parsed, because only then its readers are known.
type pendingAttributes struct {
	attrs       []attr
	mayPublish  bool // attrs can make the entry public
	setsPrivate bool // an attribute inside it makes it private
}

// A block holds the parsed content of one top-level block. The parser reuses it
// for the next block.
type block struct {
	inlineElements
	leaves []leaf
	items  []blockItem // items[0] represents the block itself
}

type blockItem struct {
	parent int // index in block.items, -1 for none
	lead   int // index in block.leaves, -1 for none

	norm    string // set by itemNorm
	hasNorm bool
}

func (p *docParser) read(t *topBlock) *block {
	b := &p.block
	b.inlineElements = inlineElements{marks: b.marks[:0], tags: b.tags[:0]}
	clear(b.leaves)
	b.leaves, b.items = b.leaves[:0], append(b.items[:0], blockItem{parent: -1, lead: -1})
	if t.introduction != nil {
		p.collectLeaves(b, t.introduction, 0, true)
	}
	p.collectLeaves(b, t.node, 0, t.introduction == nil)
	p.marks = append(p.marks, b.marks...)
	p.d.percent = p.d.percent || b.percent
	return b
}

// readEntry parses an entry, except the parts that depend on its readers, and
// returns its index.
func (p *docParser) readEntry(t *topBlock, heading int) int {
	b := p.read(t)
	e := Entry{Line: t.from, EndLine: t.to, Span: p.ln.span(t.from, t.to), Block: t.block, Heading: heading,
		Sections: p.sectionAt(heading).path, level: t.level}
	dr := p.ownAttributes(&e, b)
	e.Text = p.entryText(&e, b)
	switch {
	case e.Block == EmptyHeading && len(b.leaves) > 0:
		e.heading = b.leaves[0].heading()
		e.Norm = Fold(stripEmphasis(e.heading))
	case e.Block == Code || e.Block == HTML:
		e.Norm = Fold(e.Text)
	default:
		e.Norm = normText(e.Text)
	}
	e.Links = b.links
	for i := range e.Links {
		p.resolveLink(&e.Links[i])
	}
	p.readLead(&e, b)
	p.readTasks(&e, b)
	e.Tags = slices.Clone(b.tags)
	p.d.Entries = append(p.d.Entries, e)
	p.pending = append(p.pending, dr)
	return len(p.d.Entries) - 1
}

// readLead parses the beginning of an entry: title, anchor and added date.
func (p *docParser) readLead(e *Entry, b *block) {
	lead := ""
	if len(b.leaves) > 0 && b.leaves[0].lead && e.Block != HTML && e.Block != Table {
		lead = p.displayOf(b.leaves[0].textFrom(0))
	}
	id, lead := splitAnchor(lead)
	if id == "" && e.Block != Code {
		id, _ = splitAnchor(e.Text)
	}
	if id != "" {
		e.ID, e.Given = "^"+id, true
	}
	lead = lead[boxLen(lead):]
	switch e.Block {
	case Item, Paragraph, Code:
		title, _ := splitTitle(lead)
		e.Title = unescape([]byte(title))
	}
	first, _, _ := strings.Cut(lead, "\n")
	e.Added = cmp.Or(addedDate(lead), addedDate(first))
	if e.Added == "" && e.Block == Item {
		e.Added = addedSuffix(e.Text)
	}
}

// ownAttributes finds the comment that applies to the entry: at the end of a
// line of its first block, else at the very end of the entry. Any other comment
// can only make the entry private.
func (p *docParser) ownAttributes(e *Entry, b *block) (dr pendingAttributes) {
	for i := range b.leaves {
		lf := &b.leaves[i]
		for j := range lf.comments {
			c := &lf.comments[j]
			switch c.state {
			case commentBroken:
				p.reportBroken(e.Line, p.ln.at(c.src.Start))
			case commentUnclosed:
				p.addProblem("comment_unclosed", p.ln.at(c.src.Start),
					"unclosed comment; the rest of the file is plain text and private. Add -->")
				p.private.hideFrom(e.Line)
			case commentAttributes:
				dr.setsPrivate = dr.setsPrivate || setsPrivate(c.attrs)
				if rest := lf.buf[c.to:]; lf.lead && lf.item == 0 && isBlankText(rest[:lineLen(rest)]) {
					dr.attrs, dr.mayPublish, e.Comment = c.attrs, true, c.src
				}
			}
		}
		if lf.lead && lf.item == 0 && !lf.html && e.Block != Table {
			e.lead = lf.end()
		}
	}
	if dr.attrs != nil || len(b.leaves) == 0 {
		return dr
	}
	lf := &b.leaves[len(b.leaves)-1]
	if n := len(lf.comments); n > 0 {
		if c := lf.comments[n-1]; c.state == commentAttributes && isBlankText(p.text[c.src.End:e.Span.End]) {
			dr.attrs, dr.mayPublish, e.Comment = c.attrs, lf.item == 0, c.src
		}
	}
	return dr
}

// displayOf returns a piece of the text in its display form.
func (p *docParser) displayOf(s string) string {
	if p.plain {
		return s
	}
	return displayText(s)
}

// entryText returns an entry's lines as written, without comments and hidden
// lines.
func (p *docParser) entryText(e *Entry, b *block) string {
	cuts := p.cuts[:0]
	for i := range b.leaves {
		for _, c := range b.leaves[i].comments {
			if c.src.End > c.src.Start {
				cuts = append(cuts, c.src)
			}
		}
	}
	slices.SortFunc(cuts, func(a, b Span) int { return a.Start - b.Start })
	p.cuts = cuts
	if len(cuts) == 0 && p.hidden == nil {
		start := max(e.Span.Start, p.body) // skip the byte order mark
		if p.plain {
			return strings.TrimRight(p.source[start-p.body:e.Span.End-p.body], "\n")
		}
		return displayText(string(bytes.TrimRight(p.d.masked[start:e.Span.End], "\r\n")))
	}
	hidden := privateRanges{regions: p.hidden}
	out := p.buf[:0]
	for line := e.Line; line <= e.EndLine; line++ {
		if hidden.overlaps(line, line) {
			continue
		}
		s := p.ln.span(line, line)
		s.Start = max(s.Start, p.body)
		n := len(out)
		cuts = spansFrom(cuts, s.Start)
		out = removeSpans(out, p.d.masked[s.Start:s.End], s.Start, cuts)
		if len(out)-n == s.End-s.Start {
			continue
		}
		rest := bytes.TrimRight(out[n:], " \t\r\n")
		out = out[:n+len(rest)]
		if len(bytes.TrimLeft(rest, " \t>")) == 0 && (line > e.Line || e.Block != Item) {
			out = out[:n] // the line contained only the comment
			continue
		}
		out = append(out, '\n')
	}
	p.buf = out
	return p.displayOf(string(bytes.TrimRight(out, "\r\n")))
}

// collectLeaves gathers and scans the leaves of a block.
func (p *docParser) collectLeaves(b *block, node ast.Node, at int, lead bool) {
	switch n := node.(type) {
	case *ast.ListItem, *ast.Blockquote, *ast.List:
		_, isItem := node.(*ast.ListItem)
		first := true
		for c := node.FirstChild(); c != nil; c = c.NextSibling() {
			if _, ok := c.(*ast.ListItem); ok {
				b.items = append(b.items, blockItem{parent: at, lead: -1})
				p.collectLeaves(b, c, len(b.items)-1, false)
				continue
			}
			switch c.(type) {
			case *ast.Paragraph, *ast.TextBlock:
				if first && isItem {
					b.items[at].lead = len(b.leaves)
				}
			}
			p.collectLeaves(b, c, at, first && lead || first && isItem && at == 0)
			first = false
		}
	case *ast.CodeBlock, *ast.FencedCodeBlock:
		segs := n.Lines()
		for i := range segs.Len() {
			s := segs.At(i)
			b.codeMarks(p.text[p.body+s.Start:p.body+s.Stop], func(i int) int { return p.body + s.Start + i })
		}
	default:
		lf := p.readLeaf(n)
		lf.item, lf.lead = at, lead
		b.leaves = append(b.leaves, lf)
		b.scanLeaf(&b.leaves[len(b.leaves)-1])
	}
}

// readLeaf returns the text of a block that contains no other blocks.
func (p *docParser) readLeaf(node ast.Node) leaf {
	lf := leaf{at: p.body}
	segs := node.Lines()
	if html, ok := node.(*ast.HTMLBlock); ok {
		lf.html = true
		if html.HasClosure() {
			segs.Append(html.ClosureLine)
		}
	}
	n := segs.Len()
	if n == 0 {
		return lf
	}
	contiguous := true
	for i := 1; i < n && contiguous; i++ {
		contiguous = segs.At(i).Start == segs.At(i-1).Stop
	}
	lf.at = p.body + segs.At(0).Start
	if contiguous {
		lf.buf = p.text[lf.at : p.body+segs.At(n-1).Stop]
		return lf
	}
	for i := range n {
		s := segs.At(i)
		lf.segs = append(lf.segs, seg{len(lf.buf), p.body + s.Start})
		lf.buf = append(lf.buf, p.text[p.body+s.Start:p.body+s.Stop]...)
	}
	return lf
}

// finishDocument computes the properties that depend on the whole file: the
// readers of each entry, and from them its id, tags and times.
func (p *docParser) finishDocument() {
	d := p.d
	slices.SortFunc(p.marks, func(a, b privateMark) int { return a.at - b.at })
	problems, unclosed := p.private.matchTags(p.marks, p.ln)
	d.Problems = append(d.Problems, problems...)
	d.Unsound = d.Unsound || unclosed
	if p.of != nil {
		p.private = privateRanges{} // already applied when the whole file was parsed
	}
	d.privateLines, d.privatePartition, d.lines, d.hidden = p.private, p.partitionFor(PrivateOnly), p.ln, p.hidden

	slices.SortFunc(d.Hidden, func(a, b Span) int { return a.Start - b.Start })
	for _, t := range d.Front.Tags {
		p.fileTags = append(p.fileTags, FoldTag(t))
	}
	slices.Sort(p.fileTags)
	p.fileTags = slices.Clip(slices.Compact(p.fileTags))
	d.publicBelow = make([]bool, len(d.Headings))
	for i := range d.Entries {
		e := &d.Entries[i]
		p.completeEntry(e, &p.pending[i])
		for h := e.Heading; e.Partition.Visibility == PublicOK && h >= 0 && !d.publicBelow[h]; h = d.Headings[h].Parent {
			d.publicBelow[h] = true
		}
	}
	p.assignIDs()
	p.checkKeys()
	p.checkCounters()
	slices.SortStableFunc(d.Problems, func(a, b Problem) int { return a.Line - b.Line })
}

// checkKeys reports summaries without evidence, and items with the key of an earlier item,
// unless memwatchd wrote both, as it does if callers in public and in private put the
// same key.
func (p *docParser) checkKeys() {
	if p.d.Place.Kind != Items {
		return
	}
	type name struct {
		key       string
		of        Partition
		untrusted bool
	}
	earlier := map[name]*Entry{}
	for i := range p.d.Entries {
		e := &p.d.Entries[i]
		if e.Block == Item && len(e.Evidence) == 0 && e.inSummaries() {
			p.addProblem("summary_unproven", e.Line,
				"the summary has no evidence and counts as an item; add <!-- evidence=PATH -->")
		}
		if e.Block != Item || e.Title == "" || e.IsSummary() {
			continue
		}
		n := name{e.Title, e.Partition, e.Author().Untrusted(View{})}
		if old := earlier[n]; old != nil && (e.Attributes["updated"] == "" || old.Attributes["updated"] == "") {
			p.addProblem("key_duplicate", e.Line, "same key as in line "+strconv.Itoa(old.Line)+
				"; the item updated last counts, of equally old ones the lower one; remove the other")
		}
		earlier[n] = e
	}
}

// checkCounters compares the counters of the frontmatter with the boxes.
func (p *docParser) checkCounters() {
	if p.d.Place.Root != "" {
		return // the file is never changed
	}
	tasks, followUps := p.d.frontCounters()
	for _, c := range []struct {
		key, written string
		counted      Progress
	}{{"tasks", p.d.Front.Tasks, tasks}, {"follow_ups", p.d.Front.FollowUps, followUps}} {
		if c.written != "" && c.written != c.counted.String() {
			p.frontProblem(CounterWrong, c.key,
				c.key+" is "+strconv.Quote(c.written)+", but the boxes count "+c.counted.String())
		}
	}
}

func (p *docParser) entryVisibility(e *Entry, dr *pendingAttributes) Visibility {
	switch v, ok := attrValue(dr.attrs, "visibility"); {
	case p.of != nil:
		return PublicOK
	case dr.setsPrivate || p.private.overlaps(e.Line, e.EndLine):
		return PrivateOnly
	case ok && dr.mayPublish:
		return ParseVisibility(v)
	}
	return p.defaultVisibility
}

// completeEntry completes an entry, except its id.
func (p *docParser) completeEntry(e *Entry, dr *pendingAttributes) {
	e.Partition, e.Masked = p.partitionFor(p.entryVisibility(e, dr)), p.d.hasMaskedText(e.Span)
	if dr.attrs != nil {
		p.d.Problems = append(p.d.Problems, e.applyAttributes(dr.attrs)...)
	}
	for i := range e.Tasks {
		if t := &e.Tasks[i]; t.ID == "" && e.Given && t.isEntry {
			t.ID = e.ID
		}
	}
	if r, below := p.l.CutRoot(p.d.Place.Path); r != nil {
		r.annotate(below, e)
	}
	e.countRepeated()
	p.completeTags(e)
	s := p.sectionAt(e.Heading)
	if e.Type == "" {
		e.Type = p.defaultType(s)
	}
	e.Time = p.entryTime(e, dr, s)
}

// completeTags sorts the tags of an entry and adds those of the file. The entries
// without tags of their own share the tags of the file.
func (p *docParser) completeTags(e *Entry) {
	var shared []string
	if e.Partition == p.d.Own {
		shared = p.fileTags
	}
	if len(e.Tags) == 0 {
		e.Tags = shared
		return
	}
	e.Tags = append(e.Tags, shared...)
	slices.Sort(e.Tags)
	e.Tags = slices.Compact(e.Tags)
}

// entryTime returns the best known time at which an entry was written or last
// changed.
func (p *docParser) entryTime(e *Entry, dr *pendingAttributes, s section) time.Time {
	loc, from, to := p.l.location(), p.from, p.to
	t := p.meta.ModTime
	switch updated, ok := p.updatedTime(e, dr); {
	case ok:
		t = updated
	case p.dated && s.clock && (p.d.Place.Kind == Daily || p.d.Place.isDailyNote()):
		t = time.Date(from.Year(), from.Month(), from.Day(), s.hour, s.minute, s.second, 0, loc)
	case e.Added != "":
		t, _, _ = dayBounds(e.Added, loc)
	case !p.d.Front.Updated.IsZero() && (p.d.Own.Visibility == PublicOK || e.Partition == p.d.Own):
		t = p.d.Front.Updated
	case p.dated:
		t = from
	case p.d.Place.Kind == Note:
		t = p.noteTime(e)
	}
	if t.IsZero() {
		return t
	}
	if p.dated && t.Before(from) {
		t = from
	}
	if p.dated && t.After(to) {
		t = to
	}
	return t.UTC()
}

// noteTime returns the time of an entry of an ordinary note that has none of its
// own: the time in the frontmatter, the day in the file name, or the time of the
// file.
func (p *docParser) noteTime(e *Entry) time.Time {
	d := p.d
	if d.Own.Visibility == PublicOK || e.Partition == d.Own {
		for _, key := range noteTimeKeys {
			if t, ok := ParseTime(d.Front.text(key), p.l.location()); ok {
				return t
			}
		}
	}
	base, _ := CutMarkdown(path.Base(d.Place.Path))
	if t, _, ok := dayBounds(dayInName(base), p.l.location()); ok {
		return t
	}
	return p.meta.ModTime
}

// noteTimeKeys are the keys of the frontmatter with the time of a note, as usual in
// Obsidian, Hugo, Jekyll and zk, the last change first.
var noteTimeKeys = [...]string{"updated", "modified", "last_modified", "lastmod", "date", "created_at", "created"}

func (p *docParser) updatedTime(e *Entry, dr *pendingAttributes) (time.Time, bool) {
	v, ok := attrValue(dr.attrs, "updated")
	if !ok {
		return time.Time{}, false
	}
	t, ok := ParseTime(v, p.l.location())
	if !ok {
		p.addProblem("time_unreadable", e.Line, "attribute updated is not a time such as 2026-02-04T12:34:56Z")
	}
	return t, ok
}

// shortDigits is the length of ids from [NewID]. Among a thousand ids, a new
// one collides with a probability of one in a million.
const shortDigits = 6

// NewID returns a short id that is not in taken. It derives the id from the
// texts of, which should distinguish the entry from others: equal texts give
// equal ids.
func NewID(taken map[string]bool, of ...string) string {
	source := strings.Join(of, "\x00")
	for n := 0; ; n++ {
		sum := sha256.Sum256([]byte(source + "\x00" + strconv.Itoa(n)))
		if id := idEncoding.EncodeToString(sum[:])[:shortDigits]; !taken[id] {
			return id
		}
	}
}

// assignIDs gives every entry an id that is unique in the file. Public entries
// get their ids first, so that these ids are the same in the whole file and in
// its excerpt.
func (p *docParser) assignIDs() {
	taken := make(map[string]int, len(p.d.Entries)) // id → number of further entries with the same text
	for _, v := range []Visibility{PublicOK, PrivateOnly} {
		for i := range p.d.Entries {
			e := &p.d.Entries[i]
			if e.Partition.Visibility != v {
				continue
			}
			if _, ok := taken[e.ID]; ok && e.Given {
				p.addProblem("id_duplicate", e.Line,
					"duplicate id; this entry gets a derived id")
				e.ID, e.Given = "", false
			}
			if !e.Given {
				e.ID = p.deriveID(e, taken)
			}
			taken[e.ID] = 0
		}
	}
}

// deriveID returns an id derived from the position and text of an entry. It adds
// a number to the input for each repetition.
func (p *docParser) deriveID(e *Entry, taken map[string]int) string {
	p.buf = append(p.buf[:0], p.d.Place.Path...)
	for _, s := range e.Sections {
		p.buf = append(append(p.buf, 0x1f), s...)
	}
	p.buf = append(append(p.buf, 0), e.Norm...)
	first := hashID(p.buf)
	n, ok := taken[first]
	if !ok {
		return first
	}
	for size := len(p.buf); ; {
		n++
		p.buf = strconv.AppendInt(append(p.buf[:size], 0), int64(n), 10)
		if id := hashID(p.buf); taken[id] == 0 {
			if _, ok := taken[id]; !ok {
				taken[first] = n
				return id
			}
		}
	}
}

// annotate adds the project of a file to its entries.
func (r *Root) annotate(below string, e *Entry) {
	if r.Project != nil {
		if name := r.Project(below); name != "" {
			e.Tags = append(e.Tags, "project:"+name)
		}
	}
}

// excerptOf holds the properties of an excerpt that its text does not contain.
type excerptOf struct {
	owner string
	front bool // the excerpt begins with the frontmatter
}

// setExcerpt sets the partition of the document and parses its excerpt.
func (d *Document) setExcerpt(l *Layout, meta Meta) {
	d.Partition = d.privatePartition
	if d.Own.Visibility != PublicOK &&
		!slices.ContainsFunc(d.Entries, func(e Entry) bool { return e.Partition.Visibility == PublicOK }) {
		return
	}
	// A view that reads the public text only.
	v := View{owners: map[string]string{d.publicPartition.Owner: ""}}
	if d.fullyReadable(v) {
		if !isBlankText(d.Source) {
			d.Partition = d.publicPartition
		}
		return
	}
	shown := d.Shown(v)
	if shown.Empty() {
		return
	}
	var src, masked []byte
	for _, line := range shown.source {
		s := d.lines.span(line, line)
		if n := len(src) - 1; n >= 0 && src[n] == '\r' && d.Source[s.Start] == '\n' {
			src[n], masked[n] = '\n', '\n' // prevent a CR and an LF of different lines from becoming one line ending
		}
		src = append(src, d.Source[s.Start:s.End]...)
		masked = append(masked, d.masked[s.Start:s.End]...)
	}
	if bytes.Equal(src, masked) {
		masked = src
	}
	front := d.Front.Span.End > 0 && shown.Line(1) == 1
	d.excerpt = l.parse(d.Place.Path, src, masked, meta, &excerptOf{d.publicPartition.Owner, front})
	d.excerpt.Partition = d.publicPartition
	d.excerpt.Partition.Excerpt = true
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
	s = strings.TrimPrefix(s, memoryDir+"/")
	day, name, ok := strings.Cut(s, "/")
	if !ok { // a daily note is archived in its day, too
		base, md := CutMarkdown(s)
		day, ok = DailyName(base)
		ok = ok && md
		name = s
	}
	if !ok || !IsDay(day) || strings.Contains(name, "/") {
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

func (p *docParser) defaultType(s section) string {
	place := p.d.Place
	switch {
	case place.Kind == Items:
		return namespaceTypes[place.Namespace]
	case s.kind != "":
		return s.kind
	case place.Day != "":
		return "crumb"
	}
	return "fact"
}

func (p *docParser) readTasks(e *Entry, b *block) {
	s := p.sectionAt(e.Heading)
	var of map[int]int // list item → index of its task
	for i, it := range b.items {
		if it.lead < 0 {
			continue
		}
		lf := &b.leaves[it.lead]
		t, ok := p.readTask(lf, i == 0 && s.commitment)
		if !ok {
			continue
		}
		t.Line, t.Parent, t.isEntry = p.ln.at(lf.at), -1, i == 0
		t.FollowUp, t.InTasks = s.followUps, s.tasks
		for up := it.parent; up >= 0; up = b.items[up].parent {
			if n, ok := of[up]; ok && t.Parent < 0 {
				t.Parent = n
			}
			if t.Under == "" {
				t.Under = p.itemNorm(b, up, s.commitment)
			}
		}
		t.Recurs = t.Recurs || p.recurs || s.recurs || t.Parent >= 0 && e.Tasks[t.Parent].Recurs
		t.ID = taskID(lf)
		if of == nil {
			of = map[int]int{}
		}
		of[i] = len(e.Tasks)
		e.Tasks = append(e.Tasks, t)
	}
}

// itemNorm returns the normalized text of a list item, or "" if it has none. The
// tasks below an item share the string.
func (p *docParser) itemNorm(b *block, item int, commitment bool) string {
	it := &b.items[item]
	if it.lead < 0 || it.hasNorm {
		return it.norm
	}
	text := p.displayOf(b.leaves[it.lead].textFrom(0))
	text = text[boxLen(text):]
	if commitment && item == 0 { // the task name must not depend on its state
		text = strings.TrimPrefix(strings.TrimPrefix(text, "✅"), "\ufe0f")
	}
	it.norm, it.hasNorm = taskNorm(taskText(text)), true
	return it.norm
}

// readTask reads the box at the start of a list item. In a section of commitments,
// every top-level item is a task: done if it begins with a check mark, else
// open.
func (p *docParser) readTask(lf *leaf, commitment bool) (t Task, ok bool) {
	n := boxLen(string(lf.buf[:min(len(lf.buf), 8)]))
	if n == 0 && (!commitment || len(lf.buf) > 2 && lf.buf[0] == '[' &&
		strings.IndexByte(string(lf.buf[:min(len(lf.buf), 6)]), ']') > 0) {
		return t, false
	}
	text := p.displayOf(lf.textFrom(n))
	if n > 0 {
		at := lf.pos(1)
		t.Box = Span{at, at + 1}
		if lf.buf[1] != ' ' {
			t.State = Done
		}
	} else {
		t.Box = Span{lf.at, lf.at}
		if rest, ok := strings.CutPrefix(text, checkMark); ok {
			text, t.State = strings.TrimPrefix(rest, emojiStyle), Done
		}
	}
	t.read(text)
	return t, t.Text != ""
}

// readInfo records the marks in the info strings of code blocks. A mark makes the
// entry private that contains the code block.
func (p *docParser) readInfo(n ast.Node) {
	if code, ok := n.(*ast.FencedCodeBlock); ok && code.Info != nil {
		s := code.Info.Segment
		lf, f := leaf{buf: p.text[p.body+s.Start : p.body+s.Stop], at: p.body + s.Start, html: true}, inlineElements{}
		f.scanLeaf(&lf)
		private := len(f.marks) > 0
		for _, c := range lf.comments {
			private = private || c.state == commentBroken || setsPrivate(c.attrs)
		}
		if private {
			p.marks = append(p.marks, privateMark{at: lf.at, code: true})
		}
	}
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		p.readInfo(c)
	}
}

// hideConflictMarkers blanks the marker lines that a merge left around different
// versions, so that the entries of each version stay entries, and returns the
// lines. Until the file is resolved, all of it is private: the versions may have
// different frontmatter.
func (p *docParser) hideConflictMarkers() (marks []lineRange) {
	if p.of != nil || !bytes.Contains(p.text, []byte("<<<<<<<")) || !bytes.Contains(p.text, []byte(">>>>>>>")) {
		return nil
	}
	tops, _ := parseStructure(p.text, p.body, p.ln)
	code := codeLines(tops, p.body, p.ln)
	var open []lineRange // markers of the current conflict
	for i := 1; i <= p.ln.count(); i++ {
		s := p.ln.span(i, i)
		line := bytes.TrimRight(p.text[s.Start:s.End], " \t\n")
		switch {
		case open == nil && s.Start >= p.body && code[i]: // a version may have an open fence
		case isMarker(line, '<'):
			open = []lineRange{{i, i}}
		case open != nil && (isMarker(line, '|') || isMarker(line, '=')):
			open = append(open, lineRange{i, i})
		case len(open) > 1 && isMarker(line, '>'):
			marks, open = append(append(marks, open...), lineRange{i, i}), nil
		}
	}
	if marks == nil {
		return nil
	}
	p.addProblem(conflictMarkers, marks[0].from,
		"the file contains conflict markers of a merge; until you remove the markers, the file is private")
	p.private.hideFrom(1)
	marks = slices.DeleteFunc(marks, func(r lineRange) bool { return p.ln.start(r.from) < p.body })
	p.text = blankRegions(p.text, marks, p.ln)
	return marks
}

// conflictMarkers is the problem code of a file with conflict markers.
const conflictMarkers = "conflict_markers"

// isMarker reports whether a line is a conflict marker: seven equal characters and,
// if not the middle one, a name.
func isMarker(line []byte, c byte) bool {
	const size = 7
	if len(line) < size || bytes.Count(line[:size], []byte{c}) != size {
		return false
	}
	return len(line) == size || c != '=' && line[size] == ' '
}
