package ops

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/internal/brief"
	"github.com/memwatchd/memwatchd/internal/dates"
	"github.com/memwatchd/memwatchd/internal/letters"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/todosync"
	"github.com/memwatchd/memwatchd/vault"
)

// maxDraft is the largest number of items in a draft, and maxDraftSections that
// of their sections, each of which takes a pass over the file.
const (
	maxDraft         = 500
	maxDraftSections = 20
)

// publicHint is the hint for a draft from a private context in a file that is
// public, because of its frontmatter or the configuration.
const publicHint = "the session file is readable in every context: omit private text"

// session merges a draft into the file of its session.
func (m writeOps) session(ctx context.Context, c Call, r *api.SessionRequest) (*api.SessionAnswer, error) {
	answer := &api.SessionAnswer{
		Added: []api.SessionItem{}, Updated: []api.SessionItem{}, Merged: []api.SessionItem{}, LeftOut: []api.LeftOut{},
		Todos: []api.TodoPlace{}, Hints: []string{}, DryRun: r.DryRun,
	}
	d, err := m.readDraft(c, r, answer)
	if err != nil {
		return nil, err
	}
	if err := m.syncIndex(ctx, &c); err != nil {
		return nil, err
	}
	if d.defaultSummary != "" { // from a hook, which repeats what was said
		m.dropKnown(c, d, r.Project)
	}
	group := ""
	if !d.empty() {
		group, err = m.mergeDraft(ctx, c, d, answer)
		if err != nil {
			return nil, err
		}
	}
	m.promoteItem(ctx, c, r, d.day, group, answer)
	if hint := eventHint(&r.Draft); hint != "" {
		answer.Hints = append(answer.Hints, hint)
	}
	answer.Hints = append(answer.Hints, m.limitHints(c, brief.English)...)
	return answer, nil
}

// eventHint returns advice on the first event of a draft that lacks its participants,
// time or description, or an empty string.
func eventHint(d *api.Draft) string {
	for _, section := range slices.Sorted(maps.Keys(d.Items)) {
		for i, item := range d.Items[section] {
			var missing []string
			for _, f := range []struct{ name, text string }{
				{"users", item.Users}, {"datetime", item.Datetime}, {"event", item.Event},
			} {
				if strings.TrimSpace(f.text) == "" {
					missing = append(missing, f.name)
				}
			}
			if item.Topic != "" && len(missing) > 0 {
				return fmt.Sprintf("items.%s[%d] lacks %s: set them in the next draft, with the same topic", section, i,
					strings.Join(missing, " and "))
			}
		}
	}
	return ""
}

type sessionDraft struct {
	session string
	day     string
	head    memory.SessionHead
	entries []memory.DraftEntry
	dry     bool
	hasTags bool // the draft has tags besides that of the project

	defaultSummary string // for a file without a summary

	// Of the last merge:
	summaryLeft bool // the file has a summary that the caller may not replace
	summaryKept bool // the draft has no summary and changes items
}

// empty reports whether nothing remains to be written. A default summary alone is nothing.
func (d *sessionDraft) empty() bool {
	return len(d.entries) == 0 && d.head.Summary == "" && !d.hasTags
}

// dropKnown removes the items that another session has written to a log of the recent days, or
// that long-term memory contains.
func (m writeOps) dropKnown(c Call, d *sessionDraft, project string) {
	tag := " #" + letters.FoldCase(projectTag+project)
	known := map[string]bool{}
	for _, doc := range m.earlierFiles(c, m.day(1)) {
		for _, e := range doc.Entries {
			if e.Attributes[sessionAttribute] != d.session && e.Readable(c.View) {
				known[strings.TrimSuffix(e.Norm, tag)] = true
			}
		}
	}
	d.entries = slices.DeleteFunc(d.entries, func(p memory.DraftEntry) bool { return p.In(known) })
}

// isPrivate reports whether the draft belongs in a private file only.
func (d *sessionDraft) isPrivate() bool { return d.head.Visibility == memory.PrivateOnly.String() }

// readDraft validates a request. It leaves out secret parts, and private parts if
// the file of a new session would be public.
func (m writeOps) readDraft(c Call, r *api.SessionRequest, answer *api.SessionAnswer) (*sessionDraft, error) {
	day, err := m.parseDay(cmp.Or(r.Day, "today"))
	if err != nil {
		return nil, err
	}
	d := &sessionDraft{session: letters.OneLine(r.Session), day: day, dry: r.DryRun}
	switch {
	case d.session == "":
		return nil, api.Errorf(api.Invalid, "session is missing").WithHint("set `session` to the id of the session")
	case d.day > m.day(1):
		return nil, api.Errorf(api.Invalid, "day: %s is later than tomorrow", d.day)
	}
	d.head = memory.SessionHead{
		Day: d.day, Now: m.Now(), SessionID: d.session, Summary: letters.OneLine(r.Draft.Summary),
		Source: letters.OneLine(r.Draft.Source), Channel: letters.OneLine(r.Draft.Channel),
		ContactID: letters.OneLine(r.Draft.ContactID), ContactNickname: letters.OneLine(r.Draft.ContactNickname),
		Visibility: r.Draft.Visibility, Tags: projectTags(letters.OneLine(r.Project)),
	}
	d.defaultSummary = letters.OneLine(r.Draft.DefaultSummary)
	switch {
	case d.head.Visibility == "":
	case !d.isPrivate():
		return nil, api.Errorf(api.Invalid, "draft: visibility: %q is not private_only", d.head.Visibility)
	case !c.View.Private():
		return nil, api.Errorf(api.Forbidden, "draft: visibility: a private session requires a private context")
	}
	if err := cmp.Or(checkText("session", d.session), checkText("project", r.Project),
		checkText("source", d.head.Source), checkText("channel", d.head.Channel),
		checkText("contact_id", d.head.ContactID), checkText("contact_nickname", d.head.ContactNickname)); err != nil {
		return nil, err
	}
	if d.head.ContactID == "" && d.head.ContactNickname != "" {
		return nil, errNoContact
	}
	tags, err := m.draftTags(r.Draft.Tags)
	if err != nil {
		return nil, err
	}
	d.hasTags, d.head.Tags = len(tags) > 0, append(d.head.Tags, tags...)
	if subject := r.Draft.SubjectID; subject != "" {
		if !slices.Contains(c.View.Subjects(), subject) {
			return nil, api.Errorf(api.SubjectConflict, "subject_id in the draft belongs to another subject")
		}
		d.head.SubjectID = subject
	}
	public := m.newSessionVisibility(c) == memory.PublicOK && !d.isPrivate()
	parts, err := convertDraft(&r.Draft).Entries()
	sections := map[string]bool{}
	for _, p := range parts {
		sections[p.Section] = true
	}
	switch {
	case err != nil:
		return nil, api.Errorf(api.Invalid, "draft: %v", err)
	case len(parts) > maxDraft:
		return nil, api.Errorf(api.TooLarge, "draft: %d items, maximum %d", len(parts), maxDraft).
			WithHint("split the draft")
	case len(sections) > maxDraftSections:
		return nil, api.Errorf(api.TooLarge, "draft: %d sections, maximum %d", len(sections), maxDraftSections).
			WithHint("split the draft")
	case len(parts) == 0 && d.head.Summary == "" && d.defaultSummary == "" && !d.hasTags && r.Draft.Promote == nil:
		return nil, api.Errorf(api.Invalid, "draft is empty").
			WithHint("set summary, tags, items, facts, tasks, follow_ups or links")
	}
	keep := func(name string, private bool, texts ...string) (kept bool, err error) {
		reason := ""
		if private && public {
			reason = privateText
		}
		for _, text := range texts {
			if reason == "" && err == nil {
				reason, err = m.omitReason(name, text)
			}
		}
		if reason != "" {
			answer.LeftOut = append(answer.LeftOut, api.LeftOut{Item: name, Reason: reason})
		}
		return reason == "", err
	}
	for i, text := range []*string{&d.head.Summary, &d.defaultSummary} {
		kept, err := keep([]string{"summary", "default_summary"}[i], false, *text)
		if err != nil {
			return nil, err
		}
		if !kept {
			*text = ""
		}
	}
	for _, p := range parts {
		kept, err := keep(p.Name, p.Private, p.Texts...)
		if err != nil {
			return nil, err
		}
		if kept {
			d.entries = append(d.entries, p)
		}
	}
	return d, nil
}

// privateText is the reason to leave a text out of a public file.
const privateText = "private text"

// entriesFor returns the entries of the draft that belong in a file. A public
// file gets no private entries.
func (d *sessionDraft) entriesFor(doc *memory.Document) []memory.DraftEntry {
	if doc.Takes(memory.PrivateOnly) {
		return d.entries
	}
	return slices.DeleteFunc(slices.Clone(d.entries), func(p memory.DraftEntry) bool { return p.Private })
}

// newSessionVisibility returns the visibility of a file that the caller creates
// for a session. A file that is created in public is public, because its author
// could not read it otherwise.
func (m readOps) newSessionVisibility(c Call) memory.Visibility {
	if !c.View.Private() {
		return memory.PublicOK
	}
	return m.Layout.Sessions
}

// newSessionFile returns the file of a new session, without a default visibility. A
// private one has a subject, which can read it.
func (m writeOps) newSessionFile(c Call, d *sessionDraft, private bool) []byte {
	head := d.head
	head.Summary, head.Visibility = cmp.Or(head.Summary, d.defaultSummary), ""
	if head.SubjectID == "" && c.Scope.Subject != m.Owner && private {
		head.SubjectID = c.Scope.Subject
	}
	m.signSession(c, &head, &memory.Front{}, cmp.Or(head.SubjectID, m.Owner), true)
	return memory.NewSession(head)
}

var errNoContact = api.Errorf(api.Invalid, "contact_id is missing").
	WithHint("set contact_id; contact_nickname is optional")

// omitReason returns the reason to leave a text out of a public file, or an empty
// string. The error reports a text that is invalid in any file.
func (m writeOps) omitReason(field, text string) (reason string, err error) {
	err = checkText(field, text)
	switch e, _ := errors.AsType[*api.Error](err); {
	case err == nil:
		return "", nil
	case e != nil && e.Code == api.Secret:
		return "contains a live credential", nil
	case memory.HasPrivateTag(text):
		return privateText, nil
	}
	return "", err
}

// mergeDraft merges a draft into the file of its session and adds the outcome
// to the answer. It returns the group of the changes.
func (m writeOps) mergeDraft(ctx context.Context, c Call, d *sessionDraft, answer *api.SessionAnswer) (group string,
	err error) {
	var merge *memory.Merge
	var before, after *memory.Document
	var written vault.Written
	if d.head.ContactID == "" {
		d.head.ContactID, err = m.sessionContact(c, d)
		if err != nil {
			return "", err
		}
	}
	var notes []string
	err = eachTarget(m.sessionTargets(c, d), func(t writeTarget) error {
		isOurs := func(doc *memory.Document) error { return m.checkSession(c, d, doc, &notes) }
		judged, err := m.requestProposal(ctx, c, d, t, isOurs)
		if err != nil {
			return err
		}
		after, written, err = m.editFile(ctx, c, fileEdit{
			writeTarget: t, cause: "session", dryRun: d.dry,
			change: func(doc *memory.Document, r *memory.Revision) (err error) {
				before, err = doc, isOurs(doc)
				if err == nil {
					merge, err = m.reviseSession(ctx, c, d, doc, r, judged)
				}
				return err
			},
		})
		if err == nil {
			judged.recordMerge(answer)
		}
		return err
	})
	if err != nil {
		return "", err
	}
	answer.Hints = append(answer.Hints, notes...)
	m.reportMerge(c, d, merge, before, after, answer)
	if written.Changed {
		answer.Todos = m.tickedPlaces(c, m.Todos.Request(ctx, answer.Path))
	}
	return written.ID, nil
}

// reviseSession records the changes of a draft in the revision of its session's
// file.
func (m writeOps) reviseSession(ctx context.Context, c Call, d *sessionDraft, doc *memory.Document,
	r *memory.Revision, judged *judgement) (*memory.Merge, error) {
	front := &doc.Front
	d.summaryLeft, d.summaryKept = false, false
	if front.ContactNickname != "" && front.ContactID == "" && d.head.ContactID == "" {
		return nil, errNoContact
	}
	merge, err := m.Layout.Merge(doc, d.entriesFor(doc), m.mayChangeEntry(c, doc.Place.Path))
	if err != nil {
		return nil, api.Errorf(api.Invalid, "draft: %v", err)
	}
	m.applyProposal(ctx, judged, merge, doc)
	if err := merge.ByRules(ctx); err != nil {
		return nil, err
	}
	merge.Revise(r, m.draftAuthor(c, d, doc), d.head.Now)
	head := d.head
	if head.Summary == "" && front.Summary == "" {
		head.Summary = d.defaultSummary
	}
	if d.defaultSummary != "" && head.Summary == "" && front.SessionID == d.session && !merge.Changes() {
		return merge, nil // from a program that repeats its draft
	}
	head.SubjectID = "" // the subject is set only when the file is created
	if front.SessionID != "" {
		head.SessionID = ""
	}
	left := false
	if !m.mayChange(c, doc.Place.Path, doc.Partition, front.Author()) {
		head = memory.SessionHead{Now: head.Now, SessionID: head.SessionID, Summary: head.Summary, Source: head.Source}
		left = front.Summary != ""
	}
	if left {
		head.Summary, head.Source = "", ""
	} else {
		m.signSession(c, &head, front, m.holder(c, doc.Partition), false)
	}
	// A program that sets a default cannot write a summary of the new items.
	kept := d.head.Summary == "" && d.defaultSummary == "" && front.Summary != "" && merge.Changes()
	if kept && !left {
		r.KeepSummary()
	}
	r.CompleteSession(head)
	if head.Summary != "" && front.By != head.By {
		r.SetField("written_by", head.By)
	}
	d.summaryLeft, d.summaryKept = left && d.head.Summary != "", kept
	return merge, nil
}

// draftAuthor returns the author of the items of a draft. If the draft has no
// source, it is that of an earlier draft.
func (m writeOps) draftAuthor(c Call, d *sessionDraft, doc *memory.Document) memory.Author {
	source := d.head.Source
	if earlier := strings.TrimPrefix(doc.Front.Source, memory.PublicSource); checkText("source", earlier) == nil {
		source = cmp.Or(source, earlier)
	}
	return m.author(c, doc, source)
}

// signSession sets the author of a session's summary in the head for a file of
// the subject holder. Without a new summary, the author stays, unless the file is
// fresh. An empty source keeps the one in the file.
func (m writeOps) signSession(c Call, head *memory.SessionHead, front *memory.Front, holder string, fresh bool) {
	author := memory.Author{Source: sourceAttribute(c, head.Source)}
	if c.Scope.Subject != holder {
		author.By = c.Scope.Subject
	}
	was := front.Author().Untrusted(memory.View{})
	switch is := author.Untrusted(memory.View{}); {
	case fresh && is:
		head.Source, head.By = author.Source, author.By
	case head.Summary == "" && (head.Source == "" || is != was):
		head.Source, head.By = "", front.By
	case head.Source == "" && is == was && front.By == author.By:
		head.By = author.By
	default:
		head.Source, head.By = author.Source, author.By
	}
}

// reportMerge adds the outcome of a draft to the answer, as its caller may see
// it.
func (m writeOps) reportMerge(c Call, d *sessionDraft, merge *memory.Merge, before, after *memory.Document,
	answer *api.SessionAnswer) {
	answer.Path = after.Place.Path
	if d.summaryLeft {
		answer.LeftOut = append(answer.LeftOut, api.LeftOut{Item: "summary",
			Reason: "the file has a summary of another author"})
	}
	doc := after.For(c.View)
	if doc == nil {
		return
	}
	if !doc.Takes(memory.PrivateOnly) {
		for _, p := range d.entries {
			if p.Private {
				answer.LeftOut = append(answer.LeftOut, api.LeftOut{Item: p.Name, Reason: privateText})
			}
		}
		if c.View.Private() {
			answer.Hints = append(answer.Hints, publicHint)
		}
	}
	for _, o := range merge.Outcomes(doc) {
		item := api.SessionItem{Item: o.Name, Section: o.Section, Text: o.EntryText, Similar: o.Similar}
		if o.Entry >= 0 {
			item.Line = o.Line
			item.Untrusted = o.Change == memory.Merged && doc.Entries[o.Entry].Author().Untrusted(c.View)
			if s := doc.Entries[o.Entry].Sections; len(s) > 0 {
				item.Section = s[len(s)-1]
			}
		}
		list := map[memory.Change]*[]api.SessionItem{memory.Added: &answer.Added, memory.Updated: &answer.Updated,
			memory.Merged: &answer.Merged}[o.Change]
		*list = append(*list, item)
	}
	answer.Frontmatter = readableFrontmatter(c, doc)
	if d.head.SubjectID != "" && doc.Front.SubjectID != d.head.SubjectID {
		answer.Hints = append(answer.Hints,
			"subject_id was ignored: set subject_id in the first draft of a session")
	}
	if doc.Front.Summary == "" {
		answer.Hints = append(answer.Hints,
			"the session has no summary, the only part that other readers see: set summary in the next draft")
	}
	if d.summaryKept && doc.Front.Summary != "" {
		answer.Hints = append(answer.Hints,
			"the session keeps its summary, which is older than its items: set summary in the next draft")
	}
	if d.dry {
		was := ""
		answer.Untrusted = len(doc.UntrustedLines(c.View)) > 0
		if _, err := m.Writer.Vault.Read(answer.Path); err == nil {
			if b := before.For(c.View); b != nil {
				shownBefore := b.Shown(c.View)
				was = shownBefore.Text()
				answer.Untrusted = answer.Untrusted || len(b.UntrustedLines(c.View)) > 0
			}
		}
		answer.Diff, _ = new(differ).hunks([]byte(was), []byte(doc.Shown(c.View).Text()))
	}
}

// tickedPlaces returns the places of boxes that the caller may read.
func (m writeOps) tickedPlaces(c Call, boxes []todosync.Copy) []api.TodoPlace {
	places, paths := []api.TodoPlace{}, convertEach(boxes, func(b todosync.Copy) string { return b.Path })
	slices.Sort(paths)
	for _, path := range slices.Compact(paths) {
		doc, err := m.loadFile(c, path)
		if err != nil {
			continue
		}
		for _, t := range tasksOf(c, doc, "") {
			if slices.ContainsFunc(boxes, func(b todosync.Copy) bool {
				return b.Path == path && b.Text == t.Text && b.Under == t.Under && b.Section == t.Section &&
					b.ID == t.ID
			}) {
				places = append(places, t.place)
			}
		}
	}
	return places
}

// promoteItem stores at most one item of a draft in long-term memory, by the rules
// of remember. A rejected item does not undo the merge.
func (m writeOps) promoteItem(ctx context.Context, c Call, r *api.SessionRequest, day, group string,
	answer *api.SessionAnswer) {
	p := r.Draft.Promote
	switch {
	case p == nil:
		return
	case r.DryRun:
		answer.Hints = append(answer.Hints, "promote: skipped by a dry run")
		return
	}
	if words := dates.Bound(p.Title+"\n"+p.Text, m.day(0), m.day(7)); words != "" {
		answer.Hints = append(answer.Hints,
			fmt.Sprintf("promote: skipped, because %q passes soon: put it into the tasks or facts of the session", words))
		return
	}
	kept, err := m.rememberItem(ctx, c,
		&api.RememberRequest{Title: p.Title, Text: p.Text, Explicit: p.Explicit, Session: r.Session}, day, group)
	if err != nil {
		answer.Hints = append(answer.Hints, "promote: "+strings.TrimSpace(asError(err).Error()))
		return
	}
	answer.Promoted = kept
}

func convertEach[A, B any](list []A, convert func(A) B) []B {
	if list == nil {
		return nil
	}
	out := make([]B, len(list))
	for i, a := range list {
		out[i] = convert(a)
	}
	return out
}

func convertDraft(d *api.Draft) *memory.Draft {
	item := func(i api.DraftItem) memory.DraftItem { return memory.DraftItem(i) }
	task := func(t api.DraftTask) memory.DraftTask { return memory.DraftTask(t) }
	draft := &memory.Draft{
		Items:     make(map[string][]memory.DraftItem, len(d.Items)),
		Facts:     convertEach(d.Facts, item),
		Tasks:     convertEach(d.Tasks, task),
		FollowUps: convertEach(d.FollowUps, task),
		Links:     convertEach(d.Links, func(l api.DraftLink) memory.DraftLink { return memory.DraftLink(l) }),
	}
	for section, items := range d.Items {
		draft.Items[section] = convertEach(items, item)
	}
	return draft
}

// draftTags returns the tags of a draft in the form of the frontmatter.
func (m writeOps) draftTags(given []string) (tags []string, err error) {
	if len(given) > api.MaxValues {
		return nil, api.Errorf(api.Invalid, "tags: %d elements, maximum %d", len(given), api.MaxValues)
	}
	if err := checkText("tags", given...); err != nil {
		return nil, err
	}
	return convertEach(given, letters.OneLine), nil
}
