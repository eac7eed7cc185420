package brief

import (
	"fmt"
	"strings"

	"github.com/memwatchd/memwatchd/memory"
)

// The headers of summaries.
const (
	longTermHeader = "[Memory:LongTerm:Summary]"
	recentHeader   = "[Memory:ShortTerm:Recent]"
)

// Summary is the summaries of long-term files, in the order given and without
// their paths, which would tell whose they are; then those of recent sessions
// and daily notes, in the order given, with their paths:
//
//	[Memory:LongTerm:Summary]
//	- <a line of a summary>
//
//	[Memory:ShortTerm:Recent]
//	- 2026-02-04: <summary> (2026-02-04/telegram_12345.md) [progress: tasks 1/3, follow_ups 0/1]
//
// MaxItems bounds the lines, and is its only limit.
func (s Style) Summary(longTerm, recent []*memory.Document) Block {
	var b Block
	var long, short []string
	for _, doc := range longTerm {
		for line := range strings.Lines(doc.Summary(s.View)) {
			// A summary may be a list itself.
			if line = strings.TrimPrefix(oneLine(line), "- "); line != "" {
				long = s.summaryLine(long, &b.Left, doc, "", line, "")
			}
		}
	}
	for _, doc := range recent {
		summary := oneLine(doc.Summary(s.View))
		if summary == "" {
			continue
		}
		after := " (" + oneLine(doc.Place.Path) + ")"
		if doc.Place.Kind == memory.Session {
			tasks, followUps := doc.Progress(s.View)
			after += fmt.Sprintf(" [progress: tasks %s, follow_ups %s]", tasks, followUps)
		}
		short = s.summaryLine(short, &b.Left, doc, doc.Place.Day+": ", summary, after)
	}
	b.Left.LongTerm = b.list(longTermHeader, long, s.MaxItems)
	b.Left.Recent = b.list(recentHeader, short, s.MaxItems)
	return b
}

// summaryLine adds a line with a summary, if it may be shown.
func (s Style) summaryLine(lines []string, left *Left, doc *memory.Document, before, summary, after string) []string {
	switch {
	case !doc.Front.Untrusted():
	case s.Omit:
		left.Untrusted++
		return lines
	default:
		summary = Mark + " " + summary
	}
	return append(lines, before+summary+after)
}

// list adds a header and as many lines as there is room for, and says how many
// there was none for.
func (b *Block) list(header string, lines []string, most int) (left int) {
	room := len(lines)
	if most >= 0 {
		room = min(room, most-b.Items)
	}
	if room == 0 {
		return len(lines)
	}
	if b.Text != "" {
		b.Text += "\n"
	}
	b.Text += header + "\n- " + strings.Join(lines[:room], "\n- ") + "\n"
	b.Items += room
	return len(lines) - room
}
