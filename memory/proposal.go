package memory

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

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
