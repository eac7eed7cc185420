package memory

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
	"unicode/utf8"
)

// A Revision is a set of changes to one document: meant in terms of its entries,
// and made in terms of its bytes, of which none changes that need not.
//
// Its methods note what is wanted; [Revision.Apply] does it, or says why it
// cannot be done. Entries and tasks are meant by their numbers in the document
// that is revised, whatever else the revision does. The zero Revision is of no
// use; a Revision is not safe for concurrent use.
type Revision struct {
	doc      *Document
	entries  map[int]*entryChange
	below    map[int][]string // texts, by the entry that they are put below; -1 for the top
	sections []sectionText    // in the order of the first text of each
	fields   []fieldChange
	counters bool
	counted  []string // fields that are only there to be counted
	titles   bool
	err      error // the first wish that cannot mean anything
}

// An entryChange is what becomes of an entry.
type entryChange struct {
	remove     bool
	replace    string // with which text; empty for none
	tasks      map[int]TaskState
	attributes []attr
}

// A sectionText is what is put at the end of a section, or into a new one at the
// end of the file.
type sectionText struct {
	path  []string
	texts []string
	fresh bool
	order [][]string
}

// Revise begins a revision of the document.
func (d *Document) Revise() *Revision { return &Revision{doc: d} }

func (r *Revision) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

// entry is the change of an entry; nil, and noted, if there is no such entry.
func (r *Revision) entry(i int) *entryChange {
	if i < 0 || i >= len(r.doc.Entries) {
		r.fail("there is no entry %d", i)
		return nil
	}
	if r.entries == nil {
		r.entries = map[int]*entryChange{}
	}
	c := r.entries[i]
	if c == nil {
		c = &entryChange{}
		r.entries[i] = c
	}
	return c
}

// SetTask ticks a task of an entry or opens it again: one byte, the one in the
// box. Where the items of a section are tasks without having boxes, a check mark
// is put before the text, or taken away.
func (r *Revision) SetTask(entry, task int, s TaskState) {
	c := r.entry(entry)
	if c == nil {
		return
	}
	if task < 0 || task >= len(r.doc.Entries[entry].Tasks) {
		r.fail("entry %d has no task %d", entry, task)
		return
	}
	if c.tasks == nil {
		c.tasks = map[int]TaskState{}
	}
	c.tasks[task] = s
}

// SetField gives a key of the frontmatter a value, in one line. Only the lines
// of that key change, a comment behind the value stays. A key that is missing is
// added at the end of the frontmatter, and a frontmatter that is missing, at the
// top of the file.
func (r *Revision) SetField(key, value string) {
	r.fields = append(slices.DeleteFunc(r.fields, func(f fieldChange) bool { return f.key == key }), fieldChange{key, value})
}

// SetAttribute gives an attribute of an entry a value, or takes it away if the
// value is empty. What else stands in the entry's comment stays as it is; an
// entry that has none gets one at the end of its first block.
func (r *Revision) SetAttribute(entry int, key, value string) {
	c := r.entry(entry)
	if c == nil {
		return
	}
	if !isKey(key) || !utf8.ValidString(value) {
		r.fail("%s=%q cannot be an attribute", key, value)
		return
	}
	c.attributes = append(slices.DeleteFunc(c.attributes, func(a attr) bool { return a.key == key }), attr{key: key, value: value})
}

// Remove takes an entry away: its lines, and as many of the blank lines around
// it as nobody would leave. A heading that no longer has anything to announce
// stays, but for one above private text only that would be shown to everybody
// from then on.
func (r *Revision) Remove(entry int) {
	if c := r.entry(entry); c != nil {
		c.remove = true
	}
}

// Replace puts a text, one block of Markdown, in the place of an entry. An
// attribute comment of the entry is kept if the text has none.
func (r *Revision) Replace(entry int, text string) {
	if c := r.entry(entry); c != nil {
		c.replace = text
		if text == "" {
			r.fail("entry %d cannot be replaced by nothing: remove it", entry)
		}
	}
}

// Insert puts a text, one block of Markdown, below an entry; -1 is the top of
// the file, below its frontmatter. An item takes the marker and the indentation
// of the list that it is put into.
func (r *Revision) Insert(after int, text string) {
	if after != -1 && r.entry(after) == nil {
		return
	}
	if r.below == nil {
		r.below = map[int][]string{}
	}
	r.below[after] = append(r.below[after], text)
}

// Append puts a text, one block of Markdown, at the end of a section, before
// its first subsection. The path names the headings, outermost first, and may
// leave out outer ones; a section that is missing is made at the end of the
// innermost one that is there, or of the file. An empty path is the end of the
// file.
func (r *Revision) Append(section []string, text string) {
	for i := range r.sections {
		if s := &r.sections[i]; !s.fresh && slices.Equal(s.path, section) {
			s.texts = append(s.texts, text)
			return
		}
	}
	r.sections = append(r.sections, sectionText{path: slices.Clone(section), texts: []string{text}})
}

// AppendSection puts texts, each one block of Markdown, below a heading of their
// own at the very end of the file, whatever sections of that name there are:
// every byte that is there stays, and stays where it is. The heading is of the
// second level, or of the first where it would otherwise show to everybody the
// title of what only some may read.
func (r *Revision) AppendSection(heading string, texts ...string) {
	if len(texts) == 0 {
		r.fail("the section %q has no text", heading)
	}
	r.sections = append(r.sections, sectionText{path: []string{heading}, texts: slices.Clone(texts), fresh: true})
}

// AppendInOrder is like [Revision.Append] for a section that stands in no other.
// If it has to be made, it comes where it belongs among the sections of a template:
// their names in order, where one of them may have several.
func (r *Revision) AppendInOrder(order [][]string, section, text string) {
	r.Append([]string{section}, text)
	for i := range r.sections {
		if s := &r.sections[i]; !s.fresh && slices.Equal(s.path, []string{section}) {
			s.order = order
		}
	}
}

// SetCounters puts the counters of tasks and follow-ups right: those that the
// frontmatter has and that are wrong when all else is done.
func (r *Revision) SetCounters() { r.counters = true }

// SetTitles puts the summary of a long-term file right when all else is done, if
// it is ours: see [Document.Titled]. One that somebody has written stays.
func (r *Revision) SetTitles() { r.titles = r.titles || r.doc.Titled() }

// Empty reports whether the revision changes nothing.
func (r *Revision) Empty() bool {
	for i, c := range r.entries {
		if c.remove || c.replace != "" {
			return false
		}
		e := &r.doc.Entries[i]
		for task, s := range c.tasks {
			if e.Tasks[task].State != s {
				return false
			}
		}
		for _, a := range c.attributes {
			if e.Attributes[a.key] != a.value {
				return false
			}
		}
	}
	for _, f := range r.fields {
		if !f.holds(&r.doc.Front) {
			return false
		}
	}
	return len(r.below) == 0 && len(r.sections) == 0 && (!r.counters || len(r.doc.wrongCounters()) == 0)
}

// Apply makes the changes and returns the new source; that of the document
// itself if the revision is empty. Parse must read a source as the document was
// read, and is used to see that what was meant has happened, and nothing else:
// every other entry says what it said, in the section where it was, with the
// same tasks, attributes and readers, and every other field of the frontmatter
// is what it was. Nothing ever becomes readable to more people, but an entry
// whose attribute visibility is set.
func (r *Revision) Apply(parse func(source []byte) *Document) ([]byte, error) {
	d := r.doc
	switch {
	case r.err != nil:
		return nil, fmt.Errorf("edit %s: %w", d.Place.Path, r.err)
	case r.Empty():
		return d.Source, nil
	case d.Unsound:
		return nil, fmt.Errorf("edit %s: the file is never written to until it is mended: %s", d.Place.Path, d.WhyUnsound())
	case d.Partition.Excerpt:
		return nil, fmt.Errorf("edit %s: this is not the whole file", d.Place.Path)
	}
	for _, p := range r.passes() {
		if p.titles {
			p.fields = []fieldChange{{"summary", d.Titles()}}
		}
		if p.counters {
			for _, f := range d.wrongCounters() {
				if !slices.ContainsFunc(r.fields, func(g fieldChange) bool { return f.key == g.key }) || slices.Contains(r.counted, f.key) {
					p.fields = append(p.fields, f)
				}
			}
		}
		next, err := p.apply(d, parse)
		if err != nil {
			return nil, fmt.Errorf("edit %s: %w", d.Place.Path, err)
		}
		d = next
	}
	return d.Source, nil
}

// A pass is what of a revision can be done at once: all that is meant by the
// numbers of the original's entries, then each section, since it may be made on
// the way, then the summary, then what has to be counted.
type pass struct {
	entries  map[int]*entryChange
	below    map[int][]string
	fields   []fieldChange
	section  *sectionText
	titles   bool
	counters bool
}

func (r *Revision) passes() []pass {
	var list []pass
	if len(r.entries)+len(r.below)+len(r.fields) > 0 {
		list = append(list, pass{entries: r.entries, below: r.below, fields: r.fields})
	}
	for i := range r.sections {
		list = append(list, pass{section: &r.sections[i]})
	}
	if r.titles {
		list = append(list, pass{titles: true})
	}
	if r.counters {
		list = append(list, pass{counters: true})
	}
	return list
}

// apply makes a pass over a document. Where blocks would run into each other it
// is made once more, with blank lines between them.
func (p *pass) apply(d *Document, parse func([]byte) *Document) (*Document, error) {
	next, err := p.try(d, parse, false)
	if unlike := (*unlikeError)(nil); errors.As(err, &unlike) {
		if apart, err := p.try(d, parse, true); err == nil {
			return apart, nil
		}
	}
	return next, err
}

func (p *pass) try(d *Document, parse func([]byte) *Document, apart bool) (*Document, error) {
	w := &work{pass: p, d: d, parse: parse, apart: apart}
	if err := w.edits(); err != nil {
		return nil, err
	}
	source, err := Splice(d.Source, w.list)
	if err != nil {
		return nil, err
	}
	if bytes.Equal(source, d.Source) {
		return d, nil
	}
	next := parse(source)
	return next, w.check(next)
}

// work is the state of one try of a pass.
type work struct {
	*pass
	d     *Document
	parse func([]byte) *Document
	apart bool // put blank lines between what is put or left next to each other

	list  []Edit
	gone  []lineRange       // the lines of what is removed, in order
	drop  map[int]bool      // headings that go with their section
	fresh map[int]*Document // what is put in the place of entries, read alone
	spots []spot            // where texts are put, in order
}

// edits finds the bytes to change.
func (w *work) edits() error {
	w.fresh = map[int]*Document{}
	for _, i := range slices.Sorted(maps.Keys(w.entries)) {
		c, e := w.entries[i], &w.d.Entries[i]
		switch {
		case c.remove:
			continue // with all others
		case c.replace != "":
			if err := w.replaceEntry(i, c); err != nil {
				return err
			}
			continue
		}
		for _, task := range slices.Sorted(maps.Keys(c.tasks)) {
			if err := w.setTask(&e.Tasks[task], c.tasks[task]); err != nil {
				return err
			}
		}
		w.setAttributes(e, c.attributes)
	}
	if !w.d.Front.Present && len(w.fields) > 0 {
		front, err := w.d.newFront(w.fields)
		if err != nil {
			return err
		}
		w.list = append(w.list, front)
	}
	for _, f := range w.fields {
		if !w.d.Front.Present {
			break
		}
		edits, err := w.d.setField(f)
		if err != nil {
			return err
		}
		w.list = append(w.list, edits...)
	}
	w.removeEntries()
	return w.insertTexts()
}

// setTask changes a box, or a check mark where there are no boxes.
func (w *work) setTask(t *Task, s TaskState) error {
	switch at := t.Box.Start; {
	case t.State == s:
	case t.Box.End > at && s == Done:
		w.list = append(w.list, Edit{t.Box, []byte("x")})
	case t.Box.End > at:
		w.list = append(w.list, Edit{t.Box, []byte(" ")})
	case s == Done:
		w.list = append(w.list, Edit{t.Box, []byte(checkMark + " ")})
	default:
		rest, ok := bytes.CutPrefix(w.d.Source[at:], []byte(checkMark))
		if !ok {
			return fmt.Errorf("line %d: the check mark does not begin the text", t.Line)
		}
		rest = bytes.TrimLeft(bytes.TrimPrefix(rest, []byte(emojiStyle)), " \t")
		w.list = append(w.list, Edit{Span{at, len(w.d.Source) - len(rest)}, nil})
	}
	return nil
}

// A done task has a check mark where tasks have no boxes. Emoji may carry a
// selector of their style.
const (
	checkMark  = "✅"
	emojiStyle = "\ufe0f"
)

// wrongCounters are the counters of the frontmatter that are there and wrong,
// with what they should be.
func (d *Document) wrongCounters() []fieldChange {
	tasks, followUps := d.counters()
	var wrong []fieldChange
	for _, c := range []fieldChange{{"tasks", tasks.String()}, {"follow_ups", followUps.String()}} {
		if f, ok := d.Front.Field(c.key); ok && f.Value != "" && f.scalar() && !c.holds(&d.Front) {
			wrong = append(wrong, c)
		}
	}
	return wrong
}

// WhyUnsound is the first problem for which nothing is written to the file.
func (d *Document) WhyUnsound() string {
	for _, p := range d.Problems {
		switch p.Code {
		case "utf8_invalid", "frontmatter_misplaced", "frontmatter_unclosed", "frontmatter_broken",
			"generated_unclosed", "private_unclosed", tooManyBlocks, markdownUnreadable:
			return p.Message
		}
	}
	return "its structure is in doubt"
}

// CompleteSession gives the frontmatter of a session's file what it should have:
// what the head says, and what is missing. A value that is a list or a map, which
// nobody could read as that key, stays.
func (r *Revision) CompleteSession(h SessionHead) {
	r.complete(h.Now, h.Summary)
	r.give("session_id", h.SessionID)
	r.give("source", h.Source)
	r.give("channel", h.Channel)
	r.give("subject_id", h.SubjectID)
	r.give("contact_id", h.ContactID)
	if h.ContactID != "" {
		r.set("contact_nickname", h.ContactNickname, h.ContactNickname != "")
	}
	r.give("contact_nickname", h.ContactNickname)
	r.SetCounters()
}

// CompleteLongTerm gives the frontmatter of a subject's long-term file what it
// should have and lacks, and a summary of ours if nobody has written one.
func (r *Revision) CompleteLongTerm(subject string, now time.Time) {
	r.complete(now, "")
	r.set("subject_id", subject, false)
	r.SetCounters()
	summary, ok := r.doc.Front.Field("summary")
	r.titles = r.titles || !ok || r.doc.Titled() || summary.scalar() && r.doc.Front.Summary == ""
}

// complete gives a frontmatter what those of all sorts have.
func (r *Revision) complete(now time.Time, summary string) {
	r.set("created_at", Timestamp(now), false)
	r.set("updated_at", Timestamp(now), true)
	r.set("summary", summary, summary != "")
	for _, key := range []string{"tasks", "follow_ups"} {
		r.set(key, Progress{}.String(), false)
		r.counted = append(r.counted, key)
	}
}

// give gives a key a value unless that is empty.
func (r *Revision) give(key, value string) {
	if value != "" {
		r.set(key, value, true)
	}
}

// set gives a key a value if it is missing, or always if that can be.
func (r *Revision) set(key, value string, always bool) {
	f, ok := r.doc.Front.Field(key)
	if !ok || always && f.scalar() {
		r.SetField(key, value)
	}
}
