package memory

import (
	"bytes"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
)

// These limits bound the time and memory of parsing, independent of the content
// of the file.
const (
	// maxDepth bounds the nesting of blocks. Beyond it a marker is text, and the file
	// is private and never changed. Real lists are not fifty levels deep, and the cost
	// of a line grows with its depth.
	maxDepth = 100
	// maxBlocks bounds the number of blocks that are parsed. Four megabytes of
	// short list items, the largest file that is read, have about that many.
	maxBlocks = 150_000
)

// markdown parses block structure only. The scanner of this package reads
// emphasis, links and code spans without a tree. Link definitions stay
// paragraphs, so that no line is lost.
var markdown = parser.NewParser(
	parser.WithBlockParsers(boundedParsers()...),
	parser.WithParagraphTransformers(util.Prioritized(tableTransformer{}, 200)),
)

// boundedParsers returns the parsers of all blocks of CommonMark, and of separators.
func boundedParsers() []util.PrioritizedValue {
	list := append(parser.DefaultBlockParsers(),
		util.Prioritized(separatorParser{parser.NewThematicBreakParser()}, 150))
	for i := range list {
		list[i].Value = boundedParser{list[i].Value.(parser.BlockParser)}
	}
	return list
}

var budgetKey = parser.NewContextKey()

// A budget holds the remaining limits of one run of the parser.
type budget struct {
	blocks  int
	tooDeep int // offset of a block beyond maxDepth, or 0
}

// boundedParser limits a block parser: no block opens when the budget is used up, and
// no container opens deeper than maxDepth.
type boundedParser struct{ parser.BlockParser }

func (p boundedParser) Open(parent ast.Node, r text.Reader, pc parser.Context) (ast.Node, parser.State) {
	left := pc.Get(budgetKey).(*budget)
	if left.blocks == 0 {
		return nil, parser.NoChildren
	}
	node, state := p.BlockParser.Open(parent, r, pc)
	switch node.(type) {
	case nil:
		return nil, state
	case *ast.List, *ast.Blockquote:
		if len(pc.OpenedBlocks()) >= maxDepth {
			_, at := r.Position()
			left.tooDeep = at.Start
			return nil, parser.NoChildren
		}
	}
	left.blocks--
	return node, state
}

// A separatorParser parses a separator, by which some agents divide the facts in MEMORY.md
// and USER.md: a line that consists of §. Like a thematic break, it ends the block above.
type separatorParser struct{ parser.BlockParser }

const separator = "§"

func (separatorParser) Trigger() []byte { return []byte(separator[:1]) }

func (separatorParser) Open(parent ast.Node, r text.Reader, _ parser.Context) (ast.Node, parser.State) {
	line, _ := r.PeekLine()
	indent, _ := util.IndentWidth(line, r.LineOffset())
	if indent > 3 || parent.Kind() != ast.KindDocument || string(bytes.TrimSpace(line)) != separator {
		return nil, parser.NoChildren
	}
	r.AdvanceToEOL()
	return ast.NewThematicBreak(), parser.NoChildren
}

// A table is a Markdown table as one block. Cells are not parsed: the package
// does not need them, and a wide table has very many.
type table struct{ ast.BaseBlock }

var kindTable = ast.NewNodeKind("MemoryTable")

func (*table) Kind() ast.NodeKind { return kindTable }

func (*table) IsRaw() bool { return true }

func (t *table) Dump(src []byte, lvl int) { ast.DumpHelper(t, src, lvl, nil, nil) }

// tableTransformer turns the end of a paragraph into a table if a header row is followed
// by a delimiter row with the same number of cells.
type tableTransformer struct{}

func (tableTransformer) Transform(node *ast.Paragraph, r text.Reader, _ parser.Context) {
	lines, src := node.Lines(), r.Source()
	for i := 1; i < lines.Len(); i++ {
		delimiter, header := lines.At(i), lines.At(i-1)
		n := delimiterCells(delimiter.Value(src))
		if n == 0 || n != countCells(header.Value(src)) {
			continue
		}
		// Replace the paragraph even if lines of it stay above the table: a
		// paragraph that remained could still become a heading below it.
		parent := node.Parent()
		if i > 1 {
			above := ast.NewParagraph()
			for j := range i - 1 {
				line := lines.At(j)
				above.Lines().Append(line.TrimLeftSpace(src))
			}
			parent.InsertBefore(parent, node, above)
		}
		t := &table{}
		for j := i - 1; j < lines.Len(); j++ {
			t.Lines().Append(lines.At(j))
		}
		t.SetPos(header.Start)
		parent.ReplaceChild(parent, node, t)
		return
	}
}

var delimiterRE = lazyregexp.New(`^\|?(?:[ \t]*:?-+:?[ \t]*\|)*[ \t]*:?-+:?[ \t]*\|?$`)

// delimiterCells returns the number of cells of a delimiter row, or 0 if the
// line is not a delimiter row.
func delimiterCells(line []byte) int {
	line = bytes.TrimSpace(line)
	if !bytes.ContainsAny(line, "|:") || !delimiterRE().Match(line) {
		return 0
	}
	return countCells(line)
}

// countCells returns the number of cells of a table row.
func countCells(line []byte) int {
	line = bytes.TrimSpace(line)
	line = bytes.TrimPrefix(line, []byte("|"))
	n, last := 1, -1
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case '|':
			n++
			last = i
		}
	}
	if len(line) > 0 && last == len(line)-1 {
		n--
	}
	return n
}

// topKind is the role of a top-level block.
type topKind uint8

const (
	topEntry topKind = iota
	topHeading
	topRule
	topComment
)

// A topBlock is a block of the top level, or an item of a list of the top level.
type topBlock struct {
	kind         topKind
	block        Block // of a topEntry
	from, to     int   // lines, inclusive
	level        int   // of a topHeading
	node         ast.Node
	introduction ast.Node // the paragraph that introduces a code block
}

// parseStructure parses the blocks of the body. Every line that is not blank is in
// exactly one of the returned blocks.
func (p *docParser) parseStructure() (tops []topBlock, problem *Problem) {
	text, body, ln := p.text, p.body, p.ln
	var root ast.Node = ast.NewDocument()
	if p.flat {
		problem = &Problem{Code: markdownUnreadable, Line: 1,
			Message: "cannot parse the structure of the file; the whole file is one private entry"}
	} else {
		root, problem = p.parseBlocks(text[body:len(text):len(text)])
	}
	add := func(node ast.Node, kind topKind, block Block, level int) {
		line := ln.at(body + blockStart(node))
		// Two blocks cannot begin on one line. If the parser ever returns two
		// such blocks, treat them as one.
		if n := len(tops); n > 0 && tops[n-1].from >= line {
			return
		}
		tops = append(tops, topBlock{kind: kind, block: block, from: line, level: level, node: node})
	}
	for n := root.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Heading:
			add(n, topHeading, EmptyHeading, n.Level)
		case *ast.ThematicBreak:
			add(n, topRule, 0, 0)
		case *ast.List:
			tops = slices.Grow(tops, n.ChildCount())
			for item := n.FirstChild(); item != nil; item = item.NextSibling() {
				add(item, topEntry, Item, 0)
			}
		case *ast.Blockquote:
			add(n, topEntry, Quote, 0)
		case *ast.CodeBlock, *ast.FencedCodeBlock:
			add(n, topEntry, codeBlock, 0)
		case *ast.HTMLBlock:
			add(n, topEntry, htmlBlock, 0)
		case *table:
			add(n, topEntry, tableBlock, 0)
		case *ast.Paragraph:
			kind := topEntry
			if string(bytes.TrimSpace(n.Lines().Value(text[body:]))) == petFooter {
				kind = topRule
			}
			add(n, kind, Paragraph, 0)
		default:
			add(n, topEntry, Paragraph, 0)
		}
	}
	if n := len(tops); problem != nil && problem.Code == tooManyBlocks && n > 0 {
		tops[n-1] = topBlock{block: Paragraph, from: tops[n-1].from,
			node: ast.NewParagraph()} // includes the rest of the file
	}
	return extendBlocks(tops, text, body, ln), problem
}

// extendBlocks extends each block to the line before the next one, without trailing
// blank lines. If a parser error leaves lines above the first block, they
// become a paragraph.
func extendBlocks(tops []topBlock, text []byte, body int, ln lines) []topBlock {
	first := ln.at(body)
	isBlank := func(line int) bool { s := ln.span(line, line); return isBlankText(text[s.Start:s.End]) }
	for first <= ln.count() && (ln.start(first) < body || isBlank(first)) {
		first++
	}
	if first <= ln.count() && (len(tops) == 0 || tops[0].from > first) {
		tops = append([]topBlock{{block: Paragraph, from: first, node: ast.NewParagraph()}}, tops...)
	}
	for i := range tops {
		to := ln.count()
		if i+1 < len(tops) {
			to = tops[i+1].from - 1
		}
		for to > tops[i].from && isBlank(to) {
			to--
		}
		tops[i].to = to
		if t := &tops[i]; t.kind == topEntry && (t.block == htmlBlock || t.block == Paragraph) {
			if s := ln.span(t.from, t.to); markupOnly(text[s.Start:s.End]) {
				t.kind = topComment
			}
		}
	}
	return tops
}

// markupOnly reports whether a block contains only comments and <private> tags.
func markupOnly(b []byte) bool {
	for b = bytes.TrimSpace(b); len(b) > 0; b = bytes.TrimSpace(b) {
		if end := percentComment(b, 0); end > 0 {
			b = b[end:]
			continue
		}
		if b[0] != '<' {
			return false
		}
		if inner, ok := bytes.CutPrefix(b, commentOpen); ok {
			_, b, ok = bytes.Cut(inner, commentClose)
			if !ok {
				return false
			}
			continue
		}
		tag := privateStartRE().Find(b)
		if tag == nil {
			return false
		}
		b = b[len(tag):]
	}
	return true
}

// codeLines returns the set of lines inside code blocks, at the top level or
// nested.
func codeLines(tops []topBlock, body int, ln lines) map[int]bool {
	code := map[int]bool{}
	var walk func(n ast.Node)
	walk = func(n ast.Node) {
		switch n.(type) {
		case *ast.CodeBlock, *ast.FencedCodeBlock:
			for i := range n.Lines().Len() {
				code[ln.at(body+n.Lines().At(i).Start)] = true
			}
			return
		}
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			walk(c)
		}
	}
	for _, t := range tops {
		walk(t.node)
	}
	return code
}

// blockStart returns the offset of a block from the start of the parsed text.
func blockStart(n ast.Node) int {
	if p := n.Pos(); p >= 0 {
		return p
	}
	if lines := n.Lines(); lines != nil && lines.Len() > 0 {
		return lines.At(0).Start
	}
	return 0
}

// Problem codes for a structure that is not parsed as a whole. Such a file is private
// and never changed.
const (
	markdownUnreadable = "markdown_unreadable"
	tooManyBlocks      = "too_many_blocks"
	nestingTooDeep     = "nesting_too_deep"
)

// parseBlocks runs the Markdown parser on the body.
func (p *docParser) parseBlocks(src []byte) (root ast.Node, problem *Problem) {
	pc := parser.NewContext()
	left := &budget{blocks: maxBlocks}
	pc.Set(budgetKey, left)
	root = markdown.Parse(text.NewReader(src), parser.WithContext(pc))
	switch {
	case left.blocks == 0:
		problem = &Problem{Code: tooManyBlocks, Line: 1,
			Message: "the file has too many items and paragraphs; it is private and never changed. Split the file"}
	case left.tooDeep > 0:
		problem = &Problem{Code: nestingTooDeep, Line: p.ln.at(p.body + left.tooDeep),
			Message: "blocks are nested too deeply; the file is private and never changed. Indent them less, or write " +
				"them in a code block"}
	}
	return root, problem
}

// petFooter is the last line of the template. Like a rule, it is no entry.
const petFooter = "_记住重要的事，忘掉不重要的。定期整理，保持精炼。_"

// readHidden reads the comments in hidden regions, because the lines of a hidden region
// are visible to the readers of the file.
func (p *docParser) readHidden(regions []lineRange) {
	for _, r := range regions {
		s := p.ln.span(r.from, r.to)
		lf := leaf{buf: p.text[s.Start:s.End], at: s.Start, html: true}
		new(inlineElements).scanLeaf(&lf)
		for _, c := range lf.comments {
			switch {
			case c.state == commentBroken:
				p.reportBroken(p.ln.at(c.src.Start))
			case setsPrivate(c.attrs):
				p.d.marks.tags = append(p.d.marks.tags, privateMark{at: s.Start}, privateMark{at: s.End - 1, close: true})
			}
		}
	}
}

// hideConflictMarkers blanks the marker lines that a merge left around different
// versions, so that the entries of each version stay entries, and returns the
// lines. Until the file is resolved, all of it is private: the versions may have
// different frontmatter.
func (p *docParser) hideConflictMarkers() (marks []lineRange) {
	if !bytes.Contains(p.text, []byte("<<<<<<<")) || !bytes.Contains(p.text, []byte(">>>>>>>")) {
		return nil
	}
	var open []lineRange // markers of the current conflict
	for i := 1; i <= p.ln.count(); i++ {
		s := p.ln.span(i, i)
		line := bytes.TrimRight(p.text[s.Start:s.End], " \t\n")
		switch {
		case !markerRE().Match(line):
		case line[0] == '<':
			open = []lineRange{{i, i}}
		case open != nil && line[0] != '>':
			open = append(open, lineRange{i, i})
		case len(open) > 1:
			marks, open = append(append(marks, open...), lineRange{i, i}), nil
		}
	}
	if marks == nil {
		return nil
	}
	p.addProblem(conflictMarkers, marks[0].from,
		"the file contains conflict markers of a merge; until you remove the markers, the file is private")
	p.doubtful = true
	marks = slices.DeleteFunc(marks, func(r lineRange) bool { return p.ln.start(r.from) < p.body })
	p.text = blankRegions(p.text, marks, p.ln)
	return marks
}

// conflictMarkers is the problem code of a file with conflict markers.
const conflictMarkers = "conflict_markers"

// markerRE matches a conflict marker: seven equal characters and, if not the middle one,
// a name.
var markerRE = lazyregexp.New(`^(?:={7}|(?:<{7}|\|{7}|>{7})(?: .*)?)$`)

// markerWord is part of the markers of generated text.
const markerWord = "memwatchd:generated"

// The marker lines around text that memwatchd generated.
const (
	GeneratedOpen  = "<!-- " + markerWord + " -->"
	GeneratedClose = "<!-- /" + markerWord + " -->"
)

// FilteredHeader is the first line of a block of items injected into a prompt.
const FilteredHeader = "Long-term Memory (filtered)"

var injectedRE = lazyregexp.New(`^\[Memory:[^\]]*\]$`)

// IsInjectedHeader reports whether a line is the header of a block made for a prompt.
// Such a line in a file means that a prompt was copied into it.
func IsInjectedHeader(line string) bool {
	return line == FilteredHeader || injectedRE().MatchString(line)
}

// findHidden returns the lines of generated text and injected blocks outside code. Spaces replace them in the text, so that memory never indexes its own output.
func (p *docParser) findHidden(tops []topBlock) (regions []lineRange) {
	text := p.text[p.body:]
	if !bytes.Contains(text, []byte(markerWord)) && !bytes.Contains(text, []byte("[Memory:")) &&
		!bytes.Contains(text, []byte(FilteredHeader)) {
		return nil
	}
	code, unclosed := codeLines(tops, p.body, p.ln), false
	line := func(i int) string {
		s := p.ln.span(i, i)
		return string(bytes.TrimRight(p.text[s.Start:s.End], " \t\n"))
	}
	for i := p.ln.at(p.body); i <= p.ln.count(); i++ {
		if p.ln.start(i) < p.body || code[i] {
			continue
		}
		to := 0
		switch s := line(i); {
		case strings.TrimLeft(s, " ") == GeneratedOpen && !unclosed:
			for to = i + 1; to <= p.ln.count() && strings.TrimLeft(line(to), " ") != GeneratedClose; to++ {
			}
			if to > p.ln.count() {
				to, unclosed = 0, true // applies to all later markers, so do not search again
				p.addDefect("generated_unclosed", i,
					"generated text has no closing marker and is treated as text; add "+GeneratedClose)
			}
		case IsInjectedHeader(s):
			for to = i; to < p.ln.count() && inInjectedBlock(line(to+1), s == FilteredHeader); to++ {
			}
		}
		if to > 0 {
			regions = append(regions, lineRange{i, to})
			i = to
		}
	}
	return regions
}

// blankRegions returns a copy of a text with spaces in place of regions.
func blankRegions(text []byte, regions []lineRange, ln lines) []byte {
	out := slices.Clone(text)
	for _, r := range regions {
		s := ln.span(r.from, r.to)
		for i := s.Start; i < s.End; i++ {
			if out[i] != '\n' {
				out[i] = ' '
			}
		}
	}
	return out
}

// inInjectedBlock reports whether a line is part of an injected block: a bullet, an
// indented line, or the name of a namespace.
func inInjectedBlock(line string, filtered bool) bool {
	name, named := strings.CutSuffix(line, ":")
	return strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t") ||
		!filtered && strings.HasPrefix(line, "- ") || filtered && named && isNamespace(name)
}
