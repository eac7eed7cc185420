package agents

import (
	"bytes"
	"encoding/json"
	"strings"
)

// An object is one to be written: its members in order. A value is a string, a
// number, a list ([]any) or an object.
type object []member

type member struct {
	key   string
	value any
}

// A jsonDoc is a settings file in JSON that is changed by spans: what is not
// added, replaced or taken away stays as it is, to the byte.
type jsonDoc struct {
	bom     []byte
	text    []byte // without it
	root    *node
	comment int // where the first one is, or -1

	eol, unit, colon, comma string // as the file has them
}

var bom = []byte("\ufeff")

// readJSON reads a settings file. One that is empty is one without settings.
func readJSON(data []byte) (*jsonDoc, error) {
	d := &jsonDoc{text: bytes.TrimPrefix(data, bom)}
	d.bom = data[:len(data)-len(d.text)]
	if len(data) > MaxSize {
		return nil, errorAt(nil, 0, "it has more than %d MiB", MaxSize>>20)
	}
	if len(bytes.TrimSpace(d.text)) == 0 {
		d.text = []byte("{}\n")
	}
	return d, d.parse()
}

// bytes is the file as it is now.
func (d *jsonDoc) bytes() []byte { return append(bytes.Clone(d.bom), d.text...) }

func (d *jsonDoc) parse() error {
	root, comment, err := parseJSON(d.text)
	if err != nil {
		return err
	}
	if root.kind != '{' {
		return errorAt(d.text, root.start, "settings must be an object, in braces")
	}
	d.root, d.comment = root, comment
	d.style()
	return nil
}

// style finds out how the file is written.
func (d *jsonDoc) style() {
	d.eol, d.unit, d.colon, d.comma = eolOf(d.text), "  ", ": ", ", "
	if len(d.root.items) == 0 {
		return
	}
	first := d.root.items[0]
	if first.value.start == first.colon {
		d.colon, d.comma = ":", ","
	}
	for _, it := range d.root.items {
		if d.ownLine(it.start) {
			d.unit = strings.TrimPrefix(d.indent(it.start), d.indent(d.root.start))
			return
		}
	}
}

// eolOf is how lines of a text end.
func eolOf(text []byte) string {
	if i := bytes.IndexByte(text, '\n'); i > 0 && text[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// indent is the white space that the line of an offset begins with.
func (d *jsonDoc) indent(offset int) string {
	line := d.text[bytes.LastIndexByte(d.text[:offset], '\n')+1 : offset]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// ownLine says whether nothing stands before an offset in its line.
func (d *jsonDoc) ownLine(offset int) bool {
	line := d.text[:offset]
	line = bytes.TrimRight(line, " \t")
	return len(line) > 0 && line[len(line)-1] == '\n'
}

// A splice puts a text in place of a span.
type splice struct {
	start, end int
	text       string
}

// splice changes the text at some places, in order, and reads it again.
func (d *jsonDoc) splice(splices ...splice) error {
	var b bytes.Buffer
	at := 0
	for _, s := range splices {
		b.Write(d.text[at:s.start])
		b.WriteString(s.text)
		at = s.end
	}
	b.Write(d.text[at:])
	d.text = b.Bytes()
	return d.parse()
}

// get finds a member of an object, or nil. A key that is there twice is an
// error: each program that reads the file may take another.
func (d *jsonDoc) get(n *node, key string) (*node, error) {
	var found *node
	for _, it := range n.items {
		if it.key != key {
			continue
		}
		if found != nil {
			return nil, errorAt(d.text, it.start, "%q is there twice", key)
		}
		found = it.value
	}
	return found, nil
}

// getKind finds a member of an object, and looks that it is an object ('{') or
// a list ('[').
func (d *jsonDoc) getKind(n *node, key string, kind byte) (*node, error) {
	found, err := d.get(n, key)
	if err != nil || found == nil {
		return nil, err
	}
	if found.kind != kind {
		what := "an object, in braces"
		if kind == '[' {
			what = "a list, in brackets"
		}
		return nil, errorAt(d.text, found.start, "%q must be %s", key, what)
	}
	return found, nil
}

// decode is what a value says.
func (d *jsonDoc) decode(n *node) any {
	switch n.kind {
	case '"':
		s, _ := decodeString(d.text[n.start:n.end])
		return s
	case '[':
		list := make([]any, len(n.items))
		for i, it := range n.items {
			list[i] = d.decode(it.value)
		}
		return list
	case '{':
		m := map[string]any{}
		for _, it := range n.items {
			m[it.key] = d.decode(it.value)
		}
		return m
	}
	var v any
	json.Unmarshal(d.text[n.start:n.end], &v)
	return v
}

// add puts an item behind the last of an object, or, without a key, of a list.
func (d *jsonDoc) add(n *node, key string, v any) error {
	base := d.indent(n.start)
	indent, lines := base+d.unit, len(d.root.items) == 0 || d.ownLine(d.root.items[len(d.root.items)-1].start)
	var splices []splice
	sep := ""
	if len(n.items) > 0 {
		last := n.items[len(n.items)-1]
		indent, lines = d.indent(last.start), d.ownLine(last.start)
		sep = d.comma
		if !n.trailing() {
			splices = append(splices, splice{last.value.end, last.value.end, ","})
		}
		sep = sep[1:]
	}
	if lines || n.comment {
		sep = d.eol + indent
	}
	text := sep
	if n.kind == '{' {
		text += quoteJSON(key) + d.colon
	}
	text += d.render(v, indent, lines)
	if n.trailing() {
		text += ","
	}
	if lines && len(n.items) == 0 && bytes.IndexByte(d.text[n.filled:n.end], '\n') < 0 {
		text += d.eol + base
	}
	return d.splice(append(splices, splice{n.filled, n.filled, text})...)
}

// set puts a value in place of another, written in as many lines as that.
func (d *jsonDoc) set(n *node, v any) error {
	lines := bytes.IndexByte(d.text[n.start:n.end], '\n') >= 0
	return d.splice(splice{n.start, n.end, d.render(v, d.indent(n.start), lines)})
}

// remove takes an item out of an object or a list, with the line it is alone in.
// Comments beside it stay.
func (d *jsonDoc) remove(n *node, i int) error {
	it := n.items[i]
	if len(n.items) == 1 && !n.comments {
		return d.splice(splice{n.start + 1, n.end - 1, ""})
	}
	start, end := it.before, it.end()
	if it.lineComment && !endsLine(d.text[end:]) {
		start = it.start // or what follows would become a part of that comment
	}
	if i == len(n.items)-1 && it.comma < 0 && i > 0 {
		comma := n.items[i-1].comma // which would be behind the last now
		return d.splice(splice{comma, comma + 1, ""}, splice{start, end, ""})
	}
	return d.splice(splice{start, end, ""})
}

// endsLine says whether nothing follows in the line.
func endsLine(text []byte) bool { return bytes.HasPrefix(bytes.TrimLeft(text, " \t\r"), []byte("\n")) }

// render writes a value, in one line or in many, as JSON.stringify does.
func (d *jsonDoc) render(v any, indent string, lines bool) string {
	var parts []string
	brackets := "[]"
	inner := indent + d.unit
	switch v := v.(type) {
	case object:
		brackets = "{}"
		for _, m := range v {
			parts = append(parts, quoteJSON(m.key)+d.colon+d.render(m.value, inner, lines))
		}
	case []any:
		for _, e := range v {
			parts = append(parts, d.render(e, inner, lines))
		}
	default:
		return quoteJSON(v)
	}
	if !lines || len(parts) == 0 {
		return brackets[:1] + strings.Join(parts, d.comma) + brackets[1:]
	}
	sep := d.eol + inner
	return brackets[:1] + sep + strings.Join(parts, ","+sep) + d.eol + indent + brackets[1:]
}

// quoteJSON writes a string or a number as JSON does, and < and & as they are.
func quoteJSON(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err) // only strings and numbers come here
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// removeKey takes a member out of an object.
func (d *jsonDoc) removeKey(n *node, key string) error {
	for i, it := range n.items {
		if it.key == key {
			return d.remove(n, i)
		}
	}
	return nil
}

// only says whether there is nothing but one item in an object or a list.
func (n *node) only() bool { return len(n.items) == 1 && !n.comments }
