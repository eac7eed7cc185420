package mcp

import (
	"fmt"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/internal/brief"
)

// maxFile bounds the text of a file in one answer, in characters.
const maxFile = 20_000

// textOf returns the answer to a request as a text for a model, with places as path:line.
// Text written by others than the subject is marked on every line. In hints, rename
// returns the names of operations and parameters, as for [api.Rename].
func textOf(req *api.Request, answer any, rename func(string) string) string {
	t := api.Render(answer, api.Reader{Audience: api.Models, Request: req, Limit: maxFile, Location: time.Local})
	var b strings.Builder
	for _, l := range t.Lines {
		if l.Form == api.Hint {
			l.Text = "(" + api.Rename(l.Text, rename) + ")"
		}
		b.WriteString(string(lineText(&l)))
	}
	return strings.Trim(b.String(), "\n")
}

// fileText returns the text of a file or an entry. The lines that others wrote are marked.
func fileText(a *api.GetAnswer) string {
	var b strings.Builder
	for _, l := range api.Render(a, api.Reader{Audience: api.Models}).Lines {
		if l.Form == api.Verbatim {
			b.WriteString(string(lineText(&l)))
		}
	}
	return b.String()
}

// lineText returns a line of an answer, with its line breaks. It consists of constants
// and [brief.Quoted], so that text of memory has a known trust.
func lineText(l *api.Line) brief.Quoted {
	switch l.Form {
	case api.Block: // as package brief has rendered it
		return brief.Quoted(l.Text) + "\n"
	case api.Body:
		return brief.Quote(strings.TrimRight(l.Text, "\n"), l.Untrusted) + "\n"
	case api.Verbatim:
		if line, ok := strings.CutSuffix(l.Text, "\n"); ok {
			return brief.Quote(line, l.Untrusted) + "\n"
		}
		return brief.Quote(l.Text, l.Untrusted)
	case api.Hunk:
		return own(placeOf(l)) + "\n" + brief.Quote(strings.TrimRight(l.Text, "\n"), l.Untrusted) + "\n"
	case api.Before, api.After:
		return ""
	}
	line := brief.Line(l.Untrusted, append([]string{placeOf(l), l.Section, l.Text}, l.Notes...)...)
	if l.Head != "" {
		line = own(l.Head+api.TextIf(l.Form == api.Row, ":")) + " " + line
	}
	return brief.Quoted(strings.Repeat("  ", max(l.Depth-1, 0))) + line + "\n"
}

// own returns a part of a line that the subject or memwatchd wrote, such as a path.
func own(text string) brief.Quoted { return brief.Line(false, text) }

// placeOf returns the place of a line as path:line or path:line-line.
func placeOf(l *api.Line) string {
	switch {
	case l.Path == "" || l.Line == 0:
		return l.Path
	case l.EndLine > l.Line:
		return fmt.Sprintf("%s:%d-%d", l.Path, l.Line, l.EndLine)
	}
	return fmt.Sprintf("%s:%d%s", l.Path, l.Line, api.TextIf(l.Target != "", " -> "+l.Target))
}
