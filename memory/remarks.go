package memory

import (
	"bytes"
	"regexp"
	"strings"
)

// remark is a comment, wherever it stands; an empty one may be shorter.
var remark = regexp.MustCompile(`(?s)<!-->|<!--->|<!--.*?-->`)

// Remarks are the comments in an item of a list that are not its attributes, as
// lines to stand below the text that takes its place: what a person notes beside
// it, and nobody is shown, is not to be lost. In an item with code nothing is taken
// for one.
func (d *Document) Remarks(e *Entry) string {
	src := d.Source[e.Span.Start:e.Span.End]
	if bytes.Contains(src, []byte("`")) || bytes.Contains(src, []byte("~~~")) {
		return ""
	}
	var lines strings.Builder
	for _, at := range remark.FindAllIndex(src, -1) {
		text := oneLine(string(src[at[0]:at[1]]))
		if from := e.Span.Start + at[0]; (from < e.Comment.Start || from >= e.Comment.End) && len(text) > len("<!--->") {
			lines.WriteString("\n  " + text)
		}
	}
	return lines.String()
}
