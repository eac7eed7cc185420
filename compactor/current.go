package compactor

import (
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/internal/transcript"
	"github.com/memwatchd/memwatchd/memory"
)

// Limits of a current summary. Older sentences and evidence that exceed them are
// left out; the archived files still contain them.
const (
	maxCurrent         = 1200 // characters
	maxCurrentEvidence = 50
)

// A currentSummary is the summary of an entry, or a new one if at is -1.
type currentSummary struct {
	memory.Put
	at      int
	changed bool
}

// putLines returns a summary file in which each line is part of the current
// summary of its topic: of its project, subject or contact, with the same author. A line
// that an interrupted run has written changes nothing.
func putLines(doc *memory.Document, lines []summaryLine, parse func([]byte) *memory.Document) ([]byte, error) {
	var list []currentSummary
	for i := range doc.Entries {
		if e := &doc.Entries[i]; e.IsSummary() {
			list = append(list, currentSummary{memory.Put{Form: memory.FactForm, Title: e.Title, Text: e.SummaryText(),
				Evidence: e.Evidence, Attributes: e.Attributes}, i, false})
		}
	}
	for i := range lines {
		s := lines[i].summary
		if slices.ContainsFunc(doc.Entries, func(e memory.Entry) bool { return s.IsAt(&e) }) {
			continue
		}
		n := slices.IndexFunc(list, func(c currentSummary) bool { return sameTopic(&c.Put, &s) })
		if n >= 0 && list[n].includes(&s) {
			continue
		}
		if n >= 0 {
			list[n].Put, list[n].changed = mergeSummaries(list[n].Put, s), true
			continue
		}
		list = append(list, currentSummary{s, -1, true})
	}
	r := doc.Revise()
	for i := range list {
		switch c := &list[i]; {
		case c.at < 0:
			r.Append([]string{memory.SummarySection}, &c.Put)
		case c.changed:
			r.Replace(c.at, &c.Put, time.Time{}) // it has its own time
		}
	}
	return r.Apply(parse)
}

// sameTopic reports whether two current summaries have the same topic.
func sameTopic(a, b *memory.Put) bool {
	topicA, _, okA := cutDay(a.Title)
	topicB, _, okB := cutDay(b.Title)
	return okA && okB && topicA == topicB &&
		a.Attributes["source"] == b.Attributes["source"] && a.Attributes["written_by"] == b.Attributes["written_by"]
}

// cutDay splits the title of a current summary; see [currentTitle].
func cutDay(title string) (topic, day string, ok bool) {
	i := strings.LastIndex(title, " until ")
	if i < 0 {
		return "", "", false
	}
	topic, day = title[:i], title[i+len(" until "):]
	return topic, day, memory.IsDay(day)
}

// includes reports whether the summary has the evidence and the sentences of
// another one. The evidence is not enough: the file may have changed since an
// interrupted run.
func (c *currentSummary) includes(s *memory.Put) bool {
	return !slices.ContainsFunc(s.Evidence, func(piece string) bool { return !slices.Contains(c.Evidence, piece) }) &&
		!slices.ContainsFunc(transcript.Sentences(s.Text),
			func(text string) bool { return !strings.Contains(c.Text, text) })
}

// mergeSummaries returns a summary of the texts of both, the newer one first. It
// keeps the attributes of current.
func mergeSummaries(current, line memory.Put) memory.Put {
	newer, older := line, current
	_, lineDay, _ := cutDay(line.Title)
	if _, day, _ := cutDay(current.Title); lineDay < day {
		newer, older = current, line
	}
	merged := newer
	merged.Attributes = maps.Clone(current.Attributes)
	merged.Attributes["updated"] = newer.Attributes["updated"]
	list := []sentence{{text: newer.Text}}
	room := maxCurrent - utf8.RuneCountInString(newer.Text)
	for _, text := range transcript.Sentences(older.Text) {
		room -= utf8.RuneCountInString(text) + 2
		if room < 0 {
			break
		}
		if !strings.Contains(newer.Text, text) {
			list = append(list, sentence{text: text})
		}
	}
	merged.Text = joinSentences(list)
	merged.Evidence = slices.Clone(newer.Evidence)
	for _, piece := range older.Evidence {
		if !slices.Contains(merged.Evidence, piece) && len(merged.Evidence) < maxCurrentEvidence {
			merged.Evidence = append(merged.Evidence, piece)
		}
	}
	return merged
}
