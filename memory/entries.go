package memory

import (
	"bytes"
	"cmp"
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
