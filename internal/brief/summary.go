package brief

import (
	"fmt"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
	"github.com/memwatchd/memwatchd/memory"
)

// The headers of summaries.
const (
	longTermHeader = "[Memory:LongTerm:Summary]"
	recentHeader   = "[Memory:ShortTerm:Recent]"
)

// Summary returns the summaries of long-term files, without their paths,
// because the paths would reveal the subjects. The summaries of recent sessions
// and daily notes follow, with their paths. The first item of a session stands
// for a missing summary. Both are in the given order:
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
	var long []string
	for _, doc := range longTerm {
		for line := range strings.Lines(doc.Summary(s.View)) {
			// A summary may be a list itself.
			line = strings.TrimPrefix(joinWords(line), "- ")
			if line != "" {
				long = append(long, string(Line(doc.Front.Author().Untrusted(s.View), line)))
			}
		}
	}
	short := s.recentLines(recent, false)
	b.Omitted.LongTerm = b.addList(longTermHeader, long, s.MaxItems)
	b.Omitted.Recent = b.addList(recentHeader, short, s.MaxItems)
	return b
}

// recentLines returns the lines of sessions and daily notes with a summary. The
// first item stands for the summary of a session without one and, if all is
// set, of a daily note.
func (s Style) recentLines(docs []*memory.Document, all bool) (lines []string) {
	for _, doc := range docs {
		summary, author := joinWords(doc.Summary(s.View)), doc.Front.Author()
		if summary == "" && (all || doc.Place.Kind == memory.Session) {
			summary, author = s.firstItem(doc)
		}
		if summary == "" {
			continue
		}
		line := summary + " (" + doc.Place.Path + ")"
		if doc.Place.Kind == memory.Session {
			tasks, followUps := doc.Progress()
			if tasks.Total+followUps.Total > 0 {
				line += fmt.Sprintf(" [progress: tasks %s, follow_ups %s]", tasks, followUps)
			}
		}
		lines = append(lines, doc.Place.Day+": "+string(Line(author.Untrusted(s.View), line)))
	}
	return lines
}

// maxFirstItem is the maximum number of code points of an item that is shown in
// place of a summary.
const maxFirstItem = 160

// firstItem returns the first line of the first list item of a file, or of its
// first entry if it has no list, and the author.
func (s Style) firstItem(doc *memory.Document) (text string, author memory.Author) {
	isShown := func(e memory.Entry) bool { return e.Readable(s.View) && e.Block != memory.EmptyHeading }
	i := slices.IndexFunc(doc.Entries, func(e memory.Entry) bool { return e.Block == memory.Item && isShown(e) })
	if i < 0 {
		i = slices.IndexFunc(doc.Entries, isShown)
	}
	if i < 0 {
		return "", author
	}
	first := &doc.Entries[i]
	lines := append(textLines(first.Text), "")
	return shortenLine(joinWords(boxRE().ReplaceAllString(lines[0], "")), maxFirstItem), first.Author()
}

// shortenLine returns a line in at most most+2 code points.
func shortenLine(line string, most int) string {
	if short := graphemePrefix(line, most); short != line {
		return strings.TrimSpace(short) + " …"
	}
	return line
}

var boxRE = lazyregexp.New(`^\[[ xX]\]\s+`)

// addList adds a header and as many lines as the limit allows, and returns the
// number of lines left out.
func (b *Block) addList(header string, lines []string, most int) (left int) {
	text, n := listText(header, lines[:min(len(lines), most-b.Items)], NoLimit)
	if n > 0 && b.Text != "" {
		b.Text += "\n"
	}
	b.Text += text
	b.Items += n
	return len(lines) - n
}
