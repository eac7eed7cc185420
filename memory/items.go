package memory

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A keyed item is a list item that begins with its key in bold. Its value is
// the text after the key, as written, or the content of the fenced block below
// it:
//
//	- **timezone**: Asia/Shanghai <!-- id=k3f9 -->
//	- **style**: <!-- id=m2c7 -->
//	  ```json
//	  {"lang": "zh"}
//	  ```
//
// The attribute encoding=json marks a value that is written as a JSON string,
// because Markdown would change it: it contains comments, tags or carriage
// returns.
//
// [Entry.Item] parses the output of [Document.ItemText] to exactly the same key
// and value. ItemText rejects values for which this is not possible.

// MaxKey bounds the length of an item's key, in bytes. A key is a short name.
const MaxKey = 256

// NewItems returns the initial content of a subject's file of items or
// summaries.
func NewItems(subject string) []byte {
	return []byte(frontText([]fieldChange{{"subject_id", subject}}, "\n"))
}

// Item returns the key and value of a keyed item. For an entry without a title,
// and for a summary, ok is false.
func (e *Entry) Item() (key, value string, ok bool) {
	if e.Block != Item || e.Title == "" || e.IsSummary() {
		return "", "", false
	}
	head, below, _ := strings.Cut(e.Text, "\n")
	title, rest := splitTitle(trimMarkers(head))
	if title == "" {
		return "", "", false
	}
	key = unescape([]byte(title))
	if _, s := splitAnchor(rest); strings.TrimSpace(s) == "" {
		if v, ok := fencedContent(below); ok {
			return key, e.decode(v), true
		}
	}
	lines := append([]string{rest}, dedent(strings.Split(below, "\n"))...)
	_, value = splitAnchor(strings.TrimSpace(strings.Join(lines, "\n")))
	return key, e.decode(value), true
}

// encodingJSON is the value of the attribute encoding for a JSON string.
const encodingJSON = "json"

// decode returns the value that a text of the item represents. A text that is
// not in the encoding of the item represents itself.
func (e *Entry) decode(text string) string {
	var value string
	if e.Attributes["encoding"] != encodingJSON || json.Unmarshal([]byte(text), &value) != nil {
		return text
	}
	return value
}

// CheckKey returns an error if a text cannot be the key of an item.
func CheckKey(key string) error {
	switch {
	case key == "":
		return errors.New("empty")
	case key != strings.TrimSpace(key):
		return errors.New("leading or trailing white space")
	case len(key) > MaxKey:
		return fmt.Errorf("longer than %d bytes", MaxKey)
	case strings.ContainsFunc(key,
		func(r rune) bool { return unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp) }):
		return errors.New("contains a line break or another control character")
	}
	return CheckText(key)
}

// ItemText returns a keyed item as a list item: on one line, or with the value
// in a fenced block if the value is JSON or does not fit on one line. A value
// that Markdown would change is written as a JSON string. The text
// is for replacing an entry of the document: it keeps the entry's box, if it is
// a task, and the attributes that are not given. For entry -1 the text is a new
// entry. If the value cannot be written, ItemText returns an error that matches
// [ErrText].
func (d *Document) ItemText(entry int, key, value string, attributes []Attribute) (string, error) {
	if err := CheckValue(value); err != nil {
		return "", fmt.Errorf("%w: %w", ErrText, err)
	}
	head, e := "- ", (*Entry)(nil)
	if entry >= 0 {
		e = &d.Entries[entry]
		text := strings.TrimLeft(e.Text, " \t")
		text = text[listMarkerLen(text):]
		head += text[:boxLen(text)]
	}
	head += "**" + escapeTitle(key) + "**:"
	text := ""
	write := func(encoding, written string, object bool) bool {
		comment := d.AttributeComment(e, append(slices.Clip(attributes), Attribute{Key: "encoding", Value: encoding})...)
		if comment != "" {
			comment = " " + comment
		}
		if !object && strings.IndexByte(written, '\n') < 0 {
			text = head
			if written != "" {
				text += " " + written
			}
			text += comment
			if isItem(text, key, value, comment) {
				return true
			}
		}
		text = head + comment + "\n" + fencedBlock(written, object)
		return isItem(text, key, value, comment)
	}
	if CheckText(value) == nil {
		var object bool
		if s := strings.TrimSpace(value); strings.HasPrefix(s, "{") || strings.HasPrefix(s, "[") {
			object = json.Valid([]byte(s))
		}
		if write("", value, object) {
			return text, nil
		}
	}
	encoded, err := json.Marshal(value) // escapes <, > and &
	if err != nil || !write(encodingJSON, string(encoded), false) {
		return "", fmt.Errorf("%w: key or value would be parsed differently", ErrText)
	}
	return text, nil
}

// fencedBlock returns a value as a fenced block below a list item. The fence is
// longer than any run of backticks in the value.
func fencedBlock(value string, object bool) string {
	mark := 3
	for run := range strings.FieldsFuncSeq(value, func(r rune) bool { return r != '`' }) {
		mark = max(mark, len(run)+1)
	}
	fence, info := strings.Repeat("`", mark), ""
	if object {
		info = "json"
	}
	var b strings.Builder
	b.WriteString("  " + fence + info + "\n")
	for line := range strings.SplitSeq(value, "\n") {
		if line != "" {
			b.WriteString("  " + line)
		}
		b.WriteByte('\n')
	}
	b.WriteString("  " + fence)
	return b.String()
}

// isItem reports whether a text parses as exactly one item with the given key,
// value and comment attributes.
func isItem(text, key, value, comment string) bool {
	d := (&Layout{}).Parse(longtermsDir+"/owner/fact.md", []byte(text), Meta{})
	if len(d.Entries) != 1 || len(d.Headings) > 0 || d.Unsound || d.privateLines.from > 0 ||
		d.privateLines.regions != nil {
		return false
	}
	e := &d.Entries[0]
	k, v, ok := e.Item()
	want := map[string]string{}
	if comment != "" {
		attrs, _ := parseComment(comment[len(" <!--") : len(comment)-len("-->")])
		for _, a := range attrs {
			want[a.Key] = a.Value
		}
	}
	return ok && k == key && v == value && e.Line == 1 && e.EndLine == strings.Count(text, "\n")+1 &&
		maps.Equal(want, e.Attributes)
}

// ItemInsertionPoint returns the entry below which a new item of the given visibility is
// inserted, or -1 for the top of the file: the last item of the list above the first section, or
// else the last entry there. A public item goes below a public one, if there is one, and
// never below a heading that it alone would make public.
func (d *Document) ItemInsertionPoint(v Visibility) int {
	last, item := -1, -1
	for i := range d.Entries {
		e := &d.Entries[i]
		titled := e.Heading == 0 && d.Headings[0].Level == 1
		if e.Heading >= 0 && !titled || e.Block == EmptyHeading {
			break
		}
		counts := v != PublicOK || e.Partition.Visibility == PublicOK
		if counts || !titled {
			last = i
		}
		if counts && e.Block == Item && (item < 0 || d.Entries[item].Heading == e.Heading) {
			item = i
		}
	}
	if item >= 0 {
		return item
	}
	return last
}

// escapeTitle escapes a text with backslashes, so that it stays unchanged
// between the bold markers of a title.
func escapeTitle(s string) string {
	var b strings.Builder
	word := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	before := ' '
	for i, r := range s {
		after, _ := utf8.DecodeRuneInString(s[i+utf8.RuneLen(r):])
		switch r {
		case '\\', '*', '`', '<', '[', ']':
			b.WriteByte('\\')
		case '_':
			if !word(before) || !word(after) {
				b.WriteByte('\\')
			}
		case '#':
			if !word(before) {
				b.WriteByte('\\')
			}
		}
		b.WriteRune(r)
		before = r
	}
	return b.String()
}

// fencedContent returns the content of a text that is one fenced block, indented or
// not.
func fencedContent(s string) (string, bool) {
	lines := dedent(strings.Split(strings.Trim(s, "\n"), "\n"))
	if len(lines) < 2 {
		return "", false
	}
	mark := FenceOf(lines[0])
	last := strings.TrimRight(lines[len(lines)-1], " \t")
	if mark == "" || len(last) < len(mark) || strings.Trim(last, mark[:1]) != "" {
		return "", false
	}
	return strings.Join(lines[1:len(lines)-1], "\n"), true
}

// FenceOf returns the fence with which a line begins, or "".
func FenceOf(line string) string {
	if n := max(runLen(line, '`'), runLen(line, '~')); n > 2 {
		return line[:n]
	}
	return ""
}
