package memory

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// setAttributes adds the edits that set the attributes of an entry. It changes
// the entry's comment, adds a new one, or removes an empty one.
func (w *work) setAttributes(e *Entry, attrs []attr) {
	if len(attrs) == 0 {
		return
	}
	d := w.d
	if e.Comment.End == 0 {
		switch comment := newComment(attrs); {
		case comment == "":
		case e.lead > 0:
			w.list = append(w.list, Edit{Span{e.lead, e.lead}, []byte(" " + comment)})
		default:
			w.list = append(w.list, d.commentBelow(e, comment))
		}
		return
	}
	old := d.Source[e.Comment.Start:e.Comment.End]
	switch comment := editComment(old, attrs); {
	case bytes.Equal(comment, old):
	case len(comment) > 0:
		w.list = append(w.list, Edit{e.Comment, comment})
	default:
		w.list = append(w.list, Edit{d.around(e.Comment), nil})
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
	end := string(d.ending(e.EndLine))
	at := e.Span.End
	if last := d.lines.span(e.EndLine,
		e.EndLine); len(trimEnding(d.Source[last.Start:last.End])) == last.End-last.Start {
		return Edit{Span{at, at}, []byte(end + indent + comment)}
	}
	return Edit{Span{at, at}, []byte(indent + comment + end)}
}

// around returns the span of a comment with the white space in front of it, or
// the whole line if the line contains nothing else.
func (d *Document) around(s Span) Span {
	line := d.lines.span(d.lines.at(s.Start), d.lines.at(s.End-1))
	if blank(d.Source[line.Start:s.Start]) && blank(d.Source[s.End:line.End]) {
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
func newComment(attrs []attr) string {
	var b strings.Builder
	for _, a := range attrs {
		if a.value != "" {
			b.WriteString(" " + a.key + "=" + encodeValue(a.value))
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "<!--" + b.String() + " -->"
}

// editComment sets attributes of a comment and removes those with an empty
// value. It returns nil if no attribute is left.
func editComment(comment []byte, attrs []attr) []byte {
	inner := comment[len(commentOpen) : len(comment)-len(commentClose)]
	for _, a := range attrs {
		inner = editWord(inner, a)
	}
	if blank(inner) {
		return nil
	}
	return slices.Concat(commentOpen, inner, commentClose)
}

// editWord sets or removes one attribute inside a comment. A new attribute goes
// behind the last one.
func editWord(inner []byte, a attr) []byte {
	words := wordSpans(inner)
	at := slices.IndexFunc(words, func(w Span) bool {
		key, _, _ := strings.Cut(string(inner[w.Start:w.End]), "=")
		return strings.ToLower(key) == a.key
	})
	pair := a.key + "=" + encodeValue(a.value)
	switch {
	case at < 0 && a.value == "":
		return inner
	case at < 0 && len(words) == 0:
		return []byte(" " + pair + " ")
	case at < 0:
		end := words[len(words)-1].End
		return slices.Concat(inner[:end], []byte(" "+pair), inner[end:])
	}
	w := words[at]
	switch i := bytes.IndexByte(inner[w.Start:w.End], '='); {
	case a.value != "" && i >= 0:
		return slices.Concat(inner[:w.Start+i+1], []byte(encodeValue(a.value)), inner[w.End:])
	case a.value != "":
		return slices.Concat(inner[:w.Start], []byte(pair), inner[w.End:])
	case at > 0:
		w.Start = words[at-1].End
	case len(words) > 1:
		w.End = words[1].Start
	}
	return slices.Concat(inner[:w.Start], inner[w.End:])
}

// wordSpans returns the spans of the words of a text.
func wordSpans(b []byte) (words []Span) {
	start := -1
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		switch space := unicode.IsSpace(r); {
		case space && start >= 0:
			words = append(words, Span{start, i})
			start = -1
		case !space && start < 0:
			start = i
		}
		i += n
	}
	if start >= 0 {
		words = append(words, Span{start, len(b)})
	}
	return words
}

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
