package ipc

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/memory"
)

// ContextRequest asks for a block of text for a prompt.
type ContextRequest struct {
	Format   string `json:"format" default:"summary" enum:"summary" doc:"summary: the summaries of long-term memory and of the recent sessions, with their paths"`
	Session  string `json:"session" doc:"id of the session that asks: its file of today comes first"`
	Days     int    `json:"days" min:"0" max:"3650" doc:"how many days of sessions; 0 for as many as are configured"`
	MaxItems *int   `json:"max_items" min:"0" max:"10000" doc:"how many lines at most, if fewer than are configured"`
	Fresh
	Scope
}

// ContextAnswer is a block of text for a prompt. It is empty where nothing is
// to be shown.
type ContextAnswer struct {
	Text    string     `json:"text"`
	Items   int        `json:"items"`    // lines
	Chars   int        `json:"chars"`    // characters
	Tokens  int        `json:"tokens"`   // roughly
	LeftOut int        `json:"left_out"` // lines for which there was no room
	Hints   []string   `json:"hints"`
	Index   IndexState `json:"index"`

	Redaction
}

func (m *Memory) context(ctx context.Context, c Call, r *ContextRequest) (*ContextAnswer, error) {
	synced, err := m.sync(ctx, &c, r.Fresh)
	if err != nil {
		return nil, err
	}
	answer := &ContextAnswer{Hints: []string{}, Index: m.state(c, synced)}
	if !m.Injection {
		answer.Hints = append(answer.Hints, "injection is switched off in the configuration")
		return answer, nil
	}
	most := m.MaxItems
	if r.MaxItems != nil {
		most = min(most, *r.MaxItems)
	}
	answer.Hints = append(answer.Hints, m.nearLimits(c)...)
	answer.Text, answer.Items, answer.LeftOut = m.summaries(c, r.Session, r.Days, most)
	answer.Chars = utf8.RuneCountInString(answer.Text)
	answer.Tokens = tokens(answer.Text)
	return answer, nil
}

// summaries renders the summaries of long-term memory and of the recent
// sessions, with at most so many lines.
func (m *Memory) summaries(c Call, session string, days, most int) (text string, items, leftOut int) {
	var b strings.Builder
	block := func(header string, lines []string) {
		room := min(len(lines), most-items)
		leftOut += len(lines) - room
		if room == 0 {
			return
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(header + "\n")
		for _, line := range lines[:room] {
			b.WriteString("- " + line + "\n")
		}
		items += room
	}
	var lines []string
	for _, f := range m.longTerm(c) {
		for line := range strings.Lines(f.Summary) {
			// The path stays out: it would tell who the user is.
			if line = strings.TrimPrefix(oneLine(line), "- "); line != "" {
				lines = append(lines, line)
			}
		}
	}
	block("[Memory:LongTerm:Summary]", lines)
	lines = nil
	for _, f := range m.shortTerm(c, days, session) {
		if f.Summary == "" {
			continue
		}
		line := fmt.Sprintf("%s: %s (%s)", f.Day, oneLine(f.Summary), oneLine(f.Path))
		if f.doc.Place.Kind == memory.Session {
			line += fmt.Sprintf(" [progress: tasks %s, follow_ups %s]", f.Progress.Tasks, f.Progress.FollowUps)
		}
		lines = append(lines, line)
	}
	block("[Memory:ShortTerm:Recent]", lines)
	return b.String(), items, leftOut
}

// oneLine is a text with its line breaks and other white space as single
// spaces.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// tokens estimates how many tokens a model makes of a text: four letters of an
// alphabet are about one, and so is one character of any other kind.
func tokens(s string) int {
	quarters := 0
	for _, r := range s {
		if r < utf8.RuneSelf {
			quarters++
		} else {
			quarters += 4
		}
	}
	return (quarters + 3) / 4
}
