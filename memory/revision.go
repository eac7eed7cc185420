package memory

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/internal/diff"
	"github.com/memwatchd/memwatchd/internal/lazyregexp"
)

// A Revision is a set of changes to one document. Changes are specified in
// terms of entries and applied as minimal changes of bytes.
//
// The methods record changes; [Revision.Apply] applies them or returns an
// error. Entries and tasks are identified by their indexes in the original
// document, regardless of other changes in the revision. Create a Revision with
// [Document.Revise]; the zero value is not usable. A Revision is not safe for
// concurrent use.
type Revision struct {
	doc      *Document
	entries  map[int]*entryChange
	below    map[int][]string // texts by the entry above them; -1 for the top
	sections []sectionText    // in the order in which the sections were first used
	fields   []fieldChange
	counters bool
	counted  []string // fields added with an initial value that SetCounters must correct
	titles   bool
	err      error // the first invalid change
}

// ErrStopped reports that a function for parsing has stopped the edit of a file.
var ErrStopped = errors.New("stopped")

type entryChange struct {
	remove     bool
	replace    string // new text; empty for none
	cut        []bool // by line of the entry: whether it is removed
	left       string // text that remains then
	lastLine   int    // last line with text that remains
	comment    string // comment of the entry to add to this line
	tasks      map[int]TaskState
	attributes []Attribute
}

// A sectionText is a list of texts for the end of a section, or for a new
// section at the end of the file.
type sectionText struct {
	path     []string
	texts    []string
	atEnd    bool
	verbatim bool
}

// Revise returns a new revision of the document, without changes.
func (d *Document) Revise() *Revision {
	return &Revision{doc: d, entries: map[int]*entryChange{}, below: map[int][]string{}}
}

func (r *Revision) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

// changeFor returns the change of an entry. If there is no such entry, it records
// an error and returns nil.
func (r *Revision) changeFor(i int) *entryChange {
	if i < 0 || i >= len(r.doc.Entries) {
		r.fail("no entry %d", i)
		return nil
	}
	if r.entries[i] == nil {
		r.entries[i] = &entryChange{tasks: map[int]TaskState{}}
	}
	return r.entries[i]
}

// SetTask sets the state of a task. It changes one byte, the one in the box. In
// a section whose tasks have no boxes, it adds or removes a check mark before
// the text.
func (r *Revision) SetTask(entry, task int, s TaskState) {
	c := r.changeFor(entry)
	if c == nil {
		return
	}
	if task < 0 || task >= len(r.doc.Entries[entry].Tasks) {
		r.fail("entry %d has no task %d", entry, task)
		return
	}
	c.tasks[task] = s
}

// SetField sets a key of the frontmatter to a one-line value. Only the lines of
// that key change; a comment after the value stays. A missing key is added at
// the end of the frontmatter, and a missing frontmatter at the top of the file.
func (r *Revision) SetField(key, value string) { r.setValue(key, value) }

func (r *Revision) setValue(key string, value any) {
	r.fields = append(slices.DeleteFunc(r.fields, func(f fieldChange) bool { return f.key == key }),
		fieldChange{key, value})
}

// SetAttribute sets an attribute of an entry, or removes it if value is empty.
// The rest of the entry's comment stays the same. An entry without a comment
// gets one at the end of its first block.
func (r *Revision) SetAttribute(entry int, key, value string) {
	c := r.changeFor(entry)
	if c == nil {
		return
	}
	if !isKey(key) || !utf8.ValidString(value) {
		r.fail("%s=%q cannot be an attribute", key, value)
		return
	}
	c.attributes = append(slices.DeleteFunc(c.attributes, func(a Attribute) bool { return a.Key == key }),
		Attribute{key, value})
}

// Remove removes the lines of an entry and the surplus blank lines around it. A
// heading whose section becomes empty stays, unless it would then become
// visible to more readers or contains only the time of a removed note.
func (r *Revision) Remove(entry int) {
	if c := r.changeFor(entry); c != nil {
		c.remove = true
	}
}

// Replace replaces an entry with a text, which must be one block of Markdown.
// If the text has no attribute comment, that of the entry stays.
func (r *Revision) Replace(entry int, text string) {
	if c := r.changeFor(entry); c != nil {
		c.replace = text
		if text == "" {
			r.fail("entry %d cannot be replaced by an empty text: remove the entry", entry)
		}
	}
}

// Insert inserts a text, one block of Markdown, below an entry, or for -1 at
// the top of the file below its frontmatter. A list item takes the marker and
// indentation of the list around it.
func (r *Revision) Insert(after int, text string) {
	if after != -1 && r.changeFor(after) == nil {
		return
	}
	r.below[after] = append(r.below[after], text)
}

// Append inserts a text, one block of Markdown, at the end of a section, before
// its first subsection. The path consists of headings, outermost first, and may
// omit outer ones. A missing section is added at the end of the innermost
// existing section of the path, or of the file. An empty path is the end of the
// file.
func (r *Revision) Append(section []string, text string) { r.appendTo(section, text) }

func (r *Revision) appendTo(section []string, text string) *sectionText {
	i := slices.IndexFunc(r.sections, func(s sectionText) bool { return !s.atEnd && slices.Equal(s.path, section) })
	if i < 0 {
		i = len(r.sections)
		r.sections = append(r.sections, sectionText{path: slices.Clone(section)})
	}
	r.sections[i].texts = append(r.sections[i].texts, text)
	return &r.sections[i]
}

// AppendVerbatim is like [Revision.Append], but the text, a list item, keeps its
// marker and indentation. An empty path is the end of the text above the first
// heading.
func (r *Revision) AppendVerbatim(section []string, text string) {
	r.appendTo(section, text).verbatim = true
}

// AppendSection adds a heading with texts, each one block of Markdown, at the
// very end of the file, even if a section of that name exists. All existing
// bytes keep their positions. The heading is of the second level, or of the
// first if it would otherwise make a private title public.
func (r *Revision) AppendSection(heading string, texts ...string) {
	if len(texts) == 0 {
		r.fail("text for the section %q is empty", heading)
	}
	r.sections = append(r.sections, sectionText{path: []string{heading}, texts: slices.Clone(texts), atEnd: true})
}

// SetCounters corrects the counters of tasks and follow-ups after all other
// changes. It does not add missing counters.
func (r *Revision) SetCounters() { r.counters = true }

// SetTitles updates the summary of a long-term file after all other changes, if
// the summary is generated: see [Document.HasGeneratedSummary]. A summary written by a user
// stays.
func (r *Revision) SetTitles() { r.titles = r.titles || r.doc.HasGeneratedSummary() }

// Changed yields the indexes of the entries that the revision replaces, removes
// or changes, in no particular order.
func (r *Revision) Changed() iter.Seq[int] {
	return func(yield func(int) bool) {
		for i, c := range r.entries {
			if (c.remove || c.replace != "" || c.cut != nil || len(c.tasks)+len(c.attributes) > 0) && !yield(i) {
				return
			}
		}
	}
}

// Empty reports whether the revision changes nothing.
func (r *Revision) Empty() bool {
	for i, c := range r.entries {
		if c.remove || c.replace != "" || c.cut != nil {
			return false
		}
		e := &r.doc.Entries[i]
		for task, s := range c.tasks {
			if e.Tasks[task].State != s {
				return false
			}
		}
		for _, a := range c.attributes {
			if e.Attributes[a.Key] != a.Value {
				return false
			}
		}
	}
	for _, f := range r.fields {
		if !f.alreadySet(&r.doc.Front) {
			return false
		}
	}
	return len(r.below) == 0 && len(r.sections) == 0 && (!r.counters || len(r.doc.wrongCounters()) == 0)
}

// Apply applies the changes and returns the new source, or the source of the
// document if the revision is empty. The function parse must parse a source in
// the same way as the document was parsed.
//
// Apply returns an error if a recorded change is invalid, if the document is
// unsound or an excerpt, or if more than the requested changes would happen.
// Every other entry keeps its text, section, tasks, attributes and readers, and
// every other field of the frontmatter keeps its value. No text becomes
// readable to more readers, except an entry whose attribute visibility is set.
//
// If parse returns nil, Apply ends with [ErrStopped].
func (r *Revision) Apply(parse func(source []byte) *Document) ([]byte, error) {
	d := r.doc
	switch {
	case r.err != nil:
		return nil, fmt.Errorf("edit %s: %w", d.Place.Path, r.err)
	case r.Empty():
		return d.Source, nil
	case d.Unsound:
		return nil, fmt.Errorf("edit %s: the file cannot be changed until this problem is fixed: %s", d.Place.Path,
			d.WhyUnsound())
	case d.Partition.Excerpt:
		return nil, fmt.Errorf("edit %s: the document is only an excerpt of the file", d.Place.Path)
	}
	for _, p := range r.splitPasses() {
		if p.titles {
			p.fields = []fieldChange{{"summary", d.Titles()}}
		}
		if p.counters {
			for _, f := range d.wrongCounters() {
				if !slices.ContainsFunc(r.fields, func(g fieldChange) bool { return f.key == g.key }) ||
					slices.Contains(r.counted, f.key) {
					p.fields = append(p.fields, f)
				}
			}
		}
		next, err := p.applyPass(d, parse)
		if err != nil {
			return nil, fmt.Errorf("edit %s: %w", d.Place.Path, err)
		}
		d = next
	}
	return d.Source, nil
}

// splitPasses divides a revision into groups of changes that can be applied
// together. The first one contains all changes identified by indexes of the
// original. Then follow one for each section, since an earlier one may create it,
// one for the summary, and one for the counters.
func (r *Revision) splitPasses() (list []*Revision) {
	if len(r.entries)+len(r.below)+len(r.fields) > 0 {
		list = append(list, &Revision{entries: r.entries, below: r.below, fields: r.fields})
	}
	for i := range r.sections {
		list = append(list, &Revision{sections: r.sections[i : i+1]})
	}
	if r.titles {
		list = append(list, &Revision{titles: true})
	}
	if r.counters {
		list = append(list, &Revision{counters: true})
	}
	return list
}

// applyPass applies the changes of a pass to a document. If the result differs from
// the intended one, applyPass retries with blank lines between blocks, which keep
// them from merging.
func (r *Revision) applyPass(d *Document, parse func([]byte) *Document) (*Document, error) {
	next, err := r.tryApply(d, parse, 0)
	if errors.Is(err, errMismatch) {
		if apart, err := r.tryApply(d, parse, 1); err == nil {
			return apart, nil
		}
	}
	return next, err
}

func (r *Revision) tryApply(d *Document, parse func([]byte) *Document, minGap int) (*Document, error) {
	w := &passAttempt{Revision: r, d: d, parse: parse, minGap: minGap}
	if err := w.computeEdits(); err != nil {
		return nil, err
	}
	source, err := Splice(d.Source, w.editList)
	if err != nil {
		return nil, err
	}
	if bytes.Equal(source, d.Source) {
		return d, nil
	}
	next := parse(source)
	if next == nil {
		return nil, ErrStopped
	}
	return next, w.checkResult(next)
}

type passAttempt struct {
	*Revision
	d      *Document
	parse  func([]byte) *Document
	minGap int // blank lines between blocks that become adjacent

	editList        []Edit
	removedLines    []lineRange       // removed lines, in order
	droppedHeadings map[int]bool      // headings to remove with their section
	replacements    map[int]*Document // by entry: its replacement, parsed alone
	insertPoints    []insertionPoint  // insertion points, in order
}

func (w *passAttempt) computeEdits() error {
	w.replacements = map[int]*Document{}
	for _, i := range slices.Sorted(maps.Keys(w.entries)) {
		c, e := w.entries[i], &w.d.Entries[i]
		switch {
		case c.remove:
			continue // removeEntries handles all of them together
		case c.cut != nil:
			if err := w.cutFromEntry(i, c); err != nil {
				return err
			}
			continue
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
	edits, err := w.d.setFields(w.fields)
	if err != nil {
		return err
	}
	w.editList = append(w.editList, edits...)
	w.removeEntries()
	return w.insertTexts()
}

// setTask adds the edit for a box, or for a check mark if the task has no box.
func (w *passAttempt) setTask(t *Task, s TaskState) error {
	switch at := t.Box.Start; {
	case t.State == s:
	case t.Box.End > at && s == Done:
		w.editList = append(w.editList, Edit{t.Box, []byte("x")})
	case t.Box.End > at:
		w.editList = append(w.editList, Edit{t.Box, []byte(" ")})
	case s == Done:
		w.editList = append(w.editList, Edit{t.Box, []byte(checkMark + " ")})
	default:
		rest, ok := bytes.CutPrefix(w.d.Source[at:], []byte(checkMark))
		if !ok {
			return fmt.Errorf("line %d: the check mark is not at the start of the text", t.Line)
		}
		rest = bytes.TrimLeft(bytes.TrimPrefix(rest, []byte(emojiStyle)), " \t")
		w.editList = append(w.editList, Edit{Span{at, len(w.d.Source) - len(rest)}, nil})
	}
	return nil
}

// Done tasks without boxes begin with a check mark. The emoji may be followed
// by a variation selector.
const (
	checkMark  = "✅"
	emojiStyle = "\ufe0f"
)

// wrongCounters returns the existing but wrong counters of the frontmatter,
// with their correct values.
func (d *Document) wrongCounters() []fieldChange {
	tasks, followUps := d.frontCounters()
	var wrong []fieldChange
	for _, c := range []fieldChange{{"tasks", tasks.String()}, {"follow_ups", followUps.String()}} {
		if f, ok := d.Front.Field(c.key); ok && f.Value != "" && f.isScalar() && !c.alreadySet(&d.Front) {
			wrong = append(wrong, c)
		}
	}
	return wrong
}

// WhyUnsound returns the message of the first problem that prevents writing to
// the file. Its result is meaningful only if d.Unsound is set.
func (d *Document) WhyUnsound() string {
	for _, p := range d.Problems {
		switch p.Code {
		case "utf8_invalid", "frontmatter_misplaced", "frontmatter_unclosed", "frontmatter_broken",
			"generated_unclosed", "private_unclosed", tooManyBlocks, markdownUnreadable:
			return p.Message
		}
	}
	return "the structure of the file is ambiguous"
}

// errMismatch reports that an edited document differs from the intended result.
var errMismatch = errors.New("not changed")

// newMismatch returns an errMismatch for a line of the original document, 0 for none.
func newMismatch(line int, problem string) error {
	if line > 0 {
		problem = fmt.Sprintf("the text at line %d %s", line, problem)
	}
	return fmt.Errorf("%w: %s", errMismatch, problem)
}

// checkResult compares the parsed result with the intended one. Each piece of the
// original must exist unchanged or changed as requested, each new piece must be
// at its insertion point, and there must be no other pieces.
func (w *passAttempt) checkResult(next *Document) error {
	if next.Unsound {
		return newMismatch(0, "the file would be damaged: "+next.WhyUnsound())
	}
	if err := w.checkFront(next); err != nil {
		return err
	}
	if err := w.checkHidden(next); err != nil {
		return err
	}
	list := next.outline(false)
	take := func() *outlineNode {
		if len(list) == 0 {
			return &outlineNode{entry: -1, heading: -1, path: []string{""}}
		}
		defer func() { list = list[1:] }()
		return &list[0]
	}
	spots := slices.Clone(w.insertPoints)
	slices.SortStableFunc(spots, func(a, b insertionPoint) int { return a.line - b.line })
	end := outlineNode{from: w.d.lines.count() + 1, entry: -1, heading: -1}
	for _, p := range append(w.d.outline(false), end) {
		for ; len(spots) > 0 && spots[0].line < p.from; spots = spots[1:] {
			for _, h := range spots[0].headings {
				if q := take(); q.level != h.Level || q.path[len(q.path)-1] != h.Text {
					return newMismatch(0, fmt.Sprintf("%q cannot be a heading", h.Text))
				}
			}
			for _, one := range spots[0].texts {
				if err := checkInsertedEntry(&one.Entries[0], next, take(), spots[0].path); err != nil {
					return err
				}
			}
		}
		if p.entry < 0 && (p.heading < 0 || w.droppedHeadings[p.heading]) ||
			p.entry >= 0 && w.entries[p.entry] != nil && w.entries[p.entry].remove {
			continue
		}
		if err := w.checkNode(&p, next, take()); err != nil {
			return err
		}
	}
	if len(list) > 0 {
		return newMismatch(0, "an extra entry would appear at line "+fmt.Sprint(list[0].from))
	}
	return nil
}

// checkInsertedEntry compares an entry with the text that was inserted for it.
func checkInsertedEntry(want *Entry, next *Document, q *outlineNode, path []string) error {
	if q.entry < 0 {
		return newMismatch(0, "the new text would not be a separate entry")
	}
	e := &next.Entries[q.entry]
	switch {
	case e.Block != want.Block || e.Norm != want.Norm || !maps.Equal(e.Attributes, want.Attributes):
		return newMismatch(0, "the new text would merge with other text, or be parsed differently here")
	case len(e.Sections) < len(path) ||
		!slices.EqualFunc(e.Sections[len(e.Sections)-len(path):], path, SameSection):
		return newMismatch(0, "the new text would be in another section")
	}
	for i, t := range want.Tasks {
		if i >= len(e.Tasks) || e.Tasks[i].State != t.State || e.Tasks[i].Norm != t.Norm {
			return newMismatch(0, "the tasks of the new text would be parsed differently here")
		}
	}
	return nil
}

// checkNode compares a heading or an entry with its original.
func (w *passAttempt) checkNode(p *outlineNode, next *Document, q *outlineNode) error {
	d := w.d
	if p.level != q.level {
		return newMismatch(p.from, "would merge with other text")
	}
	if p.level > 0 && (p.entry < 0 || q.entry < 0) {
		return w.checkHeading(p, next, q)
	}
	if q.entry < 0 {
		return newMismatch(p.from, "would be lost")
	}
	a, b, c := &d.Entries[p.entry], &next.Entries[q.entry], w.entries[p.entry]
	if c == nil {
		c = &entryChange{}
	}
	if one := w.replacements[p.entry]; one != nil {
		if err := checkInsertedEntry(&one.Entries[0], next, q, a.Sections); err != nil {
			return err
		}
		public := one.Entries[0].Attributes["visibility"] == PublicOK.String()
		if b.Partition != a.Partition && !narrowsReaders(a.Partition, b.Partition) && !public {
			return newMismatch(p.from, "would have more readers")
		}
		return nil
	}
	return w.checkEntry(a, b, c)
}

// checkHeading compares a heading with its original. Each of the two may be an
// empty heading, which is an entry. That difference alone must not make the
// heading public.
func (w *passAttempt) checkHeading(p *outlineNode, next *Document, q *outlineNode) error {
	switch {
	case !slices.Equal(p.path, q.path):
		return newMismatch(p.from, "would be parsed differently")
	case next.isPublicNode(q) && !w.d.isPublicNode(p) && !w.d.isDayTitle(p):
		return newMismatch(p.from, "would have more readers")
	}
	return nil
}

// isPublicNode reports whether every reader of a document's public text sees a
// heading or an entry.
func (d *Document) isPublicNode(p *outlineNode) bool {
	if p.entry >= 0 {
		return d.Entries[p.entry].Partition.Visibility == PublicOK
	}
	return d.publicBelow[p.heading] && !d.privateLines.overlaps(p.from, p.to)
}

// isDayTitle reports whether a heading is the title of a day's file. Such a title
// contains no more than the file's path.
func (d *Document) isDayTitle(p *outlineNode) bool {
	day, title := d.Place.Day, p.path[len(p.path)-1]
	return day != "" && p.level == 1 && (title == day || title == day+shortTermTitle)
}

// meaning is the content of an entry that only a requested change may change.
type meaning struct {
	block              Block
	norm, title, added string
	sections, tags     []string
	attributes         map[string]string
	links              []Link
	tasks              []Task
}

// meaningOf returns the meaning of an entry. Without marks, it ignores check marks at
// the start.
func meaningOf(e *Entry, marks bool) meaning {
	m := meaning{e.Block, e.Norm, e.Title, e.Added, e.Sections, e.Tags, map[string]string{}, nil, nil}
	maps.Copy(m.attributes, e.Attributes)
	if !marks {
		s, _ := strings.CutPrefix(e.Norm, checkMark)
		m.norm, m.title, m.added = strings.TrimLeft(strings.TrimPrefix(s, emojiStyle), " "), "", ""
	}
	for _, l := range e.Links {
		m.links = append(m.links, Link{Text: l.Text, Target: l.Target, Anchor: l.Anchor})
	}
	for _, t := range e.Tasks {
		m.tasks = append(m.tasks, Task{State: t.State, Norm: t.Norm, ID: t.ID, Under: t.Under, Parent: t.Parent,
			InTasks: t.InTasks, FollowUp: t.FollowUp, isEntry: t.isEntry})
	}
	return m
}

// checkEntry compares an entry with its original, apart from the requested
// changes.
func (w *passAttempt) checkEntry(a, b *Entry, c *entryChange) error {
	marks := true
	for i := range c.tasks {
		marks = marks && a.Tasks[i].Box.End > a.Tasks[i].Box.Start
	}
	want, got := meaningOf(a, marks), meaningOf(b, marks)
	for _, x := range c.attributes {
		want.attributes[x.Key] = x.Value
		if x.Value == "" {
			delete(want.attributes, x.Key)
		}
	}
	if w.changesField("tags") {
		want.tags = got.tags
	}
	for i := range want.tasks {
		if state, ok := c.tasks[i]; ok {
			want.tasks[i].State = state
		}
		if i < len(got.tasks) && want.tasks[i].isEntry && a.Attributes["id"] != b.Attributes["id"] {
			want.tasks[i].ID = got.tasks[i].ID
		}
	}
	if !reflect.DeepEqual(want, got) || len(c.tasks)+len(c.attributes) == 0 && a.Text != b.Text {
		return newMismatch(a.Line, "would have another meaning")
	}
	return w.checkReaders(a, b, c)
}

// checkReaders compares the readers of an entry with those of its original.
func (w *passAttempt) checkReaders(a, b *Entry, c *entryChange) error {
	allowed := w.changesField("visibility") || w.changesField("subject_id")
	for _, x := range c.attributes {
		if x.Key != "visibility" {
			continue
		}
		allowed = true
		if v := ParseVisibility(x.Value); x.Value != "" && b.Partition.Visibility != v {
			return newMismatch(a.Line, "would stay private despite the attribute visibility")
		} else if x.Value != "" && v == PublicOK {
			return nil
		}
	}
	if b.Partition != a.Partition && (!allowed || !narrowsReaders(a.Partition, b.Partition)) {
		return newMismatch(a.Line, "would have different readers")
	}
	return nil
}

func (w *passAttempt) changesField(key string) bool {
	return slices.ContainsFunc(w.fields, func(f fieldChange) bool { return f.key == key })
}

// narrowsReaders reports whether every reader of to is also a reader of from.
func narrowsReaders(from, to Partition) bool {
	return from.Visibility == PublicOK && (from.Owner == "" || from.Owner == to.Owner)
}

// checkFront compares the frontmatter with the intended one, field by field.
func (w *passAttempt) checkFront(next *Document) error {
	d := w.d
	want := slices.Clone(d.Front.Fields)
	for _, c := range w.fields {
		i := slices.IndexFunc(want, func(f Field) bool { return f.Key == c.key })
		if i < 0 {
			i, want = len(want), append(want, Field{Key: c.key})
		}
		want[i].Value = c.value
	}
	same := slices.EqualFunc(want, next.Front.Fields, func(a, b Field) bool {
		return a.Key == b.Key && reflect.DeepEqual(a.Value, b.Value)
	})
	switch {
	case !same || next.Front.Present != (d.Front.Present || len(w.fields) > 0):
		return newMismatch(0, "the frontmatter would have wrong values")
	case next.Own != d.Own && !narrowsReaders(d.Own, next.Own), next.Claim != d.Claim && d.Claim != "":
		return newMismatch(0, "the file would have different readers")
	}
	return nil
}

// checkHidden verifies that the text that is not indexed is unchanged, apart
// from that of removed and replaced entries.
func (w *passAttempt) checkHidden(next *Document) error {
	texts := func(d *Document, removed []lineRange) (list []string) {
		for _, s := range d.Hidden {
			from, to := d.lines.at(s.Start), d.lines.at(s.End-1)
			text := string(trimEnding(d.Source[s.Start:s.End]))
			if text != emptyComment && !slices.ContainsFunc(removed, func(r lineRange) bool { return r.overlaps(from, to) }) {
				list = append(list, text)
			}
		}
		return list
	}
	removed := slices.Clone(w.removedLines)
	for i := range w.replacements {
		removed = append(removed, lineRange{w.d.Entries[i].Line, w.d.Entries[i].EndLine})
	}
	if !slices.Equal(texts(w.d, removed), texts(next, nil)) {
		return newMismatch(0, "comments or generated text would be parsed differently")
	}
	return nil
}

// Errors of [Document.Rewrite].
var (
	// ErrText reports that the text is invalid for the file, regardless of the
	// rest of the file.
	ErrText = errors.New("the text cannot be written")
	// ErrMasked reports that the text changes a part of a line with masked
	// text, or contains such a line in a different place.
	ErrMasked = errors.New("redacted text would be lost")
	// ErrUnwritable reports that the file must not be written in its current state.
	ErrUnwritable = errors.New("the file cannot be written")
)

// Rewrite returns the source for which [Shown.Text] in the view is text. The view must
// be able to read the whole document. Unchanged lines keep every byte; new lines take
// the line ending of their neighbours, and the end of the file keeps its form.
//
// A view without access to private text of the file cannot change its readers. A line
// with masked text either stays or is removed as a whole. In a new line
// the mask is ordinary text, so the caller must reject new lines with masks.
// The function parse must parse a source in the same way as the document was
// parsed. If it returns nil, Rewrite ends with [ErrStopped].
func (d *Document) Rewrite(v View, text string, parse func(source []byte) *Document) ([]byte, error) {
	lines := textLines(text)
	shown := d.Shown(v)
	switch {
	case slices.Equal(lines, shown.Lines):
		return d.Source, nil
	case strings.Contains(text, "\x00"):
		return nil, fmt.Errorf("%w: text contains a NUL character", ErrText)
	case d.Unsound:
		return nil, fmt.Errorf("%w until this problem is fixed: %s", ErrUnwritable, d.WhyUnsound())
	}
	pairs := diff.Align(shown.Lines, lines)
	if err := d.checkMaskedLines(&shown, lines, pairs); err != nil {
		return nil, err
	}
	source := d.joinLines(d.alignLines(lines, pairs))
	next := parse(source)
	switch {
	case next == nil:
		return nil, ErrStopped
	case !d.PrivateReadable(v) && (next.Front.Present != d.Front.Present || next.Front.SubjectID != d.Front.SubjectID ||
		next.Own.Visibility != d.Own.Visibility):
		return nil, fmt.Errorf("%w: only the owner can change the readers of the file", ErrText)
	}
	return source, next.checkReadableLines(v, lines)
}

// alignLines returns lines with their endings: those of the document where pairs has the
// index of an equal line.
func (d *Document) alignLines(lines []string, pairs []int) (out [][]byte) {
	insert := func(to, at int) {
		for _, text := range lines[len(out):to] {
			out = append(out, append([]byte(text), d.lineEnding(max(at, 1))...))
		}
	}
	for k, j := range pairs {
		if j >= 0 {
			insert(j, k+1)
			s := d.lines.span(k+1, k+1)
			line := d.Source[s.Start:s.End]
			if k == 0 {
				line = bytes.TrimPrefix(line, bom)
			}
			out = append(out, line)
		}
	}
	insert(len(lines), len(pairs))
	return out
}

// checkMaskedLines returns an error if it is ambiguous which masked lines the new
// text contains. Several lines may look the same but have different text under
// their masks, so either all of them must stay or none.
func (d *Document) checkMaskedLines(shown *Shown, lines []string, pairs []int) error {
	for k, j := range pairs {
		if j < 0 && d.MaskedLine(shown.Source(k+1)) && slices.Contains(lines, shown.Lines[k]) {
			return fmt.Errorf("line %d: %w", k+1, ErrMasked)
		}
	}
	return nil
}

// CheckReadable returns an [ErrText] if a view of the document, which must be
// parsed from text, would not show exactly that text. So it verifies that the
// author of a text can read all of it.
func (d *Document) CheckReadable(v View, text string) error {
	return d.checkReadableLines(v, textLines(text))
}

func (d *Document) checkReadableLines(v View, lines []string) error {
	if d.Unsound {
		return fmt.Errorf("%w: %s", ErrText, d.WhyUnsound())
	}
	if shown := d.Shown(v); d.For(v) != d || shown.Empty() || !slices.Equal(shown.Lines, lines) {
		return fmt.Errorf("%w: you could not read all of the text afterwards", ErrText)
	}
	return nil
}

// textLines returns the lines of a text, without endings.
func textLines(text string) []string {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	text = strings.TrimPrefix(text, string(bom))
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// trimBlank returns lines without leading and trailing blank lines.
func trimBlank(lines []string) []string {
	empty := func(s string) bool { return strings.Trim(s, " \t") == "" }
	for len(lines) > 0 && empty(lines[0]) {
		lines = lines[1:]
	}
	for len(lines) > 0 && empty(lines[len(lines)-1]) {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// joinLines joins lines into a source. Every line has an ending, except the last
// one if the file does not end with one.
func (d *Document) joinLines(out [][]byte) []byte {
	n := d.lines.count()
	source := append([]byte{}, d.Source[:bomLen(d.Source)]...) // not nil, which means no file
	for i, line := range out {
		bare := trimEnding(line)
		switch last := i+1 == len(out); {
		case last && n > 0 && !d.hasEnding(n):
			line = bare
		case len(bare) == len(line):
			line = slices.Concat(line, d.lineEnding(n))
		}
		source = append(source, line...)
	}
	return source
}

// An Edit replaces the bytes of a span of a text. An empty span inserts.
type Edit struct {
	Span Span
	New  []byte
}

// Splice returns a copy of source with edits applied. The edits may be in any
// order. Edits at the same position are applied in the given order, insertions
// first. If edits overlap or lie outside the source, Splice returns an error.
func Splice(source []byte, edits []Edit) ([]byte, error) {
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, func(a, b Edit) int {
		return cmp.Or(cmp.Compare(a.Span.Start, b.Span.Start),
			cmp.Compare(min(a.Span.End, a.Span.Start+1), min(b.Span.End, b.Span.Start+1)))
	})
	out, at := make([]byte, 0, len(source)), 0
	for _, e := range edits {
		if e.Span.Start < at || e.Span.End < e.Span.Start || e.Span.End > len(source) {
			return nil, fmt.Errorf("two changes overlap at byte %d", e.Span.Start)
		}
		out = append(append(out, source[at:e.Span.Start]...), e.New...)
		at = e.Span.End
	}
	return append(out, source[at:]...), nil
}

var (
	quoteRE   = lazyregexp.New(`^ {0,3}(?:> ?)+`)
	fieldRE   = lazyregexp.New(`^([^:：=.,;!?<>|]{1,40})(?:[:：]|=)(.*)$`)
	remarksRE = lazyregexp.New(`^(?:<!--.*?-->\s*)*$`)
)

// maxFieldWords bounds the name in a line of the form "Name: value". More words are prose.
const maxFieldWords = 5

// isField reports whether a line has the form "Name: value".
func isField(line string) bool {
	m := fieldRE().FindStringSubmatch(line)
	return m != nil && len(strings.Fields(m[1])) <= maxFieldWords && strings.TrimSpace(m[1]) != "" &&
		!strings.HasPrefix(m[2], "//")
}

// MatchingParts returns the ranges of lines, from 1 to the last line inclusive, to which the
// matches in an entry can be limited, because these lines do not depend on the others: lines
// of the form "Name: value" and lines with a hard break, if a paragraph or quote consists of
// them, rows of a table, and nested items. It returns none if only the whole entry will do.
func (d *Document) MatchingParts(e *Entry, match func(text string) bool) (list [][2]int) {
	parts := d.parts(e)
	own := strings.Builder{}
	for line := e.Line; line <= e.EndLine; line++ {
		if parts.at[line-e.Line] < 0 {
			own.WriteString(d.SourceLines(line, line) + "\n")
		}
	}
	own.Write(d.Source[e.Comment.Start:e.Comment.End]) // belongs to the entry, wherever it is
	if len(parts.list) == 0 || match(own.String()) {
		return nil
	}
	for i, p := range parts.list {
		var text strings.Builder
		for line := p.from; line <= p.to; line++ {
			if parts.at[line-e.Line] == i {
				text.WriteString(d.SourceLines(line, line) + "\n")
			}
		}
		if n := len(list); match(text.String()) && (n == 0 || p.from > list[n-1][1]) {
			list = append(list, [2]int{p.from, p.to})
		}
	}
	return list
}

// entryParts are the parts of an entry that do not depend on each other.
type entryParts struct {
	list []lineRange // with the parts below them, in the order of their first lines
	at   []int       // by line of the entry: the innermost part, or -1
}

// parts returns the parts of an entry. A paragraph or a quote has none if a line of it
// continues another one.
func (d *Document) parts(e *Entry) entryParts {
	none := entryParts{at: make([]int, e.EndLine-e.Line+1)}
	for i := range none.at {
		none.at[i] = -1
	}
	p := entryParts{at: slices.Clone(none.at)}
	var open, indents []int // the parts around the line, and their indents
	first, broken := true, false
	for line := e.Line; line <= e.EndLine; line++ {
		text := d.line(line)
		if e.Block == Quote {
			text = text[len(quoteRE().FindString(text)):]
		}
		bare := strings.TrimLeft(text, " \t")
		indent := len(text) - len(bare)
		hard := strings.HasSuffix(text, "  ") || strings.HasSuffix(text, `\`)
		starts := false
		bare = strings.TrimRight(bare, " \t")
		switch {
		case remarksRE().MatchString(bare):
			continue
		case strings.HasPrefix(bare, "```"), strings.HasPrefix(bare, "~~~"):
			return none
		case e.Block == Table:
			starts = line > e.Line+1
		case e.Block == Item:
			starts = !first && listMarkerLen(bare) > 0
		case e.Block == Quote && listMarkerLen(bare) > 0:
			starts = true
		case e.Block == Quote, e.Block == Paragraph:
			starts = broken || first && hard || isField(bare)
		default:
			return none
		}
		for n := len(open); n > 0 && indents[n-1] >= indent; n-- {
			open, indents = open[:n-1], indents[:n-1]
		}
		switch {
		case starts:
			open, indents = append(open, len(p.list)), append(indents, indent)
			p.list = append(p.list, lineRange{line, line})
		case len(open) == 0 && (e.Block == Quote || e.Block == Paragraph):
			return none
		}
		for i, part := range open {
			p.list[part].to = line
			p.at[line-e.Line] = open[i]
		}
		first, broken = false, hard
	}
	if len(p.list) < 2 && (e.Block == Quote || e.Block == Paragraph) {
		return none
	}
	return p
}

// RemoveLines removes ranges of lines of an entry, such as those of [Document.MatchingParts],
// and the entry if no text remains. The attributes of the entry stay.
func (r *Revision) RemoveLines(entry int, ranges [][2]int) {
	c := r.changeFor(entry)
	if c == nil || len(ranges) == 0 {
		return
	}
	d, e := r.doc, &r.doc.Entries[entry]
	gone := make([]bool, e.EndLine-e.Line+1)
	for _, p := range ranges {
		if p[0] < e.Line || p[1] < p[0] || p[1] > e.EndLine {
			r.fail("lines %d to %d are not in the entry", p[0], p[1])
			return
		}
		for line := p[0]; line <= p[1]; line++ {
			gone[line-e.Line] = true
		}
	}
	// A blank line between two others goes with the lines above it.
	for i := 1; i < len(gone)-1; i++ {
		gone[i] = gone[i] || gone[i-1] && d.blankLine(e.Line+i)
	}
	for i := len(gone) - 2; i > 0 && gone[len(gone)-1] && (gone[i] || d.blankLine(e.Line+i)); i-- {
		gone[i] = true
	}
	var left []string
	last := 0 // of left, with text
	for i := range gone {
		if text := d.line(e.Line + i); !gone[i] {
			left = append(left, text)
			if !remarksRE().MatchString(strings.TrimSpace(text[len(quoteRE().FindString(text)):])) {
				last, c.lastLine = len(left)-1, e.Line+i
			}
		}
	}
	c.remove, c.cut = c.lastLine == 0, gone
	if c.remove {
		return
	}
	commented := e.Comment.End > 0 && gone[d.lines.at(e.Comment.Start)-e.Line]
	if commented && (e.Block == Paragraph || e.Block == Quote) { // elsewhere it belongs to the removed part
		c.comment = " " + string(d.comment(e))
		left[last] += c.comment
	}
	c.left = strings.Join(left, "\n")
}

// cutFromEntry adds the edits that remove lines from an entry.
func (w *passAttempt) cutFromEntry(i int, c *entryChange) error {
	if len(c.tasks)+len(c.attributes) > 0 {
		return fmt.Errorf("line %d: an entry that loses lines cannot have other changes", w.d.Entries[i].Line)
	}
	one, err := w.parseSingle(c.left)
	if err != nil {
		return err
	}
	w.replacements[i] = one
	for k, gone := range c.cut {
		if gone {
			s := w.d.lines.span(w.d.Entries[i].Line+k, w.d.Entries[i].Line+k)
			s.Start = max(s.Start, bomLen(w.d.Source))
			w.editList = append(w.editList, Edit{s, nil})
		}
	}
	if c.comment != "" {
		s := w.d.lines.span(c.lastLine, c.lastLine)
		at := s.Start + len(trimEnding(w.d.Source[s.Start:s.End]))
		w.editList = append(w.editList, Edit{Span{at, at}, []byte(c.comment)})
	}
	return nil
}

// removeEntries adds the edits that remove entries, and headings that must not
// stay without them.
func (w *passAttempt) removeEntries() {
	d := w.d
	w.droppedHeadings = w.emptiedHeadings()
	for i, c := range w.entries {
		if e := &d.Entries[i]; c.remove {
			w.removedLines = append(w.removedLines, lineRange{e.Line, e.EndLine})
		}
	}
	for h := range w.droppedHeadings {
		w.removedLines = append(w.removedLines, lineRange{d.Headings[h].Line, d.Headings[h].EndLine})
	}
	slices.SortFunc(w.removedLines, func(a, b lineRange) int { return a.from - b.from })
	for i := 0; i < len(w.removedLines); i++ {
		r := w.removedLines[i]
		for i+1 < len(w.removedLines) && d.adjoin(r.to, w.removedLines[i+1].from) {
			i++
			r.to = w.removedLines[i].to
		}
		w.editList = append(w.editList, w.cutLines(r))
	}
}

// adjoin reports whether only blank lines and separators are between two lines.
func (d *Document) adjoin(from, to int) bool {
	for line := from + 1; line < to; line++ {
		if !d.blankLine(line) && !d.isSeparator(line) {
			return false
		}
	}
	return true
}

// gaps returns the numbers of blank lines above and below a range of lines.
func (d *Document) gaps(r lineRange) (above, below int) {
	for r.from-above > d.bodyLine() && d.blankLine(r.from-above-1) {
		above++
	}
	for r.to+below < d.lines.count() && d.blankLine(r.to+below+1) {
		below++
	}
	return above, below
}

// withSeparator extends the lines of removed entries to the separator that they leave: one of
// two around them, or the only one if the other side is a heading or an end of the file.
func (d *Document) withSeparator(r lineRange) lineRange {
	if len(d.separators) == 0 {
		return r
	}
	above, below := d.gaps(r)
	from, to := r.from-above-1, r.to+below+1
	isEnd := func(line int) bool {
		emptyHeading := func(e Entry) bool { return e.Line == line && e.Block == EmptyHeading }
		return line < d.bodyLine() || line > d.lines.count() || d.headingAt(line) ||
			slices.ContainsFunc(d.Entries, emptyHeading)
	}
	switch up, down := d.isSeparator(from), d.isSeparator(to); {
	case down && (up || isEnd(from)):
		r.to = to
	case up && isEnd(to):
		r.from = from
	}
	return r
}

// cutLines returns the edit that removes lines together with the blank lines on
// the side that has fewer, so that the larger gap stays. At the top of a file
// no blank line stays, and at its end none is added.
func (w *passAttempt) cutLines(r lineRange) Edit {
	d, first, n := w.d, w.d.bodyLine(), w.d.lines.count()
	r = d.withSeparator(r)
	above, below := d.gaps(r)
	atEnd, atTop := r.to+below == n, r.from-above == first && first == 1
	var replacement []byte
	switch {
	case atEnd:
		r.from -= above
	case atTop:
		r.to += below
	case above == 0 && below == 0:
		if w.minGap > 0 && r.from > 1 {
			replacement = d.lineEnding(r.from - 1)
		}
	case above < below:
		r.from -= above
	case above > 0:
		r.to += below
	}
	s := d.lines.span(r.from, r.to)
	s.Start = max(s.Start, bomLen(d.Source))
	return Edit{s, replacement}
}

// emptiedHeadings returns the headings to remove with the entries below them: headings
// that would otherwise become visible to more readers, and headings with the
// time of a removed note. A heading without entries is visible to every reader
// of the file.
func (w *passAttempt) emptiedHeadings() map[int]bool {
	d := w.d
	had, remains, public := make([]bool, len(d.Headings)), make([]bool, len(d.Headings)), make([]bool, len(d.Headings))
	for i := range d.Entries {
		c := w.entries[i]
		for h := d.Entries[i].Heading; h >= 0; h = d.Headings[h].Parent {
			removed := c != nil && c.remove
			had[h], remains[h] = had[h] || removed, remains[h] || !removed
			public[h] = public[h] || d.Entries[i].Partition.Visibility == PublicOK
		}
	}
	for i := range w.below {
		if i < 0 {
			continue // at the top of the file
		}
		for h := d.Entries[i].Heading; h >= 0; h = d.Headings[h].Parent {
			remains[h] = true
		}
	}
	drop := map[int]bool{}
	for h := range d.Headings {
		exposed := d.Own.Visibility == PublicOK && !public[h] &&
			!d.privateLines.overlaps(d.Headings[h].Line, d.Headings[h].EndLine)
		if !remains[h] && (exposed || had[h] && d.isNoteHeading(h)) {
			drop[h] = true
		}
	}
	return drop
}

// isNoteHeading reports whether a heading is that of a note with a time of day, and has
// no subheadings.
func (d *Document) isNoteHeading(h int) bool {
	_, _, _, ok := headingClock(d.Headings[h].Text)
	return ok && d.Place.Day != "" && !slices.ContainsFunc(d.Headings, func(o Heading) bool { return o.Parent == h })
}
