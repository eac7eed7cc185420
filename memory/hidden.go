package memory

import (
	"bytes"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
)

// readHidden reads the marks in hidden regions, because the lines of a hidden region
// are visible to the readers of the file. A region with a private mark is private.
func (p *docParser) readHidden(regions []lineRange) {
	for _, r := range regions {
		s := p.ln.span(r.from, r.to)
		lf, f := p.scanMarks(s.Start, s.End)
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

// scanMarks reads the comments and the <private> tags of a part of the text.
func (p *docParser) scanMarks(from, to int) (lf leaf, f inlineElements) {
	lf = leaf{buf: p.text[from:to], at: from, html: true}
	f.scanLeaf(&lf)
	return lf, f
}

// readInfo records the marks in the info strings of code blocks. A mark makes the
// entry private that contains the code block.
func (p *docParser) readInfo(n ast.Node) {
	if code, ok := n.(*ast.FencedCodeBlock); ok && code.Info != nil {
		s := code.Info.Segment
		lf, f := p.scanMarks(p.body+s.Start, p.body+s.Stop)
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
	tops, _ := p.parseStructure()
	code := codeLines(tops, p.body, p.ln)
	var open []lineRange // markers of the current conflict
	for i := 1; i <= p.ln.count(); i++ {
		s := p.ln.span(i, i)
		line := bytes.TrimRight(p.text[s.Start:s.End], " \t\n")
		switch {
		case !markerRE().Match(line), open == nil && s.Start >= p.body && code[i]: // a version may have an open fence
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
	p.private.hideFrom(1)
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

// percentBlock returns the last line of the comment of Obsidian that begins at the
// start of line i and ends at the end of a line, or 0 if there is none. last is the
// last line that the search has read.
func (p *docParser) percentBlock(code map[int]bool, i int) (to, last int) {
	start := p.ln.start(i) + len(percentMark)
	for last = i; last <= p.ln.count(); last++ {
		from := max(start, p.ln.start(last))
		line := bytes.TrimRight(p.text[from:p.ln.start(last+1)], " \t\n")
		n := bytes.Index(line, percentMark)
		if n < 0 || code[last] {
			continue
		}
		inside := p.text[start : from+n]
		if n+len(percentMark) == len(line) && len(bytes.TrimSpace(inside)) > 0 && !hasMarks(inside) {
			return last, last
		}
		return 0, last
	}
	return 0, last
}

// findHidden returns the lines of generated text, injected blocks and comments of Obsidian
// outside code. Spaces replace them in the text, so that memory never indexes its own output.
func (p *docParser) findHidden(tops []topBlock) (regions []lineRange) {
	text := p.text[p.body:]
	if !bytes.Contains(text, []byte(markerWord)) && !bytes.Contains(text, []byte("[Memory:")) &&
		!bytes.Contains(text, []byte(FilteredHeader)) && !bytes.Contains(text, percentMark) {
		return nil
	}
	code, unclosed, unclosedPercent := codeLines(tops, p.body, p.ln), false, false
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
		case strings.HasPrefix(s, string(percentMark)) && !unclosedPercent:
			var last int
			to, last = p.percentBlock(code, i)
			p.d.percent, unclosedPercent = p.d.percent || to > 0, last > p.ln.count()
		case strings.TrimLeft(s, " ") == GeneratedOpen && !unclosed:
			for to = i + 1; to <= p.ln.count() && strings.TrimLeft(line(to), " ") != GeneratedClose; to++ {
			}
			if to > p.ln.count() {
				to, unclosed, p.d.Unsound = 0, true, true // applies to all later markers, so do not search again
				p.addProblem("generated_unclosed", i,
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

// matchTags matches the <private> tags of a file. An unclosed tag makes the rest of the file
// private; a closing tag without an opening one makes its own line private.
func (p *docParser) matchTags() {
	slices.SortFunc(p.marks, func(a, b privateMark) int { return a.at - b.at })
	depth, from := 0, 0
	for _, m := range p.marks {
		line := p.ln.at(m.at)
		private := lineRange{line, line}
		switch {
		case m.code:
		case !m.close:
			depth++
			if depth == 1 {
				from = line
			}
			continue
		case depth > 1:
			depth--
			continue
		case depth == 1:
			depth, private.from = 0, from
		default:
			p.addProblem("private_unopened", line, "</private> has no opening <private>")
		}
		p.private.regions = append(p.private.regions, private)
	}
	p.private.regions = joinRegions(p.private.regions)
	if depth > 0 {
		p.private.hideFrom(from)
		p.d.Unsound = true
		p.addProblem("private_unclosed", from, "unclosed <private>; the rest of the file is private. Add </private>")
	}
}

// A lineRange is a range of 1-based lines, inclusive.
type lineRange struct{ from, to int }

func (r lineRange) overlaps(from, to int) bool { return from <= r.to && to >= r.from }

// A privateRanges holds the lines that are private regardless of the attributes of
// entries.
type privateRanges struct {
	from    int         // all lines from this one on; 0 for none
	regions []lineRange // sorted, without common lines
}

func (p *privateRanges) overlaps(from, to int) bool {
	return p.from > 0 && to >= p.from || p.regionFrom(from).overlaps(from, to)
}

// regionFrom returns the first region that ends on a line or below it, or an
// empty one.
func (p *privateRanges) regionFrom(line int) lineRange {
	i, _ := slices.BinarySearchFunc(p.regions, line, func(r lineRange, line int) int { return r.to - line })
	if i == len(p.regions) {
		return lineRange{}
	}
	return p.regions[i]
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

func (p *privateRanges) hideFrom(line int) {
	if p.from == 0 || line < p.from {
		p.from = line
	}
}
