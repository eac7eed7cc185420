package memory

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
)

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
		if from > 0 && line[from-1] == ' ' && to < len(line) && line[to] == ' ' {
			at++
		}
	}
	return append(out, line[at:]...)
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

// Prefixes of the attribute source for entries not written by or for the
// subject: texts from a public context, and texts from a topic, which any
// client that knows the topic's name can write to.
const (
	PublicSource = "public:"
	TopicSource  = "ntfy:"
)

// An Author is the origin of an entry or of a session's summary, as its
// attributes source and written_by record it.
type Author struct {
	Source string `json:"source,omitempty"`
	By     string `json:"by,omitempty"` // subject of the author; empty if the text is its subject's own
}

// Untrusted reports whether a text was written in public, through a topic, or by
// a subject that is neither the subject of the text nor one of the view's. The
// zero View is that of an anonymous caller.
func (a Author) Untrusted(v View) bool {
	return IsUntrustedSource(a.Source) || a.By != "" && !slices.Contains(v.subjects, a.By)
}

// Author returns the author of the entry.
func (e *Entry) Author() Author { return Author{e.Source, e.By} }

// Author returns the author of the summary.
func (f *Front) Author() Author { return Author{f.Source, f.By} }

// IsUntrustedSource reports whether a source attribute names a source other than the
// subject.
func IsUntrustedSource(source string) bool {
	return strings.HasPrefix(source, PublicSource) || strings.HasPrefix(source, TopicSource)
}

// A Summary is a line that summarizes a subject, in its profile.md, one of its
// projects, in its project.md, or its conversations with a contact, in a file of
// the contact (see [SummaryPath]):
//
//   - **2026-02-04/cli**: We chose PostgreSQL. <!-- visibility=public_ok evidence=2026-02-04/cli.md updated=… -->
//
// A summary names its evidence and is in a section of its own. Both distinguish
// it from the keyed items of the same file, see [Entry.IsSummary].
type Summary struct {
	Title      string
	Text       string // one line of Markdown
	Visibility Visibility
	Evidence   []string          // never empty
	Attributes map[string]string // other attributes
}

// Section names of summaries. Public and private summaries need separate
// headings, because a heading above private lines must not become visible
// through a public line.
const (
	privateSummaries = "Summaries"
	publicSummaries  = "Public summaries"
)

// SummaryPath returns the path of the file for the summaries of a subject: of its
// project if that is not empty, else of its conversations with a contact if that
// is not empty, else of the subject itself.
func SummaryPath(subject, project, contact string) string {
	name := "profile.md"
	switch {
	case project != "":
		name = "project.md"
	case contact != "":
		// Ids that differ in a colon only need different names, too.
		name = "contacts/" + sanitizeName(contact, func(name string) bool { return name != contact }) + ".md"
	}
	return longtermsDir + "/" + SubjectDir(subject) + "/" + name
}

// IsSummary reports whether an entry of a file of keyed items is a summary,
// which means that it has evidence and is in a section of summaries.
func (e *Entry) IsSummary() bool { return len(e.Evidence) > 0 && e.inSummaries() }

func (e *Entry) inSummaries() bool {
	return slices.ContainsFunc(e.Sections, func(s string) bool {
		return SameSection(s, privateSummaries) || SameSection(s, publicSummaries)
	})
}

// SummaryText returns the text of a summary, without its title.
func (e *Entry) SummaryText() string {
	_, text := splitTitle(trimMarkers(e.Text))
	return strings.TrimSpace(text)
}

// Section returns the path of the section for the summary.
func (s *Summary) Section() []string {
	if s.Visibility == PublicOK {
		return []string{publicSummaries}
	}
	return []string{privateSummaries}
}

// String returns the summary as a list item with its comment.
func (s *Summary) String() string {
	attributes := map[string]string{}
	maps.Copy(attributes, s.Attributes)
	attributes["visibility"] = s.Visibility.String()
	return s.itemLine() + " " + Comment(attributes, s.Evidence)
}

func (s *Summary) itemLine() string { return fmt.Sprintf("- **%s**: %s", s.Title, s.Text) }

// Check returns an error if the summary, in the file at path, would not be
// parsed back as the same summary.
func (s *Summary) Check(path string, l *Layout) error {
	alone := l.Parse(path, []byte(s.String()+"\n"), Meta{})
	if len(alone.Entries) == 1 && len(alone.Problems) == 0 && !alone.Unsound {
		e := &alone.Entries[0]
		_, given := s.Attributes["id"]
		if s.Matches(e) && s.Title != "" && s.Text != "" && e.Title == s.Title && len(e.Tasks) == 0 &&
			strings.HasSuffix(e.Text, s.Text) && e.Given == given {
			return nil
		}
	}
	return errors.New("the summary does not fit into one line of Markdown")
}

// Matches reports whether an entry has the same text, visibility and evidence, in
// any list.
func (s *Summary) Matches(e *Entry) bool {
	return e.Block == Item && e.Norm == normText(s.itemLine()) && e.Partition.Visibility == s.Visibility &&
		slices.Equal(e.Evidence, s.Evidence)
}
