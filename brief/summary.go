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

// Summary returns the summaries of long-term files, without their paths,
// because the paths would reveal the subjects. The summaries of recent sessions
// and daily notes follow, with their paths. Both are in the given order:
//
//	[Memory:LongTerm:Summary]
//	- <a line of a summary>
//
//	[Memory:ShortTerm:Recent]
//	- 2026-02-04: <summary> (2026-02-04/telegram_12345.md) [progress: tasks 1/3, follow_ups 0/1]
//
// MaxItems bounds the lines, and is the only limit.
func (s Style) Summary(longTerm, recent []*memory.Document) Block {
	var b Block
	var long, short []string
	for _, doc := range longTerm {
		for line := range strings.Lines(doc.Summary(s.View)) {
			// A summary may be a list itself.
			line = strings.TrimPrefix(oneLine(line), "- ")
			if line != "" {
				long = s.summaryLine(long, &b.Omitted, doc, "", line, "")
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
		short = s.summaryLine(short, &b.Omitted, doc, doc.Place.Day+": ", summary, after)
	}
	b.Omitted.LongTerm = b.addList(longTermHeader, long, s.MaxItems)
	b.Omitted.Recent = b.addList(recentHeader, short, s.MaxItems)
	return b
}

// summaryLine appends a line with a summary. It marks an untrusted summary, or
// omits and counts it.
func (s Style) summaryLine(lines []string, left *Omitted, doc *memory.Document, before, summary,
	after string) []string {
	switch {
	case !doc.Front.Author().Untrusted(s.View):
	case s.Omit:
		left.Untrusted++
		return lines
	default:
		summary = Mark + " " + summary
	}
	return append(lines, before+summary+after)
}

// addList adds a header and as many lines as the limit allows, and returns the
// number of lines left out.
func (b *Block) addList(header string, lines []string, most int) (left int) {
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
