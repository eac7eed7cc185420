package ops

import (
	"cmp"
	"context"
	"time"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
)

// protectedImportance is the minimum importance of entries that compaction never removes.
const protectedImportance = 0.8

// Limits of texts that become a line, in characters.
const (
	maxNote  = 4000
	maxTopic = 200
)

// note appends a note to the log of a day.
func (m writeOps) note(ctx context.Context, c Call, r *api.NoteRequest) (*api.NoteAnswer, error) {
	if r.Importance >= protectedImportance && !c.View.Private() {
		return nil, api.Errorf(api.Forbidden,
			"importance: %v protects a note from compaction, which requires a private context", r.Importance).
			WithHint("set `importance` below %v", protectedImportance)
	}
	at, err := m.logTime(r.Time, r.Day)
	if err != nil {
		return nil, err
	}
	block, err := m.noteBlock(c, r)
	if err != nil {
		return nil, err
	}
	l := &logEdit{cause: "note", at: at, topic: r.Topic, blocks: []logBlock{block}}
	after, err := m.appendLog(ctx, c, l)
	if err != nil {
		return nil, err
	}
	answer := &api.NoteAnswer{Line: l.blocks[0].line}
	if answer.Line > 0 {
		answer.Path = after.Place.Path
	}
	return answer, nil
}

func (m writeOps) noteBlock(c Call, r *api.NoteRequest) (b logBlock, err error) {
	if err := cmp.Or(m.checkLogText("text", r.Text), m.checkText("topic", r.Topic),
		m.checkOrigin(r.Source, r.Evidence)); err != nil {
		return b, err
	}
	b.given, err = m.withTags(r.Text, append(projectTags(r.Project), r.Tags...))
	if err != nil {
		return b, err
	}
	b.evidence = r.Evidence
	b.attributes = map[string]string{
		"type": r.Type, "importance": formatNumber(r.Importance), "visibility": visibilityAttribute(r.Visibility),
		"source": sourceAttribute(c, r.Source),
	}
	return b, nil
}

// A Received is a message from an external sender. Anyone who knows the topic
// can send one.
type Received struct {
	Source string    // permanent id of the message, begins with [memory.TopicSource]
	Time   time.Time // time of sending; now if zero
	Title  string
	Text   string
}

// Limits of the difference between the time of a message and now. Clocks
// differ, and servers keep messages for days at most. A message beyond the
// limits gets the current time.
const (
	receivedEarly = time.Hour
	receivedLate  = 14 * 24 * time.Hour
)

// Receive adds a message to the owner's log of its day, as private text from
// others. It does so once: a message whose source is already in the log changes
// nothing. Receive escapes Markdown structure and truncates long text. A
// message that contains a credential or no text returns an error with the code
// [api.Secret] or [api.Invalid]; a retry cannot succeed.
func (m *Memory) Receive(ctx context.Context, r Received) error {
	if m.Disabled {
		return nil
	}
	w := m.writeOps()
	private := memory.Private.String()
	c, err := w.resolveCall(api.Caller{Scope: api.Scope{Subject: &m.Owner, Context: &private}})
	if err != nil {
		return err
	}
	if w.Writer == nil {
		return errNoWriter
	}
	title := cutLine(r.Title, maxTopic-1)
	block, err := w.noteBlock(c, &api.NoteRequest{
		Text: cutLine(r.Text, maxNote), Topic: title, Type: "request", Source: r.Source,
	})
	if err != nil {
		return err
	}
	now := m.Now()
	at := r.Time
	if at.IsZero() || at.After(now.Add(receivedEarly)) || at.Before(now.Add(-receivedLate)) {
		at = now
	}
	_, err = w.appendLog(ctx, c, &logEdit{
		cause: "note", at: at.In(m.Location), topic: title, blocks: []logBlock{block},
		contains: func(e *memory.Entry, _ *logBlock) bool { return e.Source == r.Source },
	})
	return err
}

// cutLine returns a text as one escaped line of at most most characters.
func cutLine(text string, most int) string {
	const mark = " …"
	line := memory.CleanLine(text)
	// Escaping adds characters.
	for n := most - len([]rune(mark)); utf8.RuneCountInString(memory.Line(line)) > most; n -= 10 {
		line = memory.CleanLine(string([]rune(line)[:n])) + mark
	}
	return line
}
