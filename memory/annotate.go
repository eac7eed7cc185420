package memory

import (
	"bytes"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// setAttributes adds the edits that set the attributes of an entry. It changes
// the entry's comment, adds a new one, or removes an empty one.
func (w *passAttempt) setAttributes(e *Entry, attrs []Attribute) {
	if len(attrs) == 0 {
		return
	}
	d := w.d
	if e.Comment.End == 0 {
		switch comment := newComment(attrs); {
		case comment == "":
		case e.lead > 0:
			w.editList = append(w.editList, Edit{Span{e.lead, e.lead}, []byte(" " + comment)})
		default:
			w.editList = append(w.editList, d.commentBelow(e, comment))
		}
		return
	}
	old := d.Source[e.Comment.Start:e.Comment.End]
	switch comment := editComment(old, attrs); {
	case bytes.Equal(comment, old):
	case len(comment) > 0:
		w.editList = append(w.editList, Edit{e.Comment, comment})
	default:
		w.editList = append(w.editList, Edit{d.commentSpan(e.Comment), nil})
	}
}

// commentBelow returns the edit that puts a comment on a line of its own below
// an entry. It is for entries whose first block has no text that a comment
// could follow.
func (d *Document) commentBelow(e *Entry, comment string) Edit {
	indent := ""
	if e.Block == Item {
		line := d.line(e.Line)
		text := strings.TrimLeft(line, " ")
		indent = strings.Repeat(" ", len(line)-len(text)+min(listMarkerLen(text), 4))
	}
	end := string(d.lineEnding(e.EndLine))
	at := e.Span.End
	if last := d.lines.span(e.EndLine,
		e.EndLine); len(trimEnding(d.Source[last.Start:last.End])) == last.End-last.Start {
		return Edit{Span{at, at}, []byte(end + indent + comment)}
	}
	return Edit{Span{at, at}, []byte(indent + comment + end)}
}

// commentSpan returns the span of a comment with the white space in front of
// it, or the whole line if the line contains nothing else.
func (d *Document) commentSpan(s Span) Span {
	line := d.lines.span(d.lines.at(s.Start), d.lines.at(s.End-1))
	if isBlankText(d.Source[line.Start:s.Start]) && isBlankText(d.Source[s.End:line.End]) {
		return line
	}
	for s.Start > line.Start && (d.Source[s.Start-1] == ' ' || d.Source[s.Start-1] == '\t') {
		s.Start--
	}
	return s
}

// Comment returns the HTML comment that gives attributes to the entry it
// follows. Known attributes come first, in a fixed order, then the others
// sorted by name. Attributes with an empty value are omitted. Each element of
// evidence is encoded separately, and the list replaces any attribute
// "evidence" in the map.
func Comment(attributes map[string]string, evidence []string) string {
	pieces := make([]string, len(evidence))
	for i, e := range evidence {
		pieces[i] = strings.ReplaceAll(encodeValue(e), ",", "%2C")
	}
	keys := slices.Concat(attributeKeys, slices.Sorted(maps.Keys(attributes)))
	var b strings.Builder
	for i, key := range keys {
		value := encodeValue(attributes[key])
		if key == "evidence" {
			value = strings.Join(pieces, ",")
		}
		if value != "" && slices.Index(keys, key) == i {
			b.WriteString(" " + key + "=" + value)
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "<!--" + b.String() + " -->"
}

// newComment returns a comment with attributes, empty if none has a value.
func newComment(attrs []Attribute) string { return string(editComment([]byte("<!-- -->"), attrs)) }

// comment returns an entry's comment on one line; without an entry or a
// comment, it returns an empty comment.
func (d *Document) comment(e *Entry) []byte {
	if e == nil || e.Comment.End == 0 {
		return []byte("<!-- -->")
	}
	return bytes.Join(bytes.Fields(d.Source[e.Comment.Start:e.Comment.End]), []byte(" "))
}

// AttributeComment returns the entry's comment after setting attributes. An
// empty value removes an attribute. The result is empty if no attribute is
// left.
func (d *Document) AttributeComment(e *Entry, list ...Attribute) string {
	return string(editComment(d.comment(e), list))
}

// editComment sets attributes of a comment and removes those with an empty
// value. It returns nil if no attribute is left.
func editComment(comment []byte, attrs []Attribute) []byte {
	inner := comment[len(commentOpen) : len(comment)-len(commentClose)]
	for _, a := range attrs {
		inner = editWord(inner, a)
	}
	if isBlankText(inner) {
		return nil
	}
	return slices.Concat(commentOpen, inner, commentClose)
}

// editWord sets or removes one attribute inside a comment. A new attribute goes
// after the last one.
func editWord(inner []byte, a Attribute) []byte {
	words := wordRE.FindAllIndex(inner, -1)
	at := slices.IndexFunc(words, func(w []int) bool {
		key, _, _ := strings.Cut(string(inner[w[0]:w[1]]), "=")
		return strings.ToLower(key) == a.Key
	})
	pair := a.Key + "=" + encodeValue(a.Value)
	switch {
	case at < 0 && a.Value == "":
		return inner
	case at < 0 && len(words) == 0:
		return []byte(" " + pair + " ")
	case at < 0:
		end := words[len(words)-1][1]
		return slices.Concat(inner[:end], []byte(" "+pair), inner[end:])
	}
	start, end := words[at][0], words[at][1]
	switch {
	case a.Value != "":
		key, _, _ := bytes.Cut(inner[start:end], []byte("=")) // keeps its case
		return slices.Concat(inner[:start], key, []byte("="+encodeValue(a.Value)), inner[end:])
	case at > 0:
		start = words[at-1][1]
	case len(words) > 1:
		end = words[1][0]
	}
	return slices.Concat(inner[:start], inner[end:])
}

// wordRE matches a word, separated from others by white space.
var wordRE = regexp.MustCompile(`[^\s\v\x{85}\pZ]+`)

// encodeValue encodes an attribute's value. It percent-encodes characters that
// would end the word or the comment. Commas stay, because they separate the
// parts of a list.
func encodeValue(s string) string {
	var b strings.Builder
	for i, r := range s {
		n := utf8.RuneLen(r)
		dash := r == '-' && (i+1 == len(s) || s[i+1] == '-')
		if dash || r <= ' ' || r == 0x7f || strings.ContainsRune("\"'`<>%", r) || unicode.IsSpace(r) ||
			!unicode.IsPrint(r) || r == utf8.RuneError {
			for j := range max(n, 1) {
				fmt.Fprintf(&b, "%%%02X", s[min(i+j, len(s)-1)])
			}
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
