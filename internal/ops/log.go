package ops

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// Notes of a day are appended to the log of that day, below a heading with the
// time; existing text does not change. The log of the owner, and of a subject
// with a directory of its own, is the daily note. The log of any other subject
// is a file among the sessions of the day, because a directory made for the log
// would belong to no subject. So is the log in an inbox.

// maxText bounds the text of a log entry, in bytes.
const maxText = 16 << 10

// A logEdit is a set of blocks that is appended to the log of a day in one
// change.
type logEdit struct {
	cause string    // the operation
	at    time.Time // time of the event, in the time zone of days
	topic string    // text of the heading; may be empty
	tasks bool      // the only block is a task, and belongs below the heading of tasks

	reviewed bool          // the blocks are boxes that wait for a review
	written  vault.Written // the change of the log
	blocks   []logBlock

	visibility string // of the blocks; empty for that of the log's place

	// contains reports whether a readable entry already contains a block, which is
	// then not appended. It may be nil. With earlier, the logs of the recent days and long-term
	// memory count too.
	contains func(*memory.Entry, *logBlock) bool
	earlier  bool
}

// A logBlock is a Markdown block with the attributes of its entry.
type logBlock struct {
	given      string // the text of the caller
	item       bool   // whether the block is a list item even if it has one line
	attributes map[string]string
	evidence   []string

	text  string       // the block
	entry memory.Entry // the entry that the block alone parses to

	already bool   // the log contained the block
	before  string // path of a log of an earlier day or of the long-term memory that contains it
	line    int    // in the caller's view, 0 for none
}

// source returns the block with its attributes, without the usual type. The
// attributes follow several lines on a line of their own.
func (b *logBlock) source(usualType string) string {
	space := " "
	if strings.Contains(b.text, "\n") {
		space = "\n  "
	}
	attributes := b.attributes
	if attributes["type"] == usualType {
		attributes = maps.Clone(attributes)
		delete(attributes, "type")
	}
	return b.text + space + memory.Comment(attributes, b.evidence)
}

// typeBelow returns the type of an entry without the attribute type below a new heading
// at the end of a log.
func (m writeOps) typeBelow(doc *memory.Document, heading string) string {
	var outline strings.Builder
	for _, h := range append(slices.Clip(doc.Headings), memory.Heading{Level: 2, Text: heading}) {
		fmt.Fprintf(&outline, "%s %s\n", strings.Repeat("#", h.Level), h.Text)
	}
	outline.WriteString("text\n")
	entries := m.Parse(vault.File{Path: doc.Place.Path, Data: []byte(outline.String())}).Entries
	return entries[len(entries)-1].Type
}

// logTargets returns the files that may be the caller's log of a day, for text of a
// visibility.
func (m writeOps) logTargets(c Call, day, visibility string) []writeTarget {
	subject, place := c.Scope.Subject, m.Layout.Daily
	var usual string
	var fresh []byte
	switch dir := memory.UserDir(subject); {
	case m.inbox(c) == "" && subject == m.Owner:
		usual, fresh = m.Layout.DailyPath(day), memory.NewDaily(day)
	case m.inbox(c) == "" && m.Layout.Users != nil && m.Layout.Users(dir):
		usual, fresh = m.Layout.UserDailyPath(dir, day), memory.WithSubject(memory.NewDaily(day), subject)
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

// appendLog changes the log of a day. It returns the file after the change, or nil if the
// logs of earlier days contain all blocks.
func (m writeOps) appendLog(ctx context.Context, c Call, l *logEdit) (after *memory.Document, err error) {
	day := l.at.Format(time.DateOnly)
	before := day
	var earlier []*memory.Document
	targets := m.logTargets(c, day, l.visibility)
	if m.isReviewed(c) && !l.tasks {
		l.review()
		earlier = m.offeredFiles()
		targets = []writeTarget{{path: m.Layout.ReviewPath(day), initial: memory.NewDaily(day)}}
		before = l.at.AddDate(0, 0, 1).Format(time.DateOnly) // the log of the day is another file
	}
	if l.earlier {
		earlier = append(earlier, m.earlierFiles(c, before)...)
	}
	err = eachTarget(targets, func(t writeTarget) (err error) {
		fresh := false
		for i := range l.blocks {
			b := &l.blocks[i]
			if err := m.finishBlock(b, t.path, l.at, l.tasks || l.reviewed); err != nil {
				return err
			}
			b.before = ""
			for _, doc := range earlier {
				if l.find(c, doc, b) >= 0 {
					b.before = doc.Place.Path
				}
			}
			fresh = fresh || b.before == ""
		}
		if !fresh {
			return nil
		}
		after, l.written, err = m.editFile(ctx, c, fileEdit{writeTarget: t, cause: l.cause,
			change: func(doc *memory.Document, r *memory.Revision) error {
				switch mine := c.View.SubjectOf(doc.Partition) == c.Scope.Subject; {
				case !mine && t.unseen: // the frontmatter is hidden, too
					return memory.ErrUnwritable
				case !mine:
					return skipError{errNotOwnLog}
				}
				m.reviseLog(c, l, t, doc, r)
				return nil
			}})
		return err
	})
	if err != nil || after == nil {
		return nil, err
	}
	if known := after.For(c.View); known != nil {
		l.setLines(known)
	}
	return after, nil
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

// find returns the index of the readable entry of a file that contains a block, or -1.
func (l *logEdit) find(c Call, doc *memory.Document, b *logBlock) int {
	return slices.IndexFunc(doc.Entries, func(e memory.Entry) bool {
		return l.contains != nil && e.Readable(c.View) && l.contains(&e, b)
	})
}

// reviseLog adds the blocks that a log does not contain. Tasks follow those in the section
// of tasks, except in a log that only grows or that the caller cannot read.
func (m writeOps) reviseLog(c Call, l *logEdit, t writeTarget, doc *memory.Document, r *memory.Revision) {
	// The caller must not learn about the entries of a file of which it reads nothing.
	known := doc.For(c.View)
	heading, atEnd := known.ClockHeading(l.at, l.topic), true
	if l.tasks {
		heading = m.Layout.TasksHeading(known)
		atEnd = t.unseen || m.Todos != nil && m.Todos.AppendOnly != nil && m.Todos.AppendOnly(t.path)
	}
	if l.reviewed {
		heading = cmp.Or(l.topic, noTopic)
	}
	usual := m.typeBelow(doc, heading)
	var texts []string
	for i := range l.blocks {
		b := &l.blocks[i]
		at := l.find(c, doc, b)
		b.already = b.before != "" || slices.ContainsFunc(l.blocks[:i], b.sameText) || at >= 0
		if value := b.attributes["supersedes"]; at >= 0 && value != "" {
			r.SetAttribute(at, "supersedes", value)
		}
		if !b.already {
			texts = append(texts, b.source(usual))
		}
	}
	switch _, dated := doc.Front.Field("updated_at"); {
	case len(texts) == 0:
		return
	case dated:
		r.SetField("updated_at", memory.Timestamp(m.Now()))
	}
	if atEnd && !l.reviewed {
		r.AppendSection(heading, texts...)
	} else {
		for _, text := range texts {
			r.Append([]string{heading}, text)
		}
	}
	if l.tasks {
		r.SetCounters()
	}
}

// setLines sets the lines of the blocks in a view of the file. Of entries with the same text,
// it is the last one.
func (l *logEdit) setLines(known *memory.Document) {
	for i := range l.blocks {
		b := &l.blocks[i]
		for _, e := range slices.Backward(known.Entries) {
			if b.before == "" && (e.Norm == b.entry.Norm || l.contains != nil && l.contains(&e, b)) {
				b.line = e.Line
				break
			}
		}
	}
}

// finishBlock completes the attributes of a block, and chooses the form of its
// text that, with the attributes, parses to exactly one entry with this text. In
// a text without such a form, as one with a code block that does not end, it
// escapes the Markdown. A task has one form.
func (m writeOps) finishBlock(b *logBlock, path string, at time.Time, task bool) error {
	b.attributes = maps.Clone(b.attributes)
	// The headings of daily notes contain the time. Only the second of two
	// equal hours at a clock change needs an attribute.
	minute := time.Date(at.Year(), at.Month(), at.Day(), at.Hour(), at.Minute(), 0, 0, at.Location())
	if m.Layout.Place(path).Kind != memory.Daily || !task && !minute.Equal(at.Truncate(time.Minute)) {
		b.attributes["updated"] = memory.Timestamp(at)
	}
	want := maps.Clone(b.attributes)
	maps.DeleteFunc(want, func(_, value string) bool { return value == "" })
	given := memory.TrimText(b.given)
	escaped := memory.ListItem(given) // keeps the lines, but not the Markdown in them
	forms := append(memory.WriteForms(given, b.item), escaped)
	if task {
		forms = []string{b.given}
	}
	for _, b.text = range forms {
		doc := m.Parse(vault.File{Path: path, Data: []byte(b.source("") + "\n")})
		if len(doc.Entries) != 1 || doc.Unsound {
			continue
		}
		b.entry = doc.Entries[0]
		got := maps.Clone(b.entry.Attributes)
		delete(got, "evidence")
		if task && len(b.entry.Tasks) == 1 || !task && maps.Equal(got, want) &&
			slices.Equal(b.entry.Evidence, b.evidence) && (b.entry.Content() == given || b.text == escaped) {
			return nil
		}
	}
	return api.Errorf(api.Invalid, "text would be parsed as the structure of the file").
		WithHint("remove Markdown markup")
}

// sameText reports whether two blocks have the same text.
func (b *logBlock) sameText(other logBlock) bool { return b.entry.Norm == other.entry.Norm }

// logTime returns the time of a note in the time zone of days. The default is
// now.
func (m writeOps) logTime(clock, day string) (time.Time, error) {
	now := m.Now().In(m.Location)
	at := now
	if day != "" {
		var err error
		day, err = m.parseDay("day", day)
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
	block, err := m.noteBlock(c, r)
	if err != nil {
		return nil, err
	}
	block.attributes["supersedes"], err = m.supersededID(ctx, c, r.Supersedes)
	if err != nil {
		return nil, err
	}
	l := &logEdit{cause: "note", at: at, topic: r.Topic, blocks: []logBlock{block}, visibility: r.Visibility}
	if r.Time == "" { // at another time, it is another event
		l.contains = func(e *memory.Entry, b *logBlock) bool {
			return e.Content() == b.entry.Content() && !e.Author().Untrusted(c.View)
		}
	}
	after, err := m.appendLog(ctx, c, l)
	if err != nil {
		return nil, err
	}
	answer := &api.NoteAnswer{Line: l.blocks[0].line, Already: after == nil || l.blocks[0].already}
	if answer.Line > 0 {
		answer.Path = after.Place.Path
	}
	if r.Supersedes == "" {
		answer.Similar = m.similarEntries(ctx, c, r.Text, answer.Path, answer.Line)
	}
	return answer, nil
}

func (m writeOps) noteBlock(c Call, r *api.NoteRequest) (b logBlock, err error) {
	if err := cmp.Or(m.checkLogText("text", r.Text), checkText("topic", r.Topic),
		m.checkOrigin(r.Source, r.Evidence)); err != nil {
		return b, err
	}
	b.given, err = m.withTags(r.Text, append(projectTags(r.Project), r.Tags...))
	if err != nil {
		return b, err
	}
	b.evidence = r.Evidence
	b.attributes = map[string]string{
		"type": r.Type, "importance": formatNumber(r.Importance), "source": sourceAttribute(c, r.Source),
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
		visibility: memory.PrivateOnly.String(),
		contains:   func(e *memory.Entry, _ *logBlock) bool { return e.Source == r.Source },
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

// projectTag precedes the name of a project in tags.
const projectTag = "project:"

// projectTags returns the tags of new text in a project.
func projectTags(project string) []string {
	if project == "" {
		return nil
	}
	return []string{projectTag + project}
}
