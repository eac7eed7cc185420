package ops

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/memory"
)

// Notes of a day are appended to the log of that day, below a heading with the
// time; existing text does not change. The log of the owner, and of a subject
// with a directory of its own, is the daily note. The log of any other subject
// is a file among the sessions of the day, because a directory made for the log
// would belong to no subject. So is the log in an inbox.

// maxText bounds the text of a log entry, in bytes.
const maxText = 16 << 10

// A logEdit is a set of entries that is added to the log of a day in one change.
type logEdit struct {
	putEdit
	at    time.Time // time of the event, in the time zone of days
	topic string    // text of the heading; may be empty
	tasks bool      // the only entry is a task, and belongs below the heading of tasks

	reviewed   bool   // the entries are boxes that wait for a review
	visibility string // of the entries; empty for that of the log's place
	earlier    bool   // an entry of the logs of the recent days or of long-term memory is the same one
}

// logTargets returns the files that may be the caller's log of a day, for text of a
// visibility.
func (m writeOps) logTargets(c Call, day, visibility string) []writeTarget {
	subject, place := c.Scope.Subject, m.Layout.Daily
	var usual string
	var fresh []byte
	switch dir := memory.UserDir(subject); {
	case m.inbox(c) == "" && subject == m.Owner:
		usual, fresh = m.Layout.DailyPath(day), newDaily(day)
	case m.inbox(c) == "" && m.Layout.Users != nil && m.Layout.Users(dir):
		usual, fresh = m.Layout.UserDailyPath(dir, day), memory.WithSubject(newDaily(day), subject)
	default:
		usual, place = m.dayDir(c, day)+"/"+memory.SessionFile(subject), memory.PrivateOnly
		fresh = memory.NewSession(memory.SessionHead{Day: day, Now: m.Now(), SubjectID: subject})
	}
	return m.targets(c, usual, place.String(), visibility, fresh)
}

// isLog reports whether a file of a day is a log: a daily note, or the log of the caller's
// subject or of one of its aliases among the sessions.
func (m readOps) isLog(c Call, doc *memory.Document) bool {
	return isLogOf(c.View.SubjectOf(doc.Partition), doc.Place)
}

// isLogOf reports whether a place is that of a log, which is the subject's if it is among the
// sessions.
func isLogOf(subject string, p memory.Place) bool {
	return p.Kind == memory.Daily || p.Kind == memory.Session && subject != "" &&
		memory.CutEnding(p.Session)+".md" == memory.SessionFile(subject)
}

// errNotOwnLog reports that a file is not the caller's log.
var errNotOwnLog = api.Errorf(api.SubjectConflict, "the log of the day belongs to another subject").
	WithHint("correct subject_id in the frontmatter, or rename the directory")

// appendLog changes the log of a day. It returns the file after the change, or nil if other
// files contain all entries.
func (m writeOps) appendLog(ctx context.Context, c Call, l *logEdit) (after *memory.Document, err error) {
	day := l.at.Format(time.DateOnly)
	before := day
	targets := m.logTargets(c, day, l.visibility)
	if m.isReviewed(c) && !l.tasks {
		l.review()
		l.others = m.offeredFiles()
		targets = []writeTarget{{path: m.Layout.ReviewPath(day), initial: newDaily(day)}}
		before = l.at.AddDate(0, 0, 1).Format(time.DateOnly) // the log of the day is another file
	}
	if l.earlier {
		l.others = append(l.others, m.earlierFiles(c, before)...)
	}
	// The headings of daily notes contain the time. Only the second of two
	// equal hours at a clock change needs an attribute.
	minute := time.Date(l.at.Year(), l.at.Month(), l.at.Day(), l.at.Hour(), l.at.Minute(), 0, 0, l.at.Location())
	if m.Layout.Place(targets[0].path).Kind != memory.Daily || !l.tasks && !minute.Equal(l.at.Truncate(time.Minute)) {
		for _, p := range l.puts {
			p.Attributes["updated"] = memory.Timestamp(l.at)
		}
	}
	l.check = func(t *writeTarget, doc *memory.Document) error {
		switch mine := c.View.SubjectOf(doc.Partition) == c.Scope.Subject; {
		case !mine && t.unseen: // the frontmatter is hidden, too
			return skipError{t.writeError(memory.ErrUnwritable)}
		case !mine:
			return skipError{errNotOwnLog}
		}
		return nil
	}
	l.insert = func(t *writeTarget, doc *memory.Document, r *memory.Revision, puts []*memory.Put) {
		m.insertInLog(l, t, doc.For(c.View), r, puts)
	}
	l.finish = func(doc *memory.Document, r *memory.Revision) {
		if _, dated := doc.Front.Field("updated_at"); dated {
			r.SetField("updated_at", memory.Timestamp(m.Now()))
		}
		r.SetCounters()
	}
	return m.put(ctx, c, targets, &l.putEdit)
}

// insertInLog adds entries to a log below a heading with the time. Tasks follow those in the
// section of tasks, except in a log that only grows or that the caller cannot read. The caller
// must not learn about the entries of such a log: known is nil.
func (m writeOps) insertInLog(l *logEdit, t *writeTarget, known *memory.Document, r *memory.Revision,
	puts []*memory.Put) {
	heading, atEnd := known.ClockHeading(l.at, l.topic), true
	switch {
	case l.reviewed:
		heading, atEnd = cmp.Or(l.topic, noTopic), false
	case l.tasks:
		heading = m.Layout.TasksHeading(known)
		atEnd = t.unseen || m.Todos.AppendOnly != nil && m.Todos.AppendOnly(t.path)
	}
	if atEnd {
		r.AppendSection(heading, puts...)
	} else {
		r.Append([]string{heading}, puts...)
	}
}

// earlierFiles returns the caller's logs of the recent days before a day, and the caller's
// long-term memory, newest last.
func (m readOps) earlierFiles(c Call, day string) []*memory.Document {
	oldest := m.day(-m.recentDays())
	files := m.listFiles(c, func(f *index.FileInfo) bool {
		p := m.Layout.Place(f.Path)
		return p.Kind == memory.Longterm || oldest <= f.Day && f.Day < day && isLogOf(c.Scope.Subject, p)
	})
	return slices.DeleteFunc(files, func(doc *memory.Document) bool {
		return c.View.SubjectOf(doc.Partition) != c.Scope.Subject
	})
}

// logTime returns the time of a note in the time zone of days. The default is
// now.
func (m writeOps) logTime(clock, day string) (time.Time, error) {
	now := m.Now().In(m.Location)
	at := now
	if day != "" {
		var err error
		day, err = m.parseDay(day)
		if err != nil {
			return at, err
		}
		d, _ := time.Parse(time.DateOnly, day)
		at = time.Date(d.Year(), d.Month(), d.Day(), now.Hour(), now.Minute(), now.Second(), 0, m.Location)
	}
	if clock != "" {
		hour, minute, ok := memory.ParseClock(clock)
		whole, isWhole := memory.ParseTime(clock, m.Location)
		switch {
		case ok:
			at = time.Date(at.Year(), at.Month(), at.Day(), hour, minute, 0, 0, m.Location)
		case isWhole && len(clock) > len(time.DateOnly):
			at = whole.In(m.Location)
			if day != "" && day != at.Format(time.DateOnly) {
				return at, api.Errorf(api.Invalid, "time: %s is not on %s", clock, day)
			}
		default:
			return at, api.Errorf(api.Invalid, "time: %q is not a time such as 10:30 AM, 22:30 or 2026-02-04T10:30:00Z",
				clock)
		}
	}
	if at.Format(time.DateOnly) > m.day(1) {
		return at, api.Errorf(api.Invalid, "%s is later than tomorrow", at.Format(time.DateOnly))
	}
	return at, nil
}

// checkLogText rejects a caller's text that cannot be added to a log.
func (m writeOps) checkLogText(field, text string) error {
	if err := checkText(field, text); err != nil {
		return err
	}
	switch text := memory.TrimText(text); {
	case text == "":
		return api.Errorf(api.Invalid, "%s is empty", field)
	case len(text) > maxText:
		return api.Errorf(api.TooLarge, "%s has more than %d bytes", field, maxText).
			WithHint("write longer texts to a file of their own")
	}
	return nil
}

// checkOrigin rejects invalid sources and evidence.
func (m writeOps) checkOrigin(source string, evidence []string) error {
	for _, e := range evidence {
		if e == "" || strings.ContainsAny(e, "\n\r") {
			return api.Errorf(api.Invalid, "evidence: %q is not a path, a URL or an id", e)
		}
	}
	return cmp.Or(checkText("evidence", evidence...), checkText("source", source))
}

// withTags appends to a text the tags that it does not have yet: to its line, or
// in a paragraph below several lines.
func (m writeOps) withTags(text string, tags []string) (string, error) {
	text = memory.TrimText(text)
	for _, tag := range tags {
		tag = strings.TrimPrefix(strings.TrimSpace(tag), "#")
		if err := checkText("tags", tag); err != nil {
			return "", err
		}
		tagged, ok := m.Layout.AddTag(text, tag)
		if !ok {
			return "", api.Errorf(api.Invalid, "tags: %q cannot be a tag", tag).
				WithHint("use a tag with at least one letter, without quotes, backslashes, <, > and backticks")
		}
		text = tagged
	}
	return text, nil
}

// formatNumber formats a number as an attribute; zero becomes empty.
func formatNumber(x float64) string {
	if x == 0 {
		return ""
	}
	return fmt.Sprint(x)
}

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
	p, err := m.newNote(c, r)
	if err != nil {
		return nil, err
	}
	p.Attributes["supersedes"], err = m.supersededID(ctx, c, r.Supersedes)
	if err != nil {
		return nil, err
	}
	l := &logEdit{at: at, topic: r.Topic, visibility: r.Visibility, putEdit: putEdit{cause: "note", puts: []*addition{p},
		same: func(e *memory.Entry, p *addition) bool { // at another time, it is another event
			return r.Time == "" && e.Content() == p.Entry().Content() && !e.Author().Untrusted(c.View)
		}}}
	after, err := m.appendLog(ctx, c, l)
	if err != nil {
		return nil, err
	}
	answer := &api.NoteAnswer{Line: p.line(), Already: p.same}
	if answer.Line > 0 {
		answer.Path = after.Place.Path
	}
	if r.Supersedes == "" {
		answer.Similar = m.similarEntries(ctx, c, r.Text, answer.Path, answer.Line)
	}
	return answer, nil
}

// newNote returns the entry of a note.
func (m writeOps) newNote(c Call, r *api.NoteRequest) (*addition, error) {
	if err := cmp.Or(m.checkLogText("text", r.Text), checkText("topic", r.Topic),
		m.checkOrigin(r.Source, r.Evidence)); err != nil {
		return nil, err
	}
	text, err := m.withTags(r.Text, append(projectTags(r.Project), r.Tags...))
	return &addition{Put: memory.Put{Text: text, Evidence: r.Evidence, Attributes: map[string]string{
		"type": r.Type, "importance": formatNumber(r.Importance), "source": sourceAttribute(c, r.Source)}}}, err
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
	p, err := w.newNote(c, &api.NoteRequest{
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
	_, err = w.appendLog(ctx, c, &logEdit{at: at.In(m.Location), topic: title, visibility: memory.PrivateOnly.String(),
		putEdit: putEdit{cause: "note", puts: []*addition{p},
			same: func(e *memory.Entry, _ *addition) bool { return e.Source == r.Source }}})
	return err
}

// cutLine returns a text as one line of at most most characters.
func cutLine(text string, most int) string {
	line := []rune(memory.CleanLine(text))
	if len(line) > most {
		return memory.CleanLine(string(line[:most-2])) + " …"
	}
	return string(line)
}

// projectTag precedes the name of a project in tags.
const projectTag = "project:"

// projectTags returns the tags of new text in a project.
func projectTags(project string) []string {
	if project == "" {
		return nil
	}
	return []string{projectTag + project}
}

// newDaily returns the log of a day, YYYY-MM-DD.
func newDaily(day string) []byte { return []byte("# " + day + "\n") }
