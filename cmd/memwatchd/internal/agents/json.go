package agents

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// MaxSize is the largest size of a settings file, in bytes. An agent that keeps
// its history there has a file of some megabytes.
const MaxSize = 16 << 20

// maxContainers bounds the objects and lists of a file. The parser recurses for
// each level, at up to 1 KiB of stack, and Go ends a program at 1 GB of stack.
const maxContainers = 250_000

// An Error is a defect of a settings file. Line and Column (of bytes) count
// from 1.
type Error struct {
	Line, Column int
	Text         string
}

func (e *Error) Error() string { return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Text) }

func errorAt(text string, offset int, format string, args ...any) *Error {
	before := text[:offset]
	return &Error{
		Line:   1 + strings.Count(before, "\n"),
		Column: len(before) - strings.LastIndexByte(before, '\n'),
		Text:   fmt.Sprintf(format, args...),
	}
}

const bom, blank = "\ufeff", " \t\r\n"

// splitBOM checks the size of a settings file and cuts off its byte order mark.
func splitBOM(data []byte) (mark, text string, err error) {
	if len(data) > MaxSize {
		return "", "", errorAt("", 0, "the file is larger than %d MiB", MaxSize>>20)
	}
	text = strings.TrimPrefix(string(data), bom)
	return string(data[:len(data)-len(text)]), text, nil
}

// eolOf returns the line end of a text.
func eolOf(text string) string {
	if i := strings.IndexByte(text, '\n'); i > 0 && text[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// A jsonDoc is a settings file in JSON with comments. Each edit changes the
// syntax tree, packs it and parses it again.
type jsonDoc struct {
	data      []byte // the file as read
	bom, text string // the file after the edits
	end       string // line end added to text: the parser requires one after a comment
	root      hujson.Value
	edited    bool

	eol, unit    string // line end and indentation
	lines, tight bool   // whether items have their own lines, and no space after colons
}

// readJSON parses a settings file. An empty file counts as an empty object.
func readJSON(data []byte) (*jsonDoc, error) {
	mark, text, err := splitBOM(data)
	if err != nil {
		return nil, err
	}
	d := &jsonDoc{data: data, bom: mark}
	if strings.TrimSpace(text) == "" {
		text = "{}\n"
	}
	if !strings.HasSuffix(text, "\n") {
		d.end = "\n"
	}
	return d, d.parseText([]byte(text + d.end))
}

func (d *jsonDoc) fileContent(err error) ([]byte, error) {
	switch {
	case err != nil:
		return nil, err
	case !d.edited:
		return d.data, nil
	}
	return []byte(d.bom + strings.TrimSuffix(d.text, d.end)), nil
}

// applyEdit parses the text of the changed syntax tree.
func (d *jsonDoc) applyEdit() error {
	d.edited = true
	return d.parseText(d.root.Pack())
}

// parseText replaces the text, and finds its style.
func (d *jsonDoc) parseText(text []byte) (err error) {
	if bytes.Count(text, []byte("{"))+bytes.Count(text, []byte("[")) > maxContainers {
		return errorAt("", 0, "the file contains more than %d objects and lists", maxContainers)
	}
	d.text = string(text)
	d.root, err = hujson.Parse(text)
	if err != nil {
		e := &Error{Text: errors.Unwrap(err).Error()}
		fmt.Sscanf(err.Error(), "hujson: line %d, column %d:", &e.Line, &e.Column)
		if strings.HasPrefix(e.Text, "invalid literal") {
			e.Text = "invalid literal" // without the literal, which may be long or secret
		}
		return e
	}
	if d.root.Value.Kind() != '{' {
		return errorAt(d.text, d.root.StartOffset, "settings must be an object, in braces")
	}
	d.eol, d.unit, d.lines, d.tight = eolOf(d.text), "  ", true, false
	members, _ := listItems(&d.root)
	for i, m := range members {
		indent, alone := d.indentAt(m.Name.StartOffset)
		d.lines = alone
		if alone {
			base, _ := d.indentAt(d.root.StartOffset)
			d.unit = strings.TrimPrefix(indent, base)
		}
		d.tight = d.tight || i == 0 && len(m.Value.BeforeExtra) == 0
	}
	return nil
}

// indentAt returns the indentation of the line of an offset, and reports whether
// only that is before the offset in a line other than the first.
func (d *jsonDoc) indentAt(offset int) (indent string, alone bool) {
	start := strings.LastIndexByte(d.text[:offset], '\n') + 1
	line := d.text[start:offset]
	rest := strings.TrimLeft(line, " \t")
	return line[:len(line)-len(rest)], start > 0 && rest == ""
}

// A step is the position of an item in an object or a list, or of none.
type step struct {
	in *hujson.Value
	at int // -1: there is none
}

// value returns the item, or nil.
func (s step) value() *hujson.Value {
	if s.at < 0 {
		return nil
	}
	if list, ok := s.in.Value.(*hujson.Array); ok {
		return &list.Elements[s.at]
	}
	return &s.in.Value.(*hujson.Object).Members[s.at].Value
}

// findMember returns the position of a member of an object. A duplicate key is an
// error, because programs differ in the member that they read.
func (d *jsonDoc) findMember(v *hujson.Value, key string) (step, error) {
	found := step{v, -1}
	for i, m := range v.Value.(*hujson.Object).Members {
		if m.Name.Value.(hujson.Literal).String() != key {
			continue
		}
		if found.at >= 0 {
			return found, errorAt(d.text, m.Name.StartOffset, "key %q is duplicated", key)
		}
		found.at = i
	}
	return found, nil
}

// findKind finds a member of an object and checks that it is an object ('{') or a list
// ('[').
func (d *jsonDoc) findKind(v *hujson.Value, key string, kind hujson.Kind) (step, error) {
	found, err := d.findMember(v, key)
	if err != nil || found.at < 0 || found.value().Value.Kind() == kind {
		return found, err
	}
	noun := "an object, in braces"
	if kind == '[' {
		noun = "a list, in brackets"
	}
	return found, errorAt(d.text, found.value().StartOffset, "%q must be %s", key, noun)
}

// decodeValue returns a value as encoding/json does.
func decodeValue(v *hujson.Value) (decoded any) {
	standard := v.Clone()
	standard.Standardize()
	json.Unmarshal(standard.Pack(), &decoded) // a number out of range is nil
	return decoded
}

// listItems returns the items of an object or a list, and the extra after them.
// In an item of a list the name has only an offset and the extra before it.
func listItems(v *hujson.Value) (list []hujson.ObjectMember, after hujson.Extra) {
	switch c := v.Value.(type) {
	case *hujson.Object:
		return slices.Clone(c.Members), c.AfterExtra
	case *hujson.Array:
		for _, e := range c.Elements {
			name := hujson.Value{BeforeExtra: e.BeforeExtra, StartOffset: e.StartOffset}
			list = append(list, hujson.ObjectMember{Name: name, Value: e})
		}
		return list, c.AfterExtra
	}
	return nil, nil
}

func (d *jsonDoc) setItems(v *hujson.Value, list []hujson.ObjectMember, after hujson.Extra) error {
	switch c := v.Value.(type) {
	case *hujson.Object:
		c.Members, c.AfterExtra = list, after
	case *hujson.Array:
		c.Elements, c.AfterExtra = nil, after
		for _, m := range list {
			m.Value.BeforeExtra = m.Name.BeforeExtra
			c.Elements = append(c.Elements, m.Value)
		}
	}
	return d.applyEdit()
}

// isOnlyItem reports whether an object or a list has one item and no comments.
func isOnlyItem(v *hujson.Value) bool {
	list, after := listItems(v)
	return len(list) == 1 && after.IsStandard() &&
		list[0].Name.BeforeExtra.IsStandard() && list[0].Value.AfterExtra.IsStandard()
}

// setMember replaces the member of an object, or adds it. A replaced value
// stays in one line or in several.
func (d *jsonDoc) setMember(v *hujson.Value, key string, value any) error {
	member, err := d.findMember(v, key)
	if err != nil {
		return err
	}
	found := member.value()
	if found == nil {
		return d.addItem(v, key, value)
	}
	indent, _ := d.indentAt(found.StartOffset)
	lines := strings.Contains(d.text[found.StartOffset:found.EndOffset], "\n")
	found.Value = d.render(value, indent, lines)
	return d.applyEdit()
}

// addItem appends an item to an object or, without a key, to a list, after the
// last comment.
func (d *jsonDoc) addItem(v *hujson.Value, key string, value any) error {
	list, after := listItems(v)
	trimmed := bytes.TrimRight(after, blank)
	rest := string(after[len(trimmed):])
	base, _ := d.indentAt(v.StartOffset)
	indent, lines, sep := base+d.unit, d.lines, ""
	var m hujson.ObjectMember
	if len(list) > 0 {
		last := list[len(list)-1]
		indent, lines = d.indentAt(last.Name.StartOffset)
		m.Value.AfterExtra = last.Value.AfterExtra[:0] // nil unless a comma follows the last item
		if !d.tight {
			sep = " "
		}
	} else if lines && !strings.Contains(rest, "\n") {
		rest = d.eol + base + rest
	}
	if lines || !hujson.Extra(trimmed).IsValid() { // without its line end a line comment is invalid
		sep = d.eol + indent
	}
	m.Name.BeforeExtra = slices.Concat(trimmed, []byte(sep))
	m.Value.Value = d.render(value, indent, lines)
	if key != "" {
		m.Name.Value = hujson.Literal(encodeJSON(key))
		if !d.tight {
			m.Value.BeforeExtra = hujson.Extra(" ")
		}
	}
	return d.setItems(v, append(list, m), hujson.Extra(rest))
}

// removeItem removes an item of an object or a list, with its line. Comments
// next to the item stay.
func (d *jsonDoc) removeItem(v *hujson.Value, i int) error {
	if isOnlyItem(v) {
		return d.setItems(v, nil, nil)
	}
	list, after := listItems(v)
	removed, next := list[i], &after
	if i < len(list)-1 {
		next = &list[i+1].Name.BeforeExtra
	}
	rest := hujson.Extra(bytes.TrimRight(removed.Name.BeforeExtra, blank))
	if !slices.Concat(rest, *next).IsValid() {
		rest = removed.Name.BeforeExtra // with the line end of its last comment
	}
	*next = slices.Concat(rest, *next)
	if i > 0 && i == len(list)-1 {
		last := &list[i-1].Value
		if removed.Value.AfterExtra != nil { // a comma follows it
			last.AfterExtra = append(hujson.Extra{}, last.AfterExtra...)
		} else {
			after, last.AfterExtra = slices.Concat(last.AfterExtra, after), nil
		}
	}
	return d.setItems(v, slices.Delete(list, i, i+1), after)
}

// removeChain removes the item of the last step of a chain from the root. While drops
// reports of a step that its container goes as well, the container is removed instead.
func (d *jsonDoc) removeChain(chain []step, drops func(depth int, container *hujson.Value) bool) error {
	i := len(chain) - 1
	for i > 0 && drops(i, chain[i].in) {
		i--
	}
	return d.removeItem(chain[i].in, chain[i].at)
}

// render returns a value as JSON, in one line or in several.
func (d *jsonDoc) render(v any, indent string, lines bool) hujson.Literal {
	var b bytes.Buffer
	switch {
	case lines:
		json.Indent(&b, encodeJSON(v), indent, d.unit)
		return hujson.Literal(strings.ReplaceAll(b.String(), "\n", d.eol))
	case d.tight:
		return hujson.Literal(encodeJSON(v))
	}
	json.Indent(&b, encodeJSON(v), "", "")
	return hujson.Literal(strings.NewReplacer(",\n", ", ", "\n", "").Replace(b.String()))
}

// encodeJSON returns a value as JSON, with < and & as they are.
func encodeJSON(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err) // only strings, numbers, lists and objects of these come here
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
