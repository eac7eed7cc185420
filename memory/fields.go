package memory

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
)

// A fieldChange is a new value for a key of the frontmatter: a string, or a list
// of strings as []any.
type fieldChange struct {
	key   string
	value any
}

func (c fieldChange) alreadySet(f *Front) bool {
	field, ok := f.Field(c.key)
	return ok && reflect.DeepEqual(field.Value, c.value)
}

// isScalar reports whether the value is a single text, not a list or a map.
func (f *Field) isScalar() bool {
	_, ok := f.Value.(string)
	return ok
}

// fieldLineRE matches a key with its value on one line, which is the group.
var fieldLineRE = lazyregexp.New(`^(?:"(?:[^"\\]|\\.)*"|'[^']*'|[^"':#\s][^:\r\n]*)[ \t]*:[ \t]*` +
	`("(?:[^"\\\r\n]|\\.)*"|'(?:[^'\r\n]|'')*'|[^|>#\s"'][^\r\n]*?|)(?:[ \t]+#[^\r\n]*|[ \t]*)$`)

func (c fieldChange) checkValid() error {
	switch {
	case c.key == "" || strings.ContainsFunc(c.key,
		func(r rune) bool { return r != '_' && r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }):
		return fmt.Errorf("%q cannot be a key of the frontmatter", c.key)
	case !utf8.ValidString(fmt.Sprint(c.value)):
		return fmt.Errorf("the value of %s is not valid UTF-8", c.key)
	}
	return nil
}

// yamlLine returns a new line for the key. It quotes the values that the
// templates quote.
func (c fieldChange) yamlLine() string {
	text, isText := c.value.(string)
	if !isText {
		list, _ := c.value.([]any)
		texts := make([]string, len(list))
		for i, v := range list {
			texts[i] = yamlScalar(fmt.Sprint(v), 0)
		}
		return c.key + ": [" + strings.Join(texts, ", ") + "]"
	}
	quote := byte(0)
	switch c.key {
	case "summary", "tasks", "follow_ups":
		quote = '"'
	}
	return c.key + ": " + yamlScalar(text, quote)
}

// frontText returns a frontmatter with its fences and line endings.
func frontText(fields []fieldChange, end string) string {
	return "---" + end + fieldLines(fields, end) + "---" + end
}

func fieldLines(fields []fieldChange, end string) (text string) {
	for _, c := range fields {
		text += c.yamlLine() + end
	}
	return text
}

// yamlScalar encodes a text as YAML on one line: unquoted if that is safe, else
// in its previous quotes.
func yamlScalar(s string, quote byte) string {
	if quote == 0 && plainScalar(s) {
		return s
	}
	if quote == '\'' && isPrintable(s) {
		return "'" + strings.ReplaceAll(s, "'", "''") + "'"
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		char := string(r)
		if !isPrintable(char) || r == '"' || r == '\\' {
			quoted := strconv.Quote(char) // YAML has the escapes of Go
			char = quoted[1 : len(quoted)-1]
		}
		b.WriteString(char)
	}
	b.WriteByte('"')
	return b.String()
}

// isPrintable reports whether a text can be written to one line of YAML without
// escapes.
func isPrintable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		return r < ' ' || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029 || r == 0xfeff || r == 0xfffe ||
			r == 0xffff || !unicode.IsPrint(r) && r != 0xa0 && !unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Zs, r)
	})
}

// plainScalar reports whether all YAML parsers read the unquoted text the same
// way, alone and in a list. Besides plain texts it accepts two values that are usually
// unquoted: times, and the words true and false.
func plainScalar(s string) bool {
	switch strings.ToLower(s) {
	case "true", "false":
		return s == strings.ToLower(s)
	case "yes", "no", "on", "off", "y", "n": // booleans in older YAML parsers
		return false
	}
	// YAML reads some texts differently in a list: <?php would begin a key.
	if !isPrintable(s) || strings.TrimSpace(s) != s || strings.ContainsAny(s, ",[]{}?") {
		return false
	}
	return isPlain("k: "+s+"\n", s) && isPlain("k: ["+s+"]\n", s)
}

// isPlain reports whether a document of one key has the unquoted text as its value, or
// as the only element of its value.
func isPlain(document, s string) bool {
	var doc yaml.Node
	if yaml.Unmarshal([]byte(document), &doc) != nil || len(doc.Content) != 1 || len(doc.Content[0].Content) != 2 {
		return false
	}
	v := doc.Content[0].Content[1]
	if v.Kind == yaml.SequenceNode && len(v.Content) == 1 {
		v = v.Content[0]
	}
	return v.Kind == yaml.ScalarNode && v.Style == 0 && v.Value == s && v.Anchor == "" &&
		v.LineComment == "" && (v.Tag == "!!str" || v.Tag == "!!timestamp")
}

// setFields returns the edits that set keys of the frontmatter. It adds a missing
// frontmatter at the top of the file, with the line endings of the file.
func (d *Document) setFields(fields []fieldChange) (edits []Edit, err error) {
	for _, c := range fields {
		if err := c.checkValid(); err != nil {
			return nil, err
		}
		if d.Front.Present {
			set, err := d.setField(c)
			if err != nil {
				return nil, err
			}
			edits = append(edits, set...)
		}
	}
	if d.Front.Present || len(fields) == 0 {
		return edits, nil
	}
	at, end := bomLen(d.Source), string(d.lineEnding(1))
	text := frontText(fields, end)
	if len(d.Source) > at && !d.blankLine(1) {
		text += end
	}
	return []Edit{{Span{at, at}, []byte(text)}}, nil
}

// setField returns the edits that set a key of the frontmatter to its new
// value.
func (d *Document) setField(c fieldChange) ([]Edit, error) {
	front := &d.Front
	field, ok := front.Field(c.key)
	value, isText := c.value.(string)
	switch {
	case ok && c.alreadySet(front):
		return nil, nil
	case ok && isText && !field.isScalar():
		return nil, fmt.Errorf("line %d: %s is a list or a map; edit the value by hand", field.Line, c.key)
	case ok && field.Span.End == 0, !ok && len(front.Fields) > 0 && front.Fields[len(front.Fields)-1].Span.End == 0:
		return nil, fmt.Errorf("keys of the frontmatter share lines or are indented; write each key on a line of " +
			"its own")
	case !ok:
		end := d.lines.start(d.lines.at(front.Span.End - 1)) // of the closing fence
		return []Edit{{Span{end, end}, []byte(c.yamlLine() + string(d.lineEnding(d.lines.at(end)-1)))}}, nil
	}
	line := trimEnding(d.Source[field.Span.Start:field.Span.End])
	edit := Edit{Span{field.Span.Start, field.Span.Start + len(line)}, []byte(c.yamlLine())}
	// keep the quotes, and a comment behind the value
	if m := fieldLineRE().FindSubmatchIndex(line); isText && m != nil {
		from, to := field.Span.Start+m[2], field.Span.Start+m[3]
		quote := byte(0)
		if to > from && (d.Source[from] == '"' || d.Source[from] == '\'') {
			quote = d.Source[from]
		}
		value = yamlScalar(value, quote)
		if d.Source[from-1] == ':' {
			value = " " + value
		}
		edit = Edit{Span{from, to}, []byte(value)}
	}
	return []Edit{edit}, nil
}
