package ops

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/todosync"
	"github.com/memwatchd/memwatchd/vault"
	"github.com/memwatchd/memwatchd/vault/journal"
)

// publicByDesign is told with every draft that is written, unless somebody has made
// the file private.
const publicByDesign = "what a session writes is read in every context: leave out what is private"

// session merges a draft into the file of its session.
func (m drafting) session(ctx context.Context, c Call, r *api.SessionRequest) (*api.SessionAnswer, error) {
	answer := &api.SessionAnswer{
		Added: []api.SessionItem{}, Updated: []api.SessionItem{}, Merged: []api.SessionItem{}, LeftOut: []api.LeftOut{},
		Todos: []api.TodoPlace{}, Hints: []string{}, DryRun: r.DryRun,
	}
	if m.Disabled {
		answer.Disabled = true
		return answer, nil
	}
	if err := m.mayAdd(c); err != nil {
		return nil, err
	}
	d, err := m.readDraft(c, r, answer)
	if err != nil {
		return nil, err
	}
	if _, err := m.sync(ctx, &c, api.Fresh{Sync: new(true)}); err != nil {
		return nil, err
	}
	group := ""
	if !d.empty() {
		if group, err = m.mergeDraft(ctx, c, d, answer); err != nil {
			return nil, err
		}
	}
	m.promote(ctx, c, r, group, answer)
	answer.Hints = append(answer.Hints, m.nearLimits(c)...)
	return answer, nil
}

// A sessionDraft is a draft that may be written.
type sessionDraft struct {
	session string
	day     string
	head    memory.SessionHead
	parts   []memory.Part
	source  string // where its text comes from
	dry     bool
}

// empty reports whether nothing is left to be written.
func (d *sessionDraft) empty() bool { return len(d.parts) == 0 && d.head.Summary == "" }

// readDraft takes a request apart, and leaves out what does not belong into a
// file that everybody reads.
func (m drafting) readDraft(c Call, r *api.SessionRequest, answer *api.SessionAnswer) (*sessionDraft, error) {
	d := &sessionDraft{session: memory.HeadingLine(r.Session), day: cmp.Or(r.Day, m.day(0)), source: origin(c, r.Draft.Source), dry: r.DryRun}
	switch {
	case d.session == "":
		return nil, api.Errorf(api.Invalid, "session is needed").WithHint("give the id of the session")
	case !memory.IsDay(d.day):
		return nil, api.Errorf(api.Invalid, "day: %q is not a day such as 2026-02-04", d.day)
	case d.day > m.day(1):
		return nil, api.Errorf(api.Invalid, "day: %s is later than tomorrow", d.day)
	}
	d.head = memory.SessionHead{
		Day: d.day, Now: m.now(), SessionID: d.session, Summary: memory.HeadingLine(r.Draft.Summary),
		Source: memory.HeadingLine(r.Draft.Source), Channel: memory.HeadingLine(r.Draft.Channel),
		ContactID: memory.HeadingLine(r.Draft.ContactID), ContactNickname: memory.HeadingLine(r.Draft.ContactNickname),
	}
	for _, f := range []struct{ name, text string }{
		{"session", d.session}, {"source", d.head.Source}, {"channel", d.head.Channel},
		{"contact_id", d.head.ContactID}, {"contact_nickname", d.head.ContactNickname},
	} {
		if err := m.outside(f.name, f.text); err != nil {
			return nil, err
		}
	}
	if d.head.ContactID == "" && d.head.ContactNickname != "" {
		return nil, noContact()
	}
	if subject := r.Draft.SubjectID; subject != "" {
		if !slices.Contains(c.View.Subjects(), subject) {
			return nil, api.Errorf(api.SubjectConflict, "the subject_id in the draft is not yours")
		}
		d.head.SubjectID = subject
	}
	parts, err := convertDraft(&r.Draft).Parts()
	switch {
	case err != nil:
		return nil, api.Errorf(api.Invalid, "draft: %v", err)
	case len(parts) == 0 && d.head.Summary == "" && r.Draft.Promote == nil:
		return nil, api.Errorf(api.Invalid, "draft: it says nothing").WithHint("give it a summary, items, facts, tasks, follow_ups or links")
	}
	if reason, err := m.leaves("summary", d.head.Summary); err != nil {
		return nil, err
	} else if reason != "" {
		answer.LeftOut = append(answer.LeftOut, api.LeftOut{Item: "summary", Reason: reason})
		d.head.Summary = ""
	}
	for _, p := range parts {
		reason := ""
		if p.Private {
			reason = "it is private"
		}
		for _, text := range p.Texts {
			if reason == "" {
				if reason, err = m.leaves(p.Name, text); err != nil {
					return nil, err
				}
			}
		}
		if reason == "" {
			d.parts = append(d.parts, p)
		} else {
			answer.LeftOut = append(answer.LeftOut, api.LeftOut{Item: p.Name, Reason: reason})
		}
	}
	return d, nil
}

func noContact() *api.Error {
	return api.Errorf(api.Invalid, "contact_id is needed for a session with a contact").WithHint("the nickname may be empty, the id may not")
}

// leaves is the reason why a text is left out of a file that everybody reads, or
// empty. The error says why there can be no such text at all.
func (m drafting) leaves(field, text string) (reason string, err error) {
	err = m.outside(field, text)
	switch e, _ := errors.AsType[*api.Error](err); {
	case err == nil:
		return "", nil
	case e != nil && e.Code == api.Secret:
		return "it has a live credential in it", nil
	case memory.SaysPrivate(text):
		return "it is private", nil
	}
	return "", err
}

// mergeDraft merges a draft into the file of its session, and says what became of
// it. It returns the group of changes that it began.
func (m drafting) mergeDraft(ctx context.Context, c Call, d *sessionDraft, answer *api.SessionAnswer) (group string, err error) {
	var merge *memory.Merge
	var before, after *memory.Document
	var written vault.Written
	notes, err := m.inSessionFile(c, d.session, d.day, func(path string, fresh bool, isOurs func(*memory.Document) error) (err error) {
		a := adding{path: path, cause: "session", dry: d.dry}
		if fresh {
			head := d.head
			head.Source = m.sessionSource(c, d, &memory.Front{})
			a.fresh = memory.NewSession(head)
		}
		judged, err := m.judge(ctx, c, d, path, isOurs)
		if err != nil {
			return err
		}
		var refused error
		a.change = func(doc *memory.Document, r *memory.Revision) error {
			before, refused = doc, nil
			if refused = isOurs(doc); refused == nil {
				merge, refused = m.reviseSession(c, d, doc, r, judged)
			}
			return refused
		}
		after, written, err = m.add(ctx, c, a)
		if err = cmp.Or(refused, err); err == nil {
			judged.tell(answer)
		}
		return err
	})
	if err != nil {
		return "", err
	}
	answer.Hints = append(answer.Hints, notes...)
	m.tellMerge(c, d, merge, before, after, answer)
	if written.Changed {
		answer.Todos = m.ticked(c, m.Todos.Request(ctx, answer.Path))
	}
	return written.ID, nil
}

// reviseSession notes what a draft changes in the file of its session.
func (m drafting) reviseSession(c Call, d *sessionDraft, doc *memory.Document, r *memory.Revision, judged *judgement) (*memory.Merge, error) {
	front := &doc.Front
	if front.ContactNickname != "" && front.ContactID == "" && d.head.ContactID == "" {
		return nil, noContact()
	}
	merge, err := m.Layout.Merge(c.View, doc, d.parts)
	if err != nil {
		return nil, api.Errorf(api.Invalid, "draft: %v", err)
	}
	m.heed(judged, merge, doc)
	merge.ByRules()
	source := d.source
	if d.head.Source == "" && m.outside("source", front.Source) == nil { // its session has said it before
		source = origin(c, strings.TrimPrefix(front.Source, memory.PublicSource))
	}
	merge.Revise(r, source, d.head.Now)
	head := d.head
	head.Source = m.sessionSource(c, d, front)
	head.SubjectID = "" // whose a file is, is said when it is made
	if front.SessionID != "" {
		head.SessionID = ""
	}
	r.CompleteSession(head)
	return merge, nil
}

// sessionSource is the source that the frontmatter of a session's file is to have,
// or "" if what it has may stay. It says of the summary whether others than the
// subject have written it: so it changes with the summary, and only with it.
func (m drafting) sessionSource(c Call, d *sessionDraft, front *memory.Front) string {
	theirs := strings.HasPrefix(front.Source, memory.PublicSource)
	if d.head.Summary != "" {
		theirs = !c.View.Private()
	}
	source := d.head.Source
	switch {
	case source == "" && (d.head.Summary == "" || theirs == front.Untrusted()):
		return ""
	case source == "":
		if source = strings.TrimPrefix(front.Source, memory.PublicSource); m.outside("source", source) != nil {
			source = ""
		}
		source = cmp.Or(source, "api")
	}
	if theirs && !strings.HasPrefix(source, memory.PublicSource) {
		return memory.PublicSource + source
	}
	return source
}

// tellMerge says what became of a draft, as its caller sees it.
func (m drafting) tellMerge(c Call, d *sessionDraft, merge *memory.Merge, before, after *memory.Document, answer *api.SessionAnswer) {
	answer.Path = after.Place.Path
	doc := after.For(c.View)
	if doc == nil {
		return
	}
	shown := doc.Shown(c.View)
	for _, o := range merge.Outcomes(doc) {
		item := api.SessionItem{Item: o.Name, Section: o.Section, Text: o.Says}
		if o.Entry >= 0 {
			item.Line = shown.Line(o.Line)
			if s := doc.Entries[o.Entry].Sections; len(s) > 0 {
				item.Section = s[len(s)-1]
			}
		}
		list := map[memory.Change]*[]api.SessionItem{memory.Added: &answer.Added, memory.Updated: &answer.Updated, memory.Merged: &answer.Merged}[o.Change]
		*list = append(*list, item)
	}
	answer.Frontmatter = frontmatter(c, doc)
	if doc.Own.Visibility == memory.PublicOK {
		answer.Hints = append(answer.Hints, publicByDesign)
	}
	if d.head.SubjectID != "" && doc.Front.SubjectID != d.head.SubjectID {
		answer.Hints = append(answer.Hints, "the file is not that subject's: subject_id is given with the first draft of a session")
	}
	if doc.Front.Summary == "" {
		answer.Hints = append(answer.Hints, "the session has no summary, which is all that others are shown of it: give one with the next draft")
	}
	if d.dry {
		was := ""
		if _, err := m.Writer.Vault.Read(answer.Path); err == nil {
			was = before.For(c.View).Shown(c.View).Text()
		}
		answer.Diff, _ = diffOf(journal.Hunks([]byte(was), []byte(shown.Text())), maxDiff)
	}
}

// ticked are the places of boxes, as far as the caller may read them.
func (m drafting) ticked(c Call, boxes []todosync.Copy) []api.TodoPlace {
	places := []api.TodoPlace{}
	paths := map[string]bool{}
	for _, b := range boxes {
		paths[b.Path] = true
	}
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		doc, shown, err := m.load(c, path)
		if err != nil {
			continue
		}
		for _, t := range tasksOf(c, doc, shown, "") {
			if slices.ContainsFunc(boxes, func(b todosync.Copy) bool {
				return b.Path == path && b.Text == t.Text && b.Under == t.Under && b.Section == t.Section && b.ID == t.ID
			}) {
				places = append(places, t.place)
			}
		}
	}
	return places
}

// promote keeps at most one item of a draft for long, by the rules of what is
// remembered. That it is refused does not undo what was written.
func (m drafting) promote(ctx context.Context, c Call, r *api.SessionRequest, group string, answer *api.SessionAnswer) {
	p := r.Draft.Promote
	switch {
	case p == nil:
		return
	case r.DryRun:
		answer.Hints = append(answer.Hints, "promote: a dry run does not try it")
		return
	}
	kept, err := m.rememberItem(ctx, c, &api.RememberRequest{Title: p.Title, Text: p.Text, Explicit: p.Explicit, Session: r.Session}, r.Day, group)
	if err != nil {
		answer.Hints = append(answer.Hints, "promote: "+strings.TrimSpace(asError(err).Error()))
		return
	}
	answer.Promoted = kept
}
