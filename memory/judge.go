package memory

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// Whether two items are about the same thing, though they say it differently, no
// rule can tell. [Merge.Undecided] lists what somebody else may judge, and
// [Merge.Follow] does what that one proposes, if nothing is lost by it.

// Undecided decides on the items of the draft that say just what an entry says,
// and lists those of which nothing is decided then, with the entries that they
// may be the same as. What tell says no to is on neither list: it is given the
// text of each as it stands, or would stand, in the file, and who may read it.
// Neither are links on it, open tasks of the draft, which must not be lost, and
// entries that are more than a title, a text, and a list below.
func (m *Merge) Undecided(tell func(v Visibility, text string) bool) (existing, draft []Mergeable) {
	m.decide(m.sameText, m.sameNorm)
	listed := map[int]bool{}
	for i := range m.Items {
		it := &m.Items[i]
		if it.Into >= 0 || it.target != "" || it.task != nil && !it.task.Done || !tell(m.doc.Own.Visibility, it.Text) {
			continue
		}
		fit := 0
		for _, j := range it.Candidates {
			e := &m.doc.Entries[j]
			if m.taken[[2]int{j, -1}] || !tell(e.Partition.Visibility, string(m.doc.Source[e.Span.Start:e.Span.End])) {
				continue
			}
			was, ok := m.mergeable(e, it)
			if !ok {
				continue
			}
			if fit++; !listed[j] {
				listed[j], was.at = true, j
				existing = append(existing, was)
			}
		}
		if fit == 0 {
			continue
		}
		is := Mergeable{ID: fmt.Sprintf("d%d", len(draft)+1), Section: it.section, Title: it.title, at: i, Task: it.task != nil}
		if is.Task {
			is.State = Done
		}
		is.Text = strings.TrimSpace(strings.Join(it.lines, "\n"))
		if it.nested {
			is.lines = it.lines[1:]
		}
		draft = append(draft, is)
	}
	for i := range existing {
		existing[i].ID = fmt.Sprintf("e%d", i+1)
	}
	return existing, draft
}

// mergeable is an entry as it is shown to whoever judges whether it is the same
// as an item. It is false if that would not be all of it.
func (m *Merge) mergeable(e *Entry, it *MergeItem) (Mergeable, bool) {
	p := Part{Section: it.Section}
	was := Mergeable{Section: it.section}
	if len(e.Tasks) > 0 {
		if was.Task, was.State = true, e.Tasks[0].State; len(e.Tasks) > 1 || !e.Tasks[0].top {
			return was, false
		}
	}
	head, below, _ := strings.Cut(content(e), "\n")
	if title, text := splitTitle(head); title != "" && !was.Task {
		p.title, head = strings.TrimSpace(title), text
	}
	p.lines = []string{strings.TrimSpace(head)}
	for indented := range strings.Lines(below) {
		line := strings.TrimSpace(indented)
		n := listMarkerLen(line)
		switch last := len(p.lines) - 1; {
		case n > 0 && line[0] == indented[0]:
			p.lines, p.nested = append(p.lines, strings.TrimSpace(line[n:])), true
		case line != "" && escapeStart(line) == line:
			p.lines[last] = strings.TrimSpace(p.lines[last] + " " + line)
		default:
			return was, false
		}
	}
	if label := strings.TrimRight(p.lines[0], ":："); p.nested && p.title == "" && label != p.lines[0] {
		p.title, p.lines[0] = label, ""
	}
	was.Title, was.Text = p.title, strings.TrimSpace(strings.Join(p.lines, "\n"))
	if p.nested {
		was.lines = p.lines[1:]
	}
	if was.Task {
		p.task = &DraftTask{Done: was.State == Done}
	}
	again, err := m.layout.readPart(m.doc.Place.Path, &p, it.section, p.item("-"))
	return was, err == nil && again.Norm == e.Norm && was.Task == (it.task != nil)
}

// Follow does what a proposal says of the items that [Merge.Undecided] has listed,
// or nothing: the error says why that is not done. Refuse says why a text cannot
// be written at all. The lists may be those of another Merge of the same draft
// into the same source, if Undecided has been called for this one too.
func (m *Merge) Follow(p *Proposal, existing, draft []Mergeable, refuse func(text string) error) (err error) {
	items, taken := slices.Clone(m.Items), maps.Clone(m.taken)
	defer func() {
		if err != nil {
			m.Items, m.taken = items, taken
		}
	}()
	if err := p.Check(existing, draft, refuse); err != nil {
		return err
	}
	known, drafted := byID(existing), byID(draft)
	for _, s := range p.Same {
		was, is := known[s.Existing], drafted[s.Draft]
		if was.Task {
			if err := m.Same(is.at, was.at, ""); err != nil {
				return err
			}
			continue
		}
		one := mergedPart(was, is, s.Text)
		if err := m.Same(is.at, was.at, one.item("-")); err != nil {
			return err
		}
		it := &m.Items[is.at]
		if Fold(it.entry.Title) != Fold(one.title) {
			return errors.New("a merged text has a title of its own")
		}
		title := mergeTitle(it.entry)
		if title != "" && title != mergeTitle(&m.doc.Entries[was.at]) && slices.ContainsFunc(it.Candidates, func(i int) bool {
			return mergeTitle(&m.doc.Entries[i]) == title
		}) {
			return errors.New("it gives an item the title of another one")
		}
	}
	return nil
}

// mergedPart is a text that two items are to say from then on. Where one of them
// has a list below, what is behind the first line is one.
func mergedPart(was, is *Mergeable, text string) Part {
	p := Part{title: mergedTitle(was, is), lines: textLinesOf(text), nested: len(was.lines)+len(is.lines) > 0}
	for i, line := range p.lines {
		if n := listMarkerLen(line); n > 0 && (i > 0 || p.nested) {
			p.lines[i] = strings.TrimSpace(line[n:])
		}
	}
	if p.nested && p.title != "" && slices.ContainsFunc(slices.Concat(was.lines, is.lines), func(l string) bool { return label(l) == label(p.lines[0]) }) {
		p.lines = slices.Insert(p.lines, 0, "")
	}
	return p
}

// label is what stands before the colon of a line; the line, if it has none.
func label(line string) string {
	if at := strings.IndexAny(line, ":："); at >= 0 {
		line = line[:at]
	}
	return Fold(line)
}

// A Mergeable is an item of a file, or of a draft for it, as whoever proposes
// what to merge is shown it.
type Mergeable struct {
	ID      string // stands for it in a [Proposal]
	Section string // items of different sections are never the same
	Title   string // empty if it has none
	Text    string // what it says behind the title

	Task  bool      // it is a task itself
	State TaskState // of the task

	at    int      // the number of the entry, or of the item of the draft
	lines []string // of the text that are items of their own
}

// said is all that it says.
func (m *Mergeable) said() string { return strings.TrimSpace(m.Title + " " + m.Text) }

// A Proposal says which items of a draft are about the same thing as items of
// the file, and what to say of it from then on. It is a model's, so it is worth
// nothing before [Proposal.Check].
type Proposal struct {
	Same []Same `json:"same"`
}

// Same is one item that stands in both.
type Same struct {
	Existing string `json:"existing"` // the ID of the item of the file
	Draft    string `json:"draft"`    // that of the draft
	Text     string `json:"text"`     // what both say, behind the title; ignored for tasks, which keep their words
}

// slack is how many characters a merged text may have more than both together.
const slack = 100

// Check says why a proposal is not followed, or nil. The items are all those that
// it may be about; refuse says why a text cannot be written at all.
//
// Each item is named at most once, and exists. A merged text says what is newer in
// the words of the draft, at least half of them. It keeps every exact word (see
// [Lost]) of both and has no other, and is neither much longer than both nor half
// as short as either.
//
// Tasks keep their words, so an open one of the draft is never the same as
// another, and nothing exact may stand in one of two only. What is done stays
// done. One of the file is what the draft calls done only if at least half of its
// words are in that, and all names: in scripts without capitals, all of it.
func (p *Proposal) Check(existing, draft []Mergeable, refuse func(text string) error) error {
	known, drafted := byID(existing), byID(draft)
	used := map[string]bool{}
	for _, s := range p.Same {
		was, is := known[s.Existing], drafted[s.Draft]
		switch {
		case was == nil:
			return fmt.Errorf("it names an item %q that is not in the file", clip(s.Existing))
		case is == nil:
			return fmt.Errorf("it names an item %q that is not in the draft", clip(s.Draft))
		case used["e"+s.Existing], used["d"+s.Draft]:
			return fmt.Errorf("it merges item %q and item %q, one of them for the second time", s.Existing, s.Draft)
		case was.Section != is.Section:
			return fmt.Errorf("it merges items of two sections, %s and %s", was.Section, is.Section)
		case was.Task != is.Task:
			return fmt.Errorf("it merges a task and what is none")
		}
		used["e"+s.Existing], used["d"+s.Draft] = true, true
		check := checkText
		if was.Task {
			check = checkTasks
		}
		if err := check(was, is, s.Text, refuse); err != nil {
			return err
		}
	}
	return nil
}

// mergedTitle is the title of an item of a file that an item of a draft is merged
// into: its own, by which others know it, if it has one.
func mergedTitle(existing, draft *Mergeable) string {
	if existing.Title != "" {
		return existing.Title
	}
	return draft.Title
}

// checkTasks says why two tasks are not taken for one.
func checkTasks(was, is *Mergeable, _ string, _ func(string) error) error {
	if is.State == Open {
		return errors.New("an open task would be lost")
	}
	for _, lost := range [][]string{Lost(is.said(), was.said()), Lost(was.said(), is.said())} {
		if len(lost) > 0 {
			return fmt.Errorf("%q stands in one of two tasks only", clip(lost[0]))
		}
	}
	if Shared(was.said(), is.said()) < 0.5 || !named(was.said(), is.said()) {
		return errors.New("a task would be done because of another one")
	}
	return nil
}

// checkText says why a text does not say what two items do.
func checkText(was, is *Mergeable, text string, refuse func(string) error) error {
	title := mergedTitle(was, is)
	both := utf8.RuneCountInString(was.Text) + utf8.RuneCountInString(is.Text)
	length := utf8.RuneCountInString(text)
	said := title + " " + text
	switch {
	case strings.TrimSpace(text) == "":
		return errors.New("a merged text is empty")
	case length > both+slack:
		return errors.New("a merged text is longer than both texts together")
	case 2*length < min(utf8.RuneCountInString(was.Text), utf8.RuneCountInString(is.Text)):
		return errors.New("a merged text is much shorter than either text")
	}
	if err := refuse(text); err != nil {
		return err
	}
	for _, m := range []*Mergeable{was, is} {
		if lost := Lost(m.said(), said); len(lost) > 0 {
			return fmt.Errorf("%q would be lost", clip(lost[0]))
		}
	}
	if made := Lost(text, was.said()+" "+is.said()); len(made) > 0 {
		return fmt.Errorf("%q is in neither text", clip(made[0]))
	}
	if Shared(is.Text, said) < 0.5 {
		return errors.New("a merged text does not say what the draft says")
	}
	return nil
}

func byID(items []Mergeable) map[string]*Mergeable {
	m := make(map[string]*Mergeable, len(items))
	for i := range items {
		m[items[i].ID] = &items[i]
	}
	return m
}

// clip is a word as it may stand in an error.
func clip(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:40]) + "…"
	}
	return s
}
