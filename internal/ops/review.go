package ops

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/index"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// With hooks.review, what hooks capture and models note is an open box in a file of the day
// below review, which search leaves out unless review is set. A ticked box is accepted: its text
// moves to the log of the day. A removed one is rejected. The box is an item below a heading with
// the topic of the log.

// noTopic is the heading of boxes without a topic.
const noTopic = "Notes"

// reviewDays is the age of a file that is archived.
const reviewDays = 30

// isReviewed reports whether a text of the caller waits for a review: that of a hook or a model
// that acts for the owner.
func (m writeOps) isReviewed(c Call) bool {
	program, _, _ := strings.Cut(c.program.Name, ":")
	return m.Layout.ReviewDir != "" && c.FullAccess && (program == "hook" || program == "mcp")
}

// review makes open boxes of the entries, in a private file.
func (l *logEdit) review() {
	l.reviewed = true
	for _, p := range l.puts {
		p.Form, p.Box, p.Text = memory.TaskForm, "[ ]", memory.CleanLine(p.Text)
	}
}

// offeredFiles returns the files of the recent days below review in all of their versions: a
// text that was rejected is not offered again.
func (m writeOps) offeredFiles() (list []*memory.Document) {
	since := m.Now().AddDate(0, 0, -m.recentDays())
	for _, r := range m.Writer.Journal.List(since, m.Layout.ReviewDir, 0) {
		if _, after, err := m.Writer.Journal.Contents(r); err == nil {
			list = append(list, m.Parse(vault.File{Path: r.FilePath(), Data: after}))
		}
	}
	return list
}

// AcceptReviewed moves the texts of ticked boxes to the logs of their days. An automatic
// change unticks a box first, once no program edits the file, so that it is accepted once and
// an undo brings it back open. AcceptReviewed archives files that are older than reviewDays.
func (m *Memory) AcceptReviewed(ctx context.Context) error {
	w := m.writeOps()
	private := memory.Private.String()
	c, err := w.resolveCall(api.Caller{Scope: api.Scope{Subject: &m.Owner, Context: &private}})
	if err != nil {
		return err
	}
	var errs []error
	for doc := range w.readableFiles(c, func(f *index.FileInfo) bool { return f.Kind == memory.Review }) {
		for i := range doc.Entries {
			if e := &doc.Entries[i]; len(e.Tasks) > 0 && e.Tasks[0].State == memory.Done {
				errs = append(errs, w.acceptBox(ctx, c, doc, e))
			}
		}
		if doc.Place.Day < w.day(-reviewDays) {
			_, err := w.Writer.Move(ctx, doc.Place.Path, w.Layout.Archived(doc.Place, ""),
				vault.Change{Cause: "compress", Reason: "not reviewed for 30 days"})
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// acceptBox moves the text of a ticked box to the log.
func (m writeOps) acceptBox(ctx context.Context, c Call, doc *memory.Document, box *memory.Entry) error {
	change := func(automatic bool, group string, f func(r *memory.Revision, at int, e *memory.Entry)) error {
		_, _, err := m.editFile(ctx, c, fileEdit{writeTarget: writeTarget{path: doc.Place.Path}, cause: "review",
			group: group, automatic: automatic, change: func(doc *memory.Document, r *memory.Revision) error {
				for i := range doc.Entries {
					if e := &doc.Entries[i]; e.Norm == box.Norm && len(e.Tasks) > 0 {
						f(r, i, e)
						return nil
					}
				}
				return nil
			}})
		return err
	}
	err := change(true, "", func(r *memory.Revision, at int, _ *memory.Entry) { r.SetTask(at, 0, memory.Open) })
	if err != nil {
		return err
	}
	p := &addition{Put: memory.Put{Evidence: box.Evidence, Attributes: map[string]string{},
		Text: boxRE().ReplaceAllString(strings.Replace(box.Text, "[x]", "[ ]", 1), "")}}
	for name, value := range box.Attributes {
		if name != "updated" && name != "evidence" && name != "visibility" {
			p.Attributes[name] = value
		}
	}
	topic := ""
	if n := len(box.Sections); n > 0 && box.Sections[n-1] != noTopic {
		topic = box.Sections[n-1]
	}
	if topic == captureTopic {
		p.Form = memory.BulletForm
	}
	day, err := time.ParseInLocation(time.DateOnly, doc.Place.Day, m.Location)
	if err != nil {
		return err
	}
	at := box.Time.In(m.Location)
	if at.Format(time.DateOnly) != doc.Place.Day { // the attribute was removed
		at = day
	}
	l := &logEdit{at: at, topic: topic, visibility: memory.PrivateOnly.String(),
		putEdit: putEdit{cause: "review", puts: []*addition{p}, same: func(e *memory.Entry, p *addition) bool {
			return e.Norm == p.Entry().Norm && e.Source == p.Attributes["source"]
		}}}
	if _, err := m.appendLog(ctx, c, l); err != nil {
		return err
	}
	return change(false, l.written.ID, func(r *memory.Revision, at int, e *memory.Entry) { r.Remove(at) })
}
