package agents

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxSize is how large a settings file may be, in bytes: that of an agent which
// keeps its history there has some megabytes.
const MaxSize = 16 << 20

// maxDepth is how deep values may be nested: as deep as in encoding/json.
const maxDepth = 10_000

// An Error is what is wrong with a settings file, and where: lines and columns
// (of bytes) count from 1.
type Error struct {
	Line, Column int
	Text         string
}

func (e *Error) Error() string { return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Text) }

// errorAt is an error about what stands at an offset.
func errorAt(text []byte, offset int, format string, args ...any) *Error {
	before := text[:min(max(offset, 0), len(text))]
	return &Error{
		Line:   1 + bytes.Count(before, []byte("\n")),
		Column: len(before) - bytes.LastIndexByte(before, '\n'),
		Text:   fmt.Sprintf(format, args...),
	}
}

// A node is a value of a JSON text that may have comments and trailing commas.
// It knows where it stands, to the byte; nothing of the text is in it.
type node struct {
	kind       byte // '{', '[', '"', '0' for a number, 't', 'f' or 'n'
	start, end int

	// Of an object or a list:
	items    []item
	filled   int  // where its last comma, item or comment ends; behind the bracket if it has none
	comment  bool // whether that is a comment to the end of the line
	comments bool // whether there are comments between its items
}

// An item is a member of an object, or a value of a list.
type item struct {
	key         string // of a member
	start       int    // of the key, or of the value
	colon       int    // of a member: behind its colon
	value       *node
	comma       int  // where the comma behind it is, or -1
	before      int  // where the bracket, comma or comment before it ends
	lineComment bool // whether that is a comment to the end of the line
}

// end is where the item ends, with the comma behind it.
func (it item) end() int {
	if it.comma >= 0 {
		return it.comma + 1
	}
	return it.value.end
}

// trailing says whether there is a comma behind the last item.
func (n *node) trailing() bool { return len(n.items) > 0 && n.items[len(n.items)-1].comma >= 0 }

// A jsonParser reads JSON text. It fails by panicking with an [*Error].
type jsonParser struct {
	text []byte
	pos  int

	last    int  // where the last token or comment ends
	line    bool // whether that is a comment to the end of the line
	comment bool // whether comments were skipped
	first   int  // where the first comment is, or -1
}

// parseJSON reads a text that is one value, and tells where the first comment is,
// or -1.
func parseJSON(text []byte) (root *node, comment int, err error) {
	p := &jsonParser{text: text, first: -1}
	defer func() {
		switch failure := recover().(type) {
		case nil:
		case *Error:
			root, err = nil, failure
		default:
			panic(failure)
		}
	}()
	p.skip()
	root = p.value(0)
	if p.skip(); p.pos < len(text) {
		p.fail("there is more behind the end")
	}
	return root, p.first, nil
}

func (p *jsonParser) fail(format string, args ...any) {
	panic(errorAt(p.text, p.pos, format, args...))
}

// peek is the next byte, or 0 at the end.
func (p *jsonParser) peek() byte {
	if p.pos == len(p.text) {
		return 0
	}
	return p.text[p.pos]
}

// took notes that a token ends here.
func (p *jsonParser) took() { p.last, p.line = p.pos, false }

// skip goes over white space and comments.
func (p *jsonParser) skip() {
	p.comment = false
	for p.pos < len(p.text) {
		rest := p.text[p.pos:]
		if p.first < 0 && (bytes.HasPrefix(rest, []byte("//")) || bytes.HasPrefix(rest, []byte("/*"))) {
			p.first = p.pos
		}
		switch {
		case strings.IndexByte(" \t\r\n", rest[0]) >= 0:
			p.pos++
			continue
		case bytes.HasPrefix(rest, []byte("//")):
			n := bytes.IndexByte(rest, '\n')
			if n < 0 {
				n = len(rest)
			}
			p.pos += len(bytes.TrimSuffix(rest[:n], []byte("\r")))
			p.last, p.line, p.comment = p.pos, true, true
		case bytes.HasPrefix(rest, []byte("/*")):
			n := bytes.Index(rest[2:], []byte("*/"))
			if n < 0 {
				p.fail("a comment does not end")
			}
			p.pos += n + 4
			p.last, p.line, p.comment = p.pos, false, true
		default:
			return
		}
	}
}

func (p *jsonParser) value(depth int) *node {
	if depth > maxDepth {
		p.fail("values are nested too deep")
	}
	switch c := p.peek(); {
	case c == '{' || c == '[':
		return p.container(depth)
	case c == '"':
		n := &node{kind: '"', start: p.pos}
		p.str()
		n.end = p.pos
		return n
	case p.pos == len(p.text):
		p.fail("a value is missing at the end")
	}
	n := &node{start: p.pos}
	for p.pos < len(p.text) && strings.IndexByte(" \t\r\n,:{}[]\"/", p.text[p.pos]) < 0 {
		p.pos++
	}
	n.end = p.pos
	literal := p.text[n.start:n.end]
	if !json.Valid(literal) {
		p.pos = n.start
		p.fail("this is no value of JSON")
	}
	n.kind = literal[0]
	if n.kind == '-' || n.kind >= '0' && n.kind <= '9' {
		n.kind = '0'
	}
	p.took()
	return n
}

// str reads a string.
func (p *jsonParser) str() string {
	start := p.pos
	for p.pos++; p.peek() != '"'; p.pos++ {
		if p.peek() == '\\' {
			p.pos++
		}
		if p.pos >= len(p.text) || p.text[p.pos] == '\n' {
			p.pos = start
			p.fail("a string does not end")
		}
	}
	p.pos++
	s, ok := decodeString(p.text[start:p.pos])
	if !ok {
		p.pos = start
		p.fail("this is no string of JSON")
	}
	p.took()
	return s
}

func decodeString(literal []byte) (s string, ok bool) {
	return s, utf8.Valid(literal) && json.Unmarshal(literal, &s) == nil
}

// container reads an object or a list.
func (p *jsonParser) container(depth int) *node {
	n := &node{kind: p.peek(), start: p.pos}
	closing := n.kind + 2 // in ASCII
	p.pos++
	p.took()
	for {
		p.skip()
		n.comments = n.comments || p.comment
		n.filled, n.comment = p.last, p.line
		if p.peek() == closing {
			p.pos++
			p.took()
			n.end = p.pos
			return n
		}
		if len(n.items) > 0 && !n.trailing() {
			p.fail("a comma or %q is missing", closing)
		}
		it := item{start: p.pos, comma: -1, before: p.last, lineComment: p.line}
		if n.kind == '{' {
			if p.peek() != '"' {
				p.fail("a key in quotes or %q is missing", closing)
			}
			it.key = p.str()
			if p.skip(); p.peek() != ':' {
				p.fail("a colon is missing")
			}
			p.pos++
			p.took()
			it.colon = p.pos
			p.skip()
		}
		it.value = p.value(depth + 1)
		p.skip()
		n.comments = n.comments || p.comment
		n.filled, n.comment = p.last, p.line
		if p.peek() == ',' {
			it.comma = p.pos
			p.pos++
			p.took()
		}
		n.items = append(n.items, it)
	}
}
