package memory

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
	"github.com/memwatchd/memwatchd/internal/letters"
)

const (
	maxFront  = 64 << 10 // maximum size in bytes
	maxNested = 64       // maximum nesting of lists and maps
)

// Front is the frontmatter of a file. Missing values are zero times and empty
// texts.
type Front struct {
	Present bool // there is frontmatter, valid or not
	Broken  bool // it cannot be parsed; only Present and Span are set
	Span    Span // from the opening line to the end of the closing line; empty if it is not closed

	Updated         time.Time
	Summary         string
	SessionID       string
	Source          string
	By              string   // key written_by: subject that wrote the summary, if that is not the subject of the file
	Tags            []string // as written, without '#'
	SubjectID       string
	ContactID       string
	ContactNickname string
	HasVisibility   bool // Visibility is set in the file
	Visibility      Visibility

	Fields []Field // every key, in order
}

// A Field is one key of a frontmatter.
type Field struct {
	Key   string
	Value any  // string, []any or map[string]any of the same; scalars as written, null as ""
	Line  int  // 1-based
	Span  Span // the lines of the key and its value; empty if they share a line with others
}

// Field returns the field with the given key and reports whether it exists.
func (f *Front) Field(key string) (Field, bool) {
	for _, field := range f.Fields {
		if field.Key == key {
			return field, true
		}
	}
	return Field{}, false
}

// fenceRE matches the first line of frontmatter, and fenceEndRE its last one.
var fenceRE, fenceEndRE = lazyregexp.New(`^---[ \t\r]*(?:\n|$)`), lazyregexp.New(`(?m)^(?:---|\.\.\.)[ \t\r]*(?:\n|\z)`)

// cutFront finds the frontmatter: front includes its fences, inner does not,
// and body is the offset of the text below it. Open is true if there is an
// opening fence. If the frontmatter is not closed, front is empty.
func cutFront(text []byte) (front, inner Span, body int, open bool) {
	at := bomLen(text)
	from := at + len(fenceRE().Find(text[at:]))
	if from == at {
		return Span{}, Span{}, at, false
	}
	if end := fenceEndRE().FindIndex(text[from:]); end != nil {
		return Span{at, from + end[1]}, Span{from, from + end[0]}, from + end[1], true
	}
	return Span{}, Span{}, from, true
}

// readFront parses a file's frontmatter and finds the body. It masks values one by one and
// leaves keys and the ids that determine the file's subject unmasked.
func (p *docParser) readFront(src []byte) {
	f, text := &p.d.Front, p.text
	if p.l.Mask != nil {
		text = unixText(src)
	}
	front, inner, body, open := cutFront(text)
	f.Present, f.Span, p.body = open, front, body
	if !open {
		if s, ok := findMisplaced(text[body:]); ok {
			f.Present, f.Broken = true, true
			p.addDefect("frontmatter_misplaced", p.ln.at(body+s), "frontmatter is not at the top of the file; remove the "+
				"space above it. Until then, the file is private and never changed")
		}
		return
	}
	if front.End == 0 {
		f.Broken = true
		p.addDefect("frontmatter_unclosed", 1,
			"frontmatter has no closing --- line; add this line. Until then, the file is private and never changed")
		return
	}
	if err := p.parseFields(src, text, inner); err != nil {
		f.Broken = true
		p.addDefect("frontmatter_broken", errorLine(err),
			err.Error()+". Until the frontmatter is fixed, the file is private and never changed")
	}
	if p.l.Mask != nil {
		f.maskValues(func(s string) string { return string(p.l.Mask([]byte(s))) })
	}
}

// findMisplaced finds a frontmatter below blank lines, which may be unclosed. Because "---" is
// also a horizontal rule, the text counts as frontmatter only if it has a known key.
func findMisplaced(body []byte) (at int, ok bool) {
	rest := bytes.TrimLeft(body, " \t\n")
	_, inner, from, open := cutFront(rest)
	keys := rest[inner.Start:inner.End]
	if len(keys) == 0 {
		keys, _, _ = bytes.Cut(rest[from:], []byte("\n\n"))
	}
	return len(body) - len(rest), open && knownKeyRE().Match(keys)
}

var knownKeyRE = lazyregexp.New(
	`(?m)^(?:visibility|subject_id|session_id|created_at|updated_at|summary|contact_id)[ \t]*:`)

type lineError struct {
	line int
	msg  string
}

func (e *lineError) Error() string { return e.msg }

func errorLine(err error) int {
	if at, ok := errors.AsType[*lineError](err); ok {
		return at.line
	}
	return 1
}

// yamlMapping parses text as one YAML mapping with distinct plain keys and
// without anchors and aliases. First is the number of the text's first line,
// for errors.
func yamlMapping(text []byte, limit, first int) (*yaml.Node, error) {
	if len(text) > limit {
		return nil, &lineError{first, fmt.Sprintf("longer than %d KiB", limit>>10)}
	}
	if bytes.ContainsAny(text, "\u0085\u2028\u2029") {
		return nil, &lineError{first, "a line break of YAML other than LF and CRLF (U+0085, U+2028 or U+2029); remove it"}
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		var line int
		msg := strings.TrimPrefix(err.Error(), "yaml: ")
		if _, scanErr := fmt.Sscanf(msg, "line %d:", &line); scanErr == nil {
			_, msg, _ = strings.Cut(msg, ": ")
			line--
		}
		return nil, &lineError{first + line, msg}
	}
	root := append(doc.Content, &yaml.Node{Tag: "!!null"})[0]
	if root.Tag == "!!null" {
		return &yaml.Node{Kind: yaml.MappingNode}, nil
	}
	if root.Kind != yaml.MappingNode {
		return nil, &lineError{first, "not a mapping of key: value lines"}
	}
	if err := plainYAML(root, first, 0); err != nil {
		return nil, err
	}
	return root, nil
}

// plainYAML rejects constructs that make the meaning of a text depend on
// another one (anchors, aliases, merges, keys that are not plain or are
// repeated), and unlimited nesting.
func plainYAML(n *yaml.Node, first, depth int) error {
	at := first + n.Line - 1
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		return &lineError{at, "YAML anchors and aliases are not supported"}
	case depth > maxNested:
		return &lineError{at, "nested too deeply"}
	}
	if n.Kind == yaml.MappingNode {
		seen := make(map[string]bool, len(n.Content)/2)
		for i := 0; i < len(n.Content); i += 2 {
			k := n.Content[i]
			if k.Kind != yaml.ScalarNode {
				return &lineError{first + k.Line - 1, "a key is not plain text"}
			}
			if seen[k.Value] {
				return &lineError{first + k.Line - 1, fmt.Sprintf("duplicate key %q", k.Value)}
			}
			seen[k.Value] = true
		}
	}
	for _, c := range n.Content {
		if err := plainYAML(c, first, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// parseFields reads the fields. Fields of a flow mapping, or indented ones, have no span, so
// they cannot be edited.
func (p *docParser) parseFields(src, text []byte, inner Span) error {
	const first = 2 // the line after the opening fence
	root, err := yamlMapping(src[inner.Start:inner.End], maxFront, first)
	if err != nil {
		return err
	}
	ln := splitLines(text[inner.Start:inner.End])
	lineAt := func(line int) int { return inner.Start + ln.start(line) }
	for i := 0; i < len(root.Content); i += 2 {
		k, v := root.Content[i], root.Content[i+1]
		field := Field{Key: k.Value, Value: plainValue(v), Line: first + k.Line - 1}
		next := ln.count() + 1
		if i+2 < len(root.Content) {
			next = root.Content[i+2].Line
		}
		if root.Style&yaml.FlowStyle == 0 && k.Column == 1 {
			field.Span = Span{lineAt(k.Line), trimComments(text, lineAt(k.Line), lineAt(next))}
		}
		p.d.Front.Fields = append(p.d.Front.Fields, field)
	}
	p.setFrontValues()
	return nil
}

// trimComments excludes the blank lines and comments between a value and the
// next key, because they belong to neither.
func trimComments(text []byte, from, to int) (end int) {
	for at := from; at < to; {
		n := lineLen(text[at:to])
		if line := bytes.TrimLeft(text[at:at+n], " "); at == from || !isBlankText(line) && line[0] != '#' {
			end = at + n
		}
		at += n
	}
	return end
}

// plainValue converts a YAML node to strings, slices and maps. Scalars stay as written.
func plainValue(n *yaml.Node) any {
	switch n.Kind {
	case yaml.SequenceNode:
		out := make([]any, len(n.Content))
		for i, c := range n.Content {
			out[i] = plainValue(c)
		}
		return out
	case yaml.MappingNode:
		out := make(map[string]any, len(n.Content)/2)
		for i := 0; i < len(n.Content); i += 2 {
			out[n.Content[i].Value] = plainValue(n.Content[i+1])
		}
		return out
	}
	if n.Tag == "!!null" {
		return ""
	}
	return n.Value
}

// Names returns the title, the names and the description of a file.
func (f *Front) Names() []string {
	names := f.Aliases()
	for _, key := range [...]string{"title", "name", "description"} {
		if text := f.text(key); text != "" {
			names = append(names, text)
		}
	}
	return names
}

// setFrontValues sets the typed values of the known keys.
func (p *docParser) setFrontValues() {
	f := &p.d.Front
	p.frontTime("created_at") // only checked
	f.Updated = p.frontTime("updated_at")
	f.Summary, f.Source, f.By = f.text("summary"), f.text("source"), f.text("written_by")
	if at := p.frontTime("summary_at"); !at.IsZero() && at.Before(f.Updated) && f.Summary != "" {
		p.frontProblem("summary_old", "summary_at",
			"items are newer than the summary; write a new summary and remove summary_at")
	}
	f.SessionID, f.SubjectID = f.text("session_id"), f.text("subject_id")
	f.ContactID, f.ContactNickname = f.text("contact_id"), f.text("contact_nickname")
	tags, _ := f.Field("tags")
	for _, tag := range textList(tags.Value) {
		tag = strings.TrimSpace(strings.TrimPrefix(tag, "#"))
		if FoldTag(tag) != "" && !slices.Contains(f.Tags, tag) {
			f.Tags = append(f.Tags, tag)
		}
	}
	var field Field
	field, f.HasVisibility = f.Field("visibility")
	if f.HasVisibility {
		text := f.text("visibility")
		f.Visibility = ParseVisibility(text)
		if !field.isScalar() || text != f.Visibility.String() {
			p.frontProblem("visibility_unknown", "visibility", unknownVisibility)
			f.Visibility = PrivateOnly
		}
	}
	for _, field := range f.Fields {
		value, _ := field.Value.(string)
		if field.Key != "visibility" && meansPrivate(value) {
			p.frontProblem("visibility_unknown", field.Key,
				"unknown key with the value private_only, treated as visibility; use visibility: private_only")
			f.HasVisibility, f.Visibility = true, PrivateOnly
		}
	}
}

// text returns the text of a key, of a list its first text.
func (f *Front) text(key string) string {
	field, _ := f.Field(key)
	value := field.Value
	if list, ok := value.([]any); ok && len(list) > 0 {
		value = list[0]
	}
	text, _ := value.(string)
	return strings.TrimSpace(text)
}

// maskValues masks secrets in the values. It keeps the ids: different ids must not
// become equal.
func (f *Front) maskValues(hide func(string) string) {
	for _, s := range []*string{&f.Summary, &f.Source, &f.ContactNickname} {
		*s = hide(*s)
	}
	for i := range f.Tags {
		f.Tags[i] = hide(f.Tags[i])
	}
	for i := range f.Fields {
		f.Fields[i].Value = maskValue(f.Fields[i].Key, f.Fields[i].Value, hide)
	}
}

// maskValue masks secrets in the value of a key, which may name the secret.
func maskValue(key string, v any, hide func(string) string) any {
	switch v := v.(type) {
	case string:
		return hide(key + ": " + v)[len(key)+2:]
	case []any:
		for i := range v {
			v[i] = maskValue(key, v[i], hide)
		}
	case map[string]any:
		for key := range v {
			v[key] = maskValue(key, v[key], hide)
		}
	}
	return v
}

func (p *docParser) frontTime(key string) time.Time {
	text := p.d.Front.text(key)
	t, ok := ParseTime(text, p.l.location())
	if !ok && text != "" {
		p.frontProblem("time_unreadable", key, key+" is not a time such as 2026-02-04T12:34:56Z")
	}
	return t
}

// textList returns the texts of a value that is a list, or a string with commas.
func textList(value any) (list []string) {
	add := func(s string) {
		s = strings.TrimSpace(s)
		if s != "" && !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	switch v := value.(type) {
	case string:
		for s := range strings.SplitSeq(v, ",") {
			add(s)
		}
	case []any:
		for _, e := range v {
			if s, ok := e.(string); ok {
				add(s)
			}
		}
	}
	return list
}

// HasAlias reports whether the name of a link is an alias of a file.
func (f *Front) HasAlias(name string) bool {
	return name != "" && slices.ContainsFunc(f.Aliases(), func(alias string) bool { return letters.FoldCase(alias) == name })
}

// Aliases returns the other names of a file that links can use.
func (f *Front) Aliases() (names []string) {
	for _, key := range [...]string{"aliases", "alias"} {
		field, _ := f.Field(key)
		names = append(names, textList(field.Value)...)
	}
	return names
}

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
			texts[i] = yamlScalar(fmt.Sprint(v), false)
		}
		return c.key + ": [" + strings.Join(texts, ", ") + "]"
	}
	quoted := slices.Contains([]string{"summary", "tasks", "follow_ups"}, c.key)
	return c.key + ": " + yamlScalar(text, quoted)
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

// yamlScalar encodes a text as YAML on one line: in double quotes if quoted, or if a
// parser could read it in another way.
func yamlScalar(s string, quoted bool) string {
	if !quoted && plainRE().MatchString(s) && !booleanRE().MatchString(s) {
		return s
	}
	return strconv.QuoteToGraphic(s) // YAML has the escapes of Go
}

// plainRE matches a day, a time, a counter, and words that all YAML parsers read in the same way without
// quotes, alone and in a list. booleanRE matches words that are booleans or null for some.
var (
	plainRE = lazyregexp.New(`^(?:\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\dZ)?|\d+/\d+|` +
		`[\pL_](?:[\pL\pM\pN_./@+-]|:[\pL\pN_@])*(?: [\pL\pN_](?:[\pL\pM\pN_./@+-]|:[\pL\pN_@])*)*)$`)
	booleanRE = lazyregexp.New(`^(?:True|TRUE|False|FALSE|(?i:yes|no|on|off|y|n|null))$`)
)

// setFields returns the edits that set keys of the frontmatter. It adds a missing
// frontmatter at the top of the file, with the line endings of the file.
func (d *Document) setFields(fields []fieldChange) (edits []textEdit, err error) {
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
	return []textEdit{{Span{at, at}, []byte(text)}}, nil
}

// setField returns the edits that set a key of the frontmatter to its new
// value.
func (d *Document) setField(c fieldChange) ([]textEdit, error) {
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
		return []textEdit{{Span{end, end}, []byte(c.yamlLine() + string(d.lineEnding(d.lines.at(end)-1)))}}, nil
	}
	line := trimEnding(d.Source[field.Span.Start:field.Span.End])
	edit := textEdit{Span{field.Span.Start, field.Span.Start + len(line)}, []byte(c.yamlLine())}
	// keep a value in quotes, and a comment behind it
	if m := fieldLineRE().FindSubmatchIndex(line); isText && m != nil {
		from, to := field.Span.Start+m[2], field.Span.Start+m[3]
		value = yamlScalar(value, to > from && strings.IndexByte("\"'", d.Source[from]) >= 0)
		if d.Source[from-1] == ':' {
			value = " " + value
		}
		edit = textEdit{Span{from, to}, []byte(value)}
	}
	return []textEdit{edit}, nil
}
