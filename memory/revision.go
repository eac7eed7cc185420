package memory

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/internal/diff"
)

// A Revision is a set of changes to one document. Changes are specified in
// terms of entries and applied as minimal changes of bytes.
//
// The methods record changes; [Revision.Apply] applies them or returns an
// error. Entries and tasks are identified by their indexes in the original
// document, regardless of other changes in the revision. They must exist. Create a Revision with
// [Document.Revise]; the zero value is not usable. A Revision is not safe for
// concurrent use.
type Revision struct {
	doc      *Document
	entries  map[int]*entryChange
	inserts  []insertion // in the order in which the places were first used
	fields   []fieldChange
	counters bool
	counted  []string // fields added with an initial value that SetCounters must correct
	titles   bool
}

// errStopped reports that a function for parsing has stopped the edit of a file.
var errStopped = errors.New("stopped")

type entryChange struct {
	remove     bool
	replace    *Put   // new entry; nil for none
	cut        []bool // by line of the entry: whether it is removed
	lastLine   int    // last line with text that remains
	tasks      map[int]TaskState
	attributes []attribute
}

// An insertion is a list of entries for one place.
type insertion struct {
	below    int      // the entry above them, topOfFile or endOfSection
	section  []string // of endOfSection: its path
	atEnd    bool     // the section is a new one at the end of the file
	verbatim bool     // they keep their markers and indentations
	puts     []*Put
}

// Places of an insertion other than below an entry.
const (
	topOfFile    = -1
	endOfSection = -2
)

// Revise returns a new revision of the document, without changes.
func (d *Document) Revise() *Revision {
	return &Revision{doc: d, entries: map[int]*entryChange{}}
}

// changeFor returns the change of an entry.
func (r *Revision) changeFor(i int) *entryChange {
	if r.entries[i] == nil {
		r.entries[i] = &entryChange{tasks: map[int]TaskState{}}
	}
	return r.entries[i]
}

// SetTask sets the state of a task. It changes one byte, the one in the box. In
// a section whose tasks have no boxes, it adds or removes a check mark before
// the text.
func (r *Revision) SetTask(entry, task int, s TaskState) { r.changeFor(entry).tasks[task] = s }

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
	c.attributes = append(slices.DeleteFunc(c.attributes, func(a attribute) bool { return a.Key == key }),
		attribute{key, value})
}

// Remove removes the lines of an entry and the surplus blank lines around it. A
// heading whose section becomes empty stays, unless it contains only the time of a
// removed note.
func (r *Revision) Remove(entry int) { r.changeFor(entry).remove = true }

// Replace replaces an entry with a requested one, which keeps its time of creation, its
// comments, and the attributes that the request does not set. If it has the attribute updated,
// that becomes now.
func (r *Revision) Replace(entry int, p *Put, now time.Time) {
	next, old := *p, &r.doc.Entries[entry]
	next.Inherit(old, now)
	next.below = r.doc.innerComments(old)
	r.changeFor(entry).replace = &next
}

// Insert inserts an entry below another one, or for -1 at the top of the file below its
// frontmatter. A list item takes the marker and indentation of the list around it.
func (r *Revision) Insert(after int, p *Put) { r.insert(after, nil, p) }

// insert adds entries to those for a place.
func (r *Revision) insert(below int, section []string, puts ...*Put) *insertion {
	i := slices.IndexFunc(r.inserts, func(in insertion) bool {
		return !in.atEnd && in.below == below && slices.Equal(in.section, section)
	})
	if i < 0 {
		i = len(r.inserts)
		r.inserts = append(r.inserts, insertion{below: below, section: slices.Clone(section)})
	}
	r.inserts[i].puts = append(r.inserts[i].puts, puts...)
	return &r.inserts[i]
}

// Append inserts entries at the end of a section, before
// its first subsection. The path consists of headings, outermost first, and may
// omit outer ones. A missing section is added at the end of the innermost
// existing section of the path, or of the file. An empty path is the end of the
// file.
func (r *Revision) Append(section []string, puts ...*Put) { r.insert(endOfSection, section, puts...) }

// AppendVerbatim is like [Revision.Append], but the text, a list item, keeps its
// marker and indentation. An empty path is the end of the text above the first
// heading.
func (r *Revision) AppendVerbatim(section []string, text string) {
	r.insert(endOfSection, section, verbatim(text)).verbatim = true
}

// AppendSection adds a heading with entries at the
// very end of the file, even if a section of that name exists. All existing
// bytes keep their positions. The heading is of the second level.
func (r *Revision) AppendSection(heading string, puts ...*Put) {
	r.inserts = append(r.inserts,
		insertion{below: endOfSection, section: []string{heading}, atEnd: true, puts: slices.Clone(puts)})
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
			if (c.remove || c.replace != nil || c.cut != nil || len(c.tasks)+len(c.attributes) > 0) && !yield(i) {
				return
			}
		}
	}
}

// Empty reports whether the revision changes nothing.
func (r *Revision) Empty() bool {
	for i, c := range r.entries {
		if c.remove || c.replace != nil || c.cut != nil {
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
	return len(r.inserts) == 0 && (!r.counters || len(r.doc.wrongCounters(false)) == 0)
}

// Apply applies the changes and returns the new source, or the source of the
// document if the revision is empty. The function parse must parse a source in
// the same way as the document was parsed.
//
// Apply returns an error if the document is unsound, or if more than the requested changes
// would happen.
// Every other entry keeps its text, section, tasks, attributes and readers, and
// every other field of the frontmatter keeps its value. No text becomes
// readable to more readers.
//
// If parse returns nil, Apply ends with an error.
func (r *Revision) Apply(parse func(source []byte) *Document) ([]byte, error) {
	d := r.doc
	switch {
	case r.Empty():
		return d.Source, nil
	case d.Unsound:
		return nil, fmt.Errorf("edit %s: the file cannot be changed until this problem is fixed: %s", d.Place.Path,
			d.WhyUnsound())
	}
	r = r.keepReaders()
	for _, p := range r.splitPasses() {
		if p.titles {
			p.fields = []fieldChange{{"summary", d.titles()}}
		}
		if p.counters {
			for _, f := range d.wrongCounters(false) {
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

// keepReaders returns the revision with a visibility in the frontmatter if a mark makes the
// file private and the revision may remove the mark: the rest of the file must not become
// public.
func (r *Revision) keepReaders() *Revision {
	marked := r.doc.unmarked != r.doc.Partition.Visibility
	for _, c := range r.entries {
		if marked && (c.remove || c.replace != nil || c.cut != nil || len(c.attributes) > 0) {
			kept := *r
			kept.fields = append(slices.Clip(r.fields), fieldChange{"visibility", PrivateOnly.String()})
			return &kept
		}
	}
	return r
}

// splitPasses divides a revision into groups of changes that can be applied
// together. The first one contains all changes identified by indexes of the
// original. Then follow one for each section, since an earlier one may create it,
// one for the summary, and one for the counters.
func (r *Revision) splitPasses() (list []*Revision) {
	first := &Revision{entries: r.entries, fields: r.fields}
	for i, in := range r.inserts {
		if in.below == endOfSection {
			list = append(list, &Revision{inserts: r.inserts[i : i+1]})
		} else {
			first.inserts = append(first.inserts, in)
		}
	}
	if len(first.entries)+len(first.inserts)+len(first.fields) > 0 {
		list = slices.Insert(list, 0, first)
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
	source, err := splice(d.Source, w.editList)
	if err != nil {
		return nil, err
	}
	if bytes.Equal(source, d.Source) {
		return d, nil
	}
	next := parse(source)
	if next == nil {
		return nil, errStopped
	}
	return next, w.checkResult(next)
}

type passAttempt struct {
	*Revision
	d      *Document
	parse  func([]byte) *Document
	minGap int // blank lines between blocks that become adjacent

	editList        []textEdit
	removedLines    []lineRange       // removed lines, in order
	droppedHeadings map[int]bool      // headings to remove with their section
	replacements    map[int]*Document // by entry: its replacement, parsed alone
	insertPoints    []insertionPoint  // insertion points, in order
}

// wrongCounters returns the existing but wrong counters of the frontmatter,
// with their correct values. Lists cannot be corrected.
func (d *Document) wrongCounters(lists bool) (wrong []fieldChange) {
	tasks, followUps := d.countTasks(d.frontMayTell())
	for _, c := range []fieldChange{{"tasks", tasks.String()}, {"follow_ups", followUps.String()}} {
		f, _ := d.Front.Field(c.key)
		if was := d.Front.text(c.key); (lists || f.isScalar()) && was != "" && was != c.value {
			wrong = append(wrong, c)
		}
	}
	return wrong
}

// WhyUnsound returns the message of the first problem that prevents writing to
// the file. Its result is meaningful only if d.Unsound is set.
func (d *Document) WhyUnsound() string { return d.whyUnsound }

// Rewrite returns the source for which [Shown.Text] in the view is text. The view must
// be able to read the whole document. Unchanged lines keep every byte; new lines take
// the line ending of their neighbours, and the end of the file keeps its form.
//
// A view without access to private text of the file cannot change its readers. A line
// with masked text either stays or is removed as a whole. In a new line
// the mask is ordinary text, so the caller must reject new lines with masks.
// The function parse must parse a source in the same way as the document was
// parsed. If it returns nil, Rewrite ends with an error.
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
	source, err := d.replaceLines(shown.Lines, lines)
	if err != nil {
		return nil, err
	}
	next := parse(source)
	switch {
	case next == nil:
		return nil, errStopped
	case !v.Readable(d.private) && (next.Front.Present != d.Front.Present || next.Partition != d.Partition):
		return nil, fmt.Errorf("%w: only the owner can change the readers of the file", ErrText)
	}
	return source, next.CheckReadable(v, text)
}

// replaceLines replaces the lines in which a new text differs from the shown one. Every line
// gets an ending, except the last one if the file does not end with one.
//
// Several lines may look the same but have different text under their masks, so either all of
// them must stay or none.
func (d *Document) replaceLines(shown, lines []string) ([]byte, error) {
	source, n := d.Source, d.lines.count()
	unended := n > 0 && !d.hasEnding(n)
	if unended {
		source = slices.Concat(source, d.lineEnding(n))
	}
	offset := func(line int) int {
		if line == n {
			return len(source)
		}
		return max(d.lines.start(line+1), bomLen(source))
	}
	var edits []textEdit
	for _, c := range diff.Changes(shown, lines) {
		for k := c.Old.From; k < c.Old.To; k++ {
			if d.MaskedLine(k+1) && slices.Contains(lines, shown[k]) {
				return nil, fmt.Errorf("line %d: %w", k+1, ErrMasked)
			}
		}
		var text []byte
		for _, line := range lines[c.New.From:c.New.To] {
			text = append(append(text, line...), d.lineEnding(c.Old.To+1)...)
		}
		edits = append(edits, textEdit{Span{offset(c.Old.From), offset(c.Old.To)}, text})
	}
	source, err := splice(source, edits)
	if unended {
		source = trimEnding(source)
	}
	return source, err
}

// CheckReadable returns an [ErrText] if a view of the document, which must be
// parsed from text, would not show exactly that text. So it verifies that the
// author of a text can read all of it.
func (d *Document) CheckReadable(v View, text string) error {
	if d.Unsound {
		return fmt.Errorf("%w: %s", ErrText, d.WhyUnsound())
	}
	if shown := d.Shown(v); d.For(v) != d || !slices.Equal(shown.Lines, textLines(text)) {
		return fmt.Errorf("%w: you could not read all of the text afterwards", ErrText)
	}
	return nil
}

// textLines returns the lines of a text, without endings.
func textLines(text string) []string {
	text = unixLines(text)
	text = strings.TrimPrefix(text, string(bom))
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
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
