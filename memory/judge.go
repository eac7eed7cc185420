package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// No rule can decide whether two differently worded items have the same
// subject. [Merge.Undecided] lists items for an external judge, a model.
// [Merge.ApplyProposal] applies the judge's proposal if nothing is lost by it.

// maxJudged is the largest number of entries of a section that a judge receives.
const maxJudged = 1000

// Undecided pairs the items of the draft that have the same text as an entry,
// and returns the remaining items with the entries that they may match. It
// omits items and entries for which tell returns false; the arguments of tell
// are the visibility and the text of each in the file. It also omits links,
// open tasks of the draft, which must not be lost, items and entries with more than a
// title and a text, and sections with more than maxJudged entries.
// If the context ends, the lists are empty.
func (m *Merge) Undecided(ctx context.Context, tell func(v Visibility, text string) bool) (existing,
	draft []Mergeable) {
	if m.applyRules(ctx, m.sameText) != nil {
		return nil, nil
	}
	listed, told := map[int]bool{}, map[int]bool{}
	mayTell := func(j int) bool {
		may, known := told[j]
		if !known {
			e := &m.doc.Entries[j]
			may = m.allowed(e) && tell(e.Partition.Visibility, string(m.doc.Source[e.Span.Start:e.Span.End]))
			told[j] = may
		}
		return may
	}
	for i := range m.Items {
		if ctx.Err() != nil {
			return nil, nil
		}
		it := &m.Items[i]
		if it.Into >= 0 || it.target != "" || it.nested || it.task != nil && !it.task.Done || len(it.section.entries) > maxJudged ||
			!tell(m.doc.Own.Visibility, it.Text) {
			continue
		}
		fit := 0
		for _, j := range it.section.entries {
			e := &m.doc.Entries[j]
			if m.taken[[2]int{j, -1}] || !mayTell(j) {
				continue
			}
			was, ok := m.mergeable(e, it)
			if !ok {
				continue
			}
			fit++
			if !listed[j] {
				listed[j], was.at = true, j
				existing = append(existing, was)
			}
		}
		if fit == 0 {
			continue
		}
		is := Mergeable{ID: fmt.Sprintf("d%d", len(draft)+1), Section: it.heading, Title: it.title, at: i,
			Task: it.task != nil}
		if is.Task {
			is.State = Done
		}
		is.Text = strings.TrimSpace(strings.Join(it.lines, "\n"))
		draft = append(draft, is)
	}
	for i := range existing {
		existing[i].ID = fmt.Sprintf("e%d", i+1)
	}
	return existing, draft
}

// mergeable returns an entry in the form for the judge of an item. It returns false if
// that form would not contain all of the entry, such as a list below its text.
func (m *Merge) mergeable(e *Entry, it *MergeItem) (Mergeable, bool) {
	head, below, _ := strings.Cut(itemContent(e), "\n")
	for line := range strings.Lines(below) {
		line = strings.TrimSpace(line)
		if line == "" || escapeStart(line) != line {
			return Mergeable{}, false // another block
		}
	}
	was := Mergeable{Section: it.heading, Task: len(e.Tasks) > 0, Text: oneLine(head + "\n" + below)}
	p := DraftEntry{Section: it.Section}
	if was.Task {
		was.State = e.Tasks[0].State
		p.task = &DraftTask{Done: was.State == Done}
	} else {
		was.Title, was.Text = splitTitle(was.Text)
	}
	p.title, p.lines = was.Title, []string{was.Text}
	again, err := m.layout.parseDraftEntry(m.doc.Place.Path, &p, it.heading, p.listItem("-"))
	return was, err == nil && again.Norm == e.Norm && was.Task == (it.task != nil)
}

// ApplyProposal applies a proposal for the items that [Merge.Undecided] returned. If
// the proposal is invalid, ApplyProposal returns an error and changes nothing. The
// function refuse returns an error for a text that must not be written. The
// lists may come from another Merge of the same draft into the same source, if
// Undecided was called for this one too.
func (m *Merge) ApplyProposal(p *Proposal, existing, draft []Mergeable, refuse func(text string) error) (err error) {
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
	for _, s := range p.Pairs {
		was, is := known[s.Existing], drafted[s.Draft]
		if was.Task {
			if err := m.pairItem(is.at, was.at, ""); err != nil {
				return err
			}
			continue
		}
		text, err := mergedText(was, is, s.Text, refuse)
		if err != nil {
			return err
		}
		one := DraftEntry{title: mergedTitle(was, is), lines: textLinesOf(text)}
		if err := m.pairItem(is.at, was.at, one.listItem("-")); err != nil {
			return err
		}
		it := &m.Items[is.at]
		if Fold(it.entry.Title) != Fold(one.title) {
			return errors.New("a merged text has a new title")
		}
		title := mergeTitle(it.entry)
		if title != "" && title != mergeTitle(&m.doc.Entries[was.at]) &&
			slices.ContainsFunc(it.section.entries, func(i int) bool {
				return mergeTitle(&m.doc.Entries[i]) == title
			}) {
			return errors.New("an item gets the title of another item")
		}
	}
	return nil
}

// A Mergeable is an item of a file or a draft, in the form for the judge that
// proposes merges.
type Mergeable struct {
	ID      string // identifies it in a [Proposal]
	Section string // items of different sections never match
	Title   string // may be empty
	Text    string // without the title

	Task  bool      // the item itself is a task
	State TaskState // of the task

	at int // index of the entry, or of the item of the draft
}

func (m *Mergeable) titleAndText() string { return strings.TrimSpace(m.Title + " " + m.Text) }

// A Proposal pairs items of a draft with items of the file, with their merged
// texts. It comes from a model, so it must pass [Proposal.Check] first.
type Proposal struct {
	Pairs []ItemPair `json:"same"`
}

// ItemPair is a pair of matching items.
type ItemPair struct {
	Existing string `json:"existing"` // ID of the item of the file
	Draft    string `json:"draft"`    // ID of the item of the draft
	Text     string `json:"text"`     // merged text without the title; ignored for tasks, which keep their words
}

// slack bounds the length of a merged text: at most this many characters more
// than both texts together.
const slack = 100

// Check returns an error if a proposal must not be applied. The lists must
// contain all items that the proposal may name; refuse returns an error for a
// text that must not be written.
//
// Each item must exist and be named at most once. A merged text consists of
// words of both items only. It contains every word of the draft's text, which is
// newer, that the file's text lacks, and every exact word (see [MissingWords]) of
// both items, except values that the draft corrects. Its length is at most that
// of both texts plus slack, and at least half of the shorter one. If a text
// lacks only what is new in the draft, the draft's own text takes its place,
// provided that it has the exact words of the file.
//
// Tasks keep their words, so an open task of the draft never matches, and every
// exact word must be in both tasks. A done task stays done. A task of the file
// matches a done task of the draft only if the draft's task contains at least
// half of its words, and all its names. In scripts without capitals it must
// contain all words.
func (p *Proposal) Check(existing, draft []Mergeable, refuse func(text string) error) error {
	known, drafted := byID(existing), byID(draft)
	used := map[string]bool{}
	for _, s := range p.Pairs {
		was, is := known[s.Existing], drafted[s.Draft]
		switch {
		case was == nil:
			return fmt.Errorf("item %q is not in the file", clipWord(s.Existing))
		case is == nil:
			return fmt.Errorf("item %q is not in the draft", clipWord(s.Draft))
		case used["e"+s.Existing], used["d"+s.Draft]:
			return fmt.Errorf("items %q and %q are merged, one of them for the second time", s.Existing, s.Draft)
		case was.Section != is.Section:
			return fmt.Errorf("items of different sections are merged, %s and %s", was.Section, is.Section)
		case was.Task != is.Task:
			return fmt.Errorf("a task is merged with an item that is not a task")
		}
		used["e"+s.Existing], used["d"+s.Draft] = true, true
		err := error(nil)
		if was.Task {
			err = checkTasks(was, is)
		} else {
			_, err = mergedText(was, is, s.Text, refuse)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// mergedTitle returns the title of a merged item: that of the file's item,
// because other entries may refer to it, else that of the draft's item.
func mergedTitle(existing, draft *Mergeable) string { return cmp.Or(existing.Title, draft.Title) }

func checkTasks(was, is *Mergeable) error {
	if is.State == Open {
		return errors.New("an open task would be lost")
	}
	for _, lost := range [][]string{MissingWords(is.titleAndText(), was.titleAndText()),
		MissingWords(was.titleAndText(), is.titleAndText())} {
		if len(lost) > 0 {
			return fmt.Errorf("%q occurs in only one of two merged tasks", clipWord(lost[0]))
		}
	}
	if WordOverlap(was.titleAndText(), is.titleAndText()) < 0.5 ||
		!containsNames(was.titleAndText(), is.titleAndText()) {
		return errors.New("a task would be marked done because of a different task")
	}
	return nil
}

// mergedText returns the text that replaces two items. In the proposed text it
// replaces values that the draft corrects. If the text then still lacks what is
// new in the draft, mergedText returns the draft's own text.
func mergedText(was, is *Mergeable, text string, refuse func(string) error) (string, error) {
	corrected := corrections(was.Text, is.titleAndText())
	for old, value := range corrected {
		if !containsWord(value, HeadingLine(text)) {
			text = replaceWord(text, old, value)
		}
	}
	if err := checkText(was, is, text, corrected, refuse); err != nil {
		return "", err
	}
	err := checkNewest(was, is, text, corrected)
	if err != nil && checkText(was, is, is.Text, corrected, refuse) == nil &&
		checkNewest(was, is, is.Text, corrected) == nil {
		return is.Text, nil
	}
	return text, err
}

// checkText returns an error if a text must not replace two items: it is empty,
// has another length or other words, or lacks an exact word of the file.
func checkText(was, is *Mergeable, text string, corrected map[string]string, refuse func(string) error) error {
	both := utf8.RuneCountInString(was.Text) + utf8.RuneCountInString(is.Text)
	length := utf8.RuneCountInString(text)
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
	known := was.titleAndText() + " " + is.titleAndText()
	for _, made := range append(MissingWords(text, known), newWords(text, known)...) {
		return fmt.Errorf("%q is in neither text", clipWord(made))
	}
	for _, lost := range MissingWords(was.titleAndText(), mergedTitle(was, is)+" "+text) {
		if corrected[lost] == "" {
			return fmt.Errorf("%q would be lost", clipWord(lost))
		}
	}
	return nil
}

// checkNewest returns an error if a text lacks a new word of the draft, or
// contains a value that the draft corrects.
func checkNewest(was, is *Mergeable, text string, corrected map[string]string) error {
	for old := range corrected {
		if containsWord(old, HeadingLine(text)) {
			return fmt.Errorf("%q is corrected by the draft", clipWord(old))
		}
	}
	said := mergedTitle(was, is) + " " + text
	for _, lost := range append(MissingWords(is.titleAndText(), said),
		newWords(is.Text, was.titleAndText()+" "+said)...) {
		return fmt.Errorf("%q would be lost", clipWord(lost))
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

func clipWord(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:40]) + "…"
	}
	return s
}
