package agents

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
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

// A jsonDoc is a settings file in JSON with comments. Each edit changes the text and parses
// it again.
type jsonDoc struct {
	data      []byte // the file as read
	bom, text string // the file after the edits
	root      hujson.Value

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
		return d, d.parseText("{}\n")
	}
	return d, d.parseText(text)
}

func (d *jsonDoc) fileContent(err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	if d.text == "{}\n" && strings.TrimSpace(string(d.data)) == d.bom {
		return d.data, nil
	}
	return []byte(d.bom + d.text), nil
}

// edit replaces a part of the text.
func (d *jsonDoc) edit(start, end int, text ...string) error {
	return d.parseText(d.text[:start] + strings.Join(text, "") + d.text[end:])
}

// parseText replaces the text, and finds its style.
func (d *jsonDoc) parseText(text string) (err error) {
	if strings.Count(text, "{")+strings.Count(text, "[") > maxContainers {
		return errorAt("", 0, "the file contains more than %d objects and lists", maxContainers)
	}
	d.text = text
	if !strings.HasSuffix(text, "\n") {
		text += "\n" // a comment at the end requires a line end
	}
	d.root, err = hujson.Parse([]byte(text))
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
	for i, m := range itemsOf(&d.root) {
		indent, alone := d.indentAt(m.start)
		d.lines = alone
		if alone {
			base, _ := d.indentAt(d.root.StartOffset)
			d.unit = strings.TrimPrefix(indent, base)
		}
		d.tight = d.tight || i == 0 && len(m.value.BeforeExtra) == 0
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

// An item is an item of an object or a list.
type item struct {
	name       string // of a member
	value      *hujson.Value
	before     hujson.Extra // between the item before and start
	start, end int          // with the name, and with the comma after it
	comma      bool
}

// itemsOf returns the items of an object or a list.
func itemsOf(v *hujson.Value) (list []item) {
	switch c := v.Value.(type) {
	case *hujson.Object:
		for i := range c.Members {
			m := &c.Members[i]
			list = append(list, item{name: m.Name.Value.(hujson.Literal).String(), value: &m.Value,
				before: m.Name.BeforeExtra, start: m.Name.StartOffset})
		}
	case *hujson.Array:
		for i := range c.Elements {
			e := &c.Elements[i]
			list = append(list, item{value: e, before: e.BeforeExtra, start: e.StartOffset})
		}
	}
	for i := range list {
		m := &list[i]
		m.comma = i < len(list)-1 || m.value.AfterExtra != nil
		m.end = m.value.EndOffset
		if m.comma {
			m.end += len(m.value.AfterExtra) + 1
		}
	}
	return list
}

// findMember returns the value of a member of an object, or nil. A duplicate key is an
// error, because programs differ in the member that they read.
func (d *jsonDoc) findMember(v *hujson.Value, key string) (found *hujson.Value, err error) {
	for _, m := range itemsOf(v) {
		if m.name != key {
			continue
		}
		if found != nil {
			return nil, errorAt(d.text, m.start, "key %q is duplicated", key)
		}
		found = m.value
	}
	return found, nil
}

// find follows keys from the root, and returns the root and the values of the keys up to the
// first missing one. The values must be objects, and that of the last key an object ('{') or a
// list ('[').
func (d *jsonDoc) find(last hujson.Kind, keys ...string) (chain []*hujson.Value, err error) {
	chain = []*hujson.Value{&d.root}
	for i, key := range keys {
		v, err := d.findMember(chain[i], key)
		if err != nil || v == nil {
			return chain, err
		}
		kind, noun := hujson.Kind('{'), "an object, in braces"
		if i == len(keys)-1 && last == '[' {
			kind, noun = '[', "a list, in brackets"
		}
		if v.Value.Kind() != kind {
			return chain, errorAt(d.text, v.StartOffset, "%q must be %s", key, noun)
		}
		chain = append(chain, v)
	}
	return chain, nil
}

// put sets the value of the last key, which must be missing, or appends the value to the list
// of the last key. It adds the objects and the list that are missing.
func (d *jsonDoc) put(value any, last hujson.Kind, keys ...string) error {
	chain, err := d.find(last, keys...)
	if err != nil {
		return err
	}
	at, missing := chain[len(chain)-1], keys[len(chain)-1:]
	if len(missing) == 0 {
		return d.addItem(at, "", value)
	}
	if last == '[' {
		value = []any{value}
	}
	for len(missing) > 1 {
		value = map[string]any{missing[len(missing)-1]: value}
		missing = missing[:len(missing)-1]
	}
	return d.addItem(at, missing[0], value)
}

// decodeValue returns a value as encoding/json does.
func decodeValue(v *hujson.Value) (decoded any) {
	standard := v.Clone()
	standard.Standardize()
	json.Unmarshal(standard.Pack(), &decoded) // a number out of range is nil
	return decoded
}

// isOnlyItem reports whether an object or a list has one item and no comments.
func (d *jsonDoc) isOnlyItem(v *hujson.Value) bool {
	list := itemsOf(v)
	if len(list) != 1 {
		return false
	}
	after := hujson.Extra(d.text[list[0].end : v.EndOffset-1])
	return after.IsStandard() && list[0].before.IsStandard() && list[0].value.AfterExtra.IsStandard()
}

// setMember sets a member of the object below the keys if the member has another value. A
// replaced value stays in one line or in several. Without a value, setMember removes the member.
func (d *jsonDoc) setMember(keys []string, key string, value any) error {
	chain, err := d.find('{', keys...)
	if err != nil {
		return err
	}
	v := chain[len(keys)]
	old, err := d.findMember(v, key)
	switch {
	case err != nil || old == nil && value == nil || old != nil && reflect.DeepEqual(decodeValue(old), value):
		return err
	case value == nil:
		return d.removeItem(v, old)
	case old == nil:
		return d.addItem(v, key, value)
	}
	indent, _ := d.indentAt(old.StartOffset)
	lines := strings.Contains(d.text[old.StartOffset:old.EndOffset], "\n")
	return d.edit(old.StartOffset, old.EndOffset, d.render(value, indent, lines))
}

// addItem appends an item to an object or, without a key, to a list, after the
// last comment.
func (d *jsonDoc) addItem(v *hujson.Value, key string, value any) error {
	base, _ := d.indentAt(v.StartOffset)
	indent, lines, sep, start, end := base+d.unit, d.lines, "", v.StartOffset+1, v.EndOffset-1
	comma, trailing := "", ""
	list := itemsOf(v)
	if len(list) > 0 {
		last := list[len(list)-1]
		indent, lines = d.indentAt(last.start)
		start, comma = last.end, ","
		if last.comma {
			comma, trailing = "", ","
		}
		if !d.tight {
			sep = " "
		}
	}
	kept := strings.TrimRight(d.text[start:end], blank)
	rest := d.text[start+len(kept) : end]
	if len(list) == 0 && lines && !strings.Contains(rest, "\n") {
		rest = d.eol + base
	}
	if lines || !hujson.Extra(kept).IsValid() { // without its line end a line comment is invalid
		sep = d.eol + indent
	}
	text := d.render(value, indent, lines)
	if key != "" {
		colon := map[bool]string{true: ":", false: ": "}[d.tight]
		text = string(encodeJSON(key)) + colon + text
	}
	return d.edit(start, end, comma, kept, sep, text, trailing, rest)
}

// removeItem removes an item of an object or a list, with its line. Comments
// next to the item stay.
func (d *jsonDoc) removeItem(v, value *hujson.Value) error {
	if d.isOnlyItem(v) {
		return d.edit(v.StartOffset+1, v.EndOffset-1)
	}
	list := itemsOf(v)
	i := slices.IndexFunc(list, func(m item) bool { return m.value == value })
	m, next := list[i], v.EndOffset-1
	if i < len(list)-1 {
		next = list[i+1].start
	}
	kept := strings.TrimRight(string(m.before), blank)
	if !hujson.Extra(kept + d.text[m.end:next]).IsValid() {
		kept = string(m.before) // with the line end of its last comment
	}
	start := m.start - len(m.before)
	if !m.comma && i > 0 {
		start-- // the comma of the item before
	}
	return d.edit(start, m.end, kept)
}

// removeLast removes the last value of a chain from the root. While drops reports of its
// container, at a depth below the root, that it goes as well, the container is removed instead.
func (d *jsonDoc) removeLast(chain []*hujson.Value, drops func(depth int, container *hujson.Value) bool) error {
	at := len(chain) - 2 // the container
	for at > 0 && drops(at, chain[at]) {
		at--
	}
	return d.removeItem(chain[at], chain[at+1])
}

// render returns a value as JSON, in one line or in several.
func (d *jsonDoc) render(v any, indent string, lines bool) string {
	var b bytes.Buffer
	switch {
	case lines:
		json.Indent(&b, encodeJSON(v), indent, d.unit)
		return strings.ReplaceAll(b.String(), "\n", d.eol)
	case d.tight:
		return string(encodeJSON(v))
	}
	json.Indent(&b, encodeJSON(v), "", "")
	return strings.NewReplacer(",\n", ", ", "\n", "").Replace(b.String())
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
