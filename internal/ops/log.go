package ops

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// Notes of a day are appended to the log of that day, below a heading with the
// time; existing text does not change. The log of the owner, and of a subject
// with a directory of its own, is the daily note. The log of any other subject
// is a file among the sessions of the day, because a directory made for the log
// would belong to no subject. So is the log in an inbox.

// Limits of texts: of a log entry in bytes, and of other texts and of the heading
// in characters. Longer texts are not notes.
const (
	maxText  = 16 << 10
	maxNote  = 4000
	maxTopic = 200
)

// A logEdit is a set of blocks that is appended to the log of a day in one
// change.
type logEdit struct {
	cause  string    // the operation
	at     time.Time // time of the event, in the time zone of days
	topic  string    // text of the heading; may be empty
	blocks []logBlock

	// contains reports whether a readable entry already contains a block, which is
	// then not appended. It may be nil.
	contains func(*memory.Entry, *logBlock) bool
}

// A logBlock is a Markdown block with the attributes of its entry.
type logBlock struct {
	given      string // the text of the caller
	item       bool   // whether the block is a list item even if it has one line
	attributes map[string]string
	evidence   []string

	text  string       // the block
	entry memory.Entry // the entry that the block alone parses to
}

// isPrivate reports whether only private contexts may read the block.
func (b *logBlock) isPrivate() bool {
	return memory.ParseVisibility(b.attributes["visibility"]) == memory.PrivateOnly
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

type logResult struct {
	path    string // empty if the caller may read none of the blocks
	lines   []int  // of each block in the caller's view, 0 for none
	already int    // number of blocks that existed before
}

// logTargets returns the files that may be the caller's log of a day, for text that is
// private or not.
func (m writeOps) logTargets(c Call, day string, private bool) []writeTarget {
	subject, visibility := c.Scope.Subject, ""
	var usual string
	var fresh []byte
	switch dir := memory.UserDir(subject); {
	case m.inbox(c) == "" && subject == m.Owner:
		usual, fresh = m.Layout.DailyPath(day), memory.NewDaily(day)
	case m.inbox(c) == "" && m.Layout.Users != nil && m.Layout.Users(dir):
		usual, fresh = m.Layout.UserDailyPath(dir, day), memory.WithSubject(memory.NewDaily(day), subject)
	default:
		usual, visibility = m.dayDir(c, day)+"/"+memory.SessionFile(subject), memory.PrivateOnly.String()
		fresh = memory.NewSession(memory.SessionHead{Day: day, Now: m.Now(), SubjectID: subject})
	}
	return m.targets(c, usual, visibility, private, fresh)
}

// isLog reports whether a file among the sessions of a day is the log of the
// caller's subject or of one of its aliases. Logs of earlier versions have other names.
func (m readOps) isLog(c Call, doc *memory.Document) bool {
	subject := c.View.SubjectOf(doc.Own)
	if subject == "" {
		return false
	}
	name := memory.CutEnding(doc.Place.Session) + ".md"
	return slices.Contains([]string{memory.SessionFile(subject), memory.SessionFile("log of " + subject),
		memory.SessionFile("log of " + subject + " in public")}, name)
}

// errNotOwnLog reports that a file is not the caller's log.
var errNotOwnLog = api.Errorf(api.SubjectConflict, "the log of the day belongs to another subject").
	WithHint("correct subject_id in the frontmatter, or rename the directory")

// changeLog changes the log of a day. It calls prepare with the path of the file, and
// then change, which reports whether it adds text.
func (m writeOps) changeLog(ctx context.Context, c Call, cause string, list []writeTarget,
	prepare func(path string) error, change func(*memory.Document, *memory.Revision) (adds bool)) (
	after *memory.Document, err error) {
	err = eachTarget(list, func(t writeTarget) error {
		if err := prepare(t.path); err != nil {
			return err
		}
		after, _, err = m.editFile(ctx, c, fileEdit{writeTarget: t, cause: cause,
			change: func(doc *memory.Document, r *memory.Revision) error {
				if c.View.SubjectOf(doc.Own) != c.Scope.Subject {
					return skipError{errNotOwnLog}
				}
				_, dated := doc.Front.Field("updated_at")
				if change(doc, r) && dated {
					r.SetField("updated_at", memory.Timestamp(m.Now()))
				}
				return nil
			}})
		return err
	})
	return after, err
}

func (m writeOps) appendLog(ctx context.Context, c Call, l logEdit) (*logResult, error) {
	var there []int // for each block the index of the entry that contains it, or -1
	list := m.logTargets(c, l.at.Format(time.DateOnly), l.blocks[0].isPrivate())
	after, err := m.changeLog(ctx, c, l.cause, list, func(path string) error {
		for i := range l.blocks {
			if err := m.finishBlock(&l.blocks[i], path, l.at); err != nil {
				return err
			}
		}
		return nil
	}, func(doc *memory.Document, r *memory.Revision) bool {
		there = l.findBlocks(doc, c.View)
		// The caller must not learn about the entries of a file of which it reads nothing.
		heading := doc.For(c.View).ClockHeading(l.at, l.topic)
		usual := m.typeBelow(doc, heading)
		var texts []string
		for i := range l.blocks {
			if there[i] < 0 && !slices.ContainsFunc(l.blocks[:i], l.blocks[i].sameText) {
				texts = append(texts, l.blocks[i].source(usual))
			}
		}
		if len(texts) > 0 {
			r.AppendSection(heading, texts...)
		}
		return len(texts) > 0
	})
	if err != nil {
		return nil, err
	}
	return l.locateBlocks(after, c.View, there), nil
}

// finishBlock completes the attributes of a block, and chooses the form of its
// text that, with the attributes, parses to exactly one entry with this text. In
// a text without such a form, as one with a code block that does not end, it
// escapes the Markdown.
func (m writeOps) finishBlock(b *logBlock, path string, at time.Time) error {
	b.attributes = maps.Clone(b.attributes)
	// The headings of daily notes contain the time. Only the second of two
	// equal hours at a clock change needs an attribute.
	minute := time.Date(at.Year(), at.Month(), at.Day(), at.Hour(), at.Minute(), 0, 0, at.Location())
	if m.Layout.Place(path).Kind != memory.Daily || !minute.Equal(at.Truncate(time.Minute)) {
		b.attributes["updated"] = memory.Timestamp(at)
	}
	want := map[string]string{}
	for key, value := range b.attributes {
		if value != "" {
			want[key] = value
		}
	}
	given := memory.TrimText(b.given)
	escaped := memory.ListItem(given) // keeps the lines, but not the Markdown in them
	for _, b.text = range append(memory.WriteForms(given, b.item), escaped) {
		doc := m.Parse(vault.File{Path: path, Data: []byte(b.source("") + "\n")})
		if len(doc.Entries) != 1 || doc.Unsound {
			continue
		}
		b.entry = doc.Entries[0]
		got := maps.Clone(b.entry.Attributes)
		delete(got, "evidence")
		if maps.Equal(got, want) && slices.Equal(b.entry.Evidence, b.evidence) &&
			(b.entry.Content() == given || b.text == escaped) {
			return nil
		}
	}
	return api.Errorf(api.Invalid, "text would be parsed as the structure of the file").
		WithHint("remove Markdown markup")
}

// sameText reports whether two blocks have the same text.
func (b *logBlock) sameText(other logBlock) bool { return b.entry.Norm == other.entry.Norm }

// findBlocks returns, for each block, the index of the readable entry that contains
// it, or -1.
func (l *logEdit) findBlocks(doc *memory.Document, v memory.View) []int {
	there := make([]int, len(l.blocks))
	for i := range l.blocks {
		there[i] = slices.IndexFunc(doc.Entries, func(e memory.Entry) bool {
			return l.contains != nil && e.Readable(v) && l.contains(&e, &l.blocks[i])
		})
	}
	return there
}

// locateBlocks returns the positions of the blocks in a view of the file. Of entries with
// the same text, it is the last one.
func (l *logEdit) locateBlocks(doc *memory.Document, v memory.View, there []int) *logResult {
	done := &logResult{lines: make([]int, len(l.blocks))}
	known := doc.For(v)
	if known == nil {
		return done
	}
	shown := known.Shown(v)
	for i := range l.blocks {
		norm := l.blocks[i].entry.Norm
		switch {
		case there[i] >= 0:
			done.already++
			norm = doc.Entries[there[i]].Norm
		case slices.ContainsFunc(l.blocks[:i], l.blocks[i].sameText):
			done.already++
		}
		for _, e := range slices.Backward(known.Entries) {
			if e.Norm == norm {
				done.path, done.lines[i] = doc.Place.Path, shown.Line(e.Line)
				break
			}
		}
	}
	return done
}

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
	if err := m.checkText(field, text); err != nil {
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

// logEvidence rejects invalid evidence.
func (m writeOps) logEvidence(evidence []string) error {
	for _, e := range evidence {
		if err := m.checkText("evidence", e); err != nil {
			return err
		}
		if e == "" || strings.ContainsAny(e, "\n\r") || len(e) > maxNote {
			return api.Errorf(api.Invalid, "evidence: %q is not a path, a URL or an id", e)
		}
	}
	return nil
}

// logSource rejects invalid sources.
func (m writeOps) logSource(field, source string) error {
	if err := m.checkText(field, source); err != nil {
		return err
	}
	if utf8.RuneCountInString(source) > maxTopic {
		return api.Errorf(api.TooLarge, "%s has more than %d characters", field, maxTopic)
	}
	return nil
}

// withTags appends to a text the tags that it does not have yet: to its line, or
// in a paragraph below several lines.
func (m writeOps) withTags(text string, tags []string) (string, error) {
	text = memory.TrimText(text)
	for _, tag := range tags {
		tag = strings.TrimPrefix(strings.TrimSpace(tag), "#")
		if err := m.checkText("tags", tag); err != nil {
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
