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
	Open  bool      // there are open tasks in it, beside itself
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
// Each item is named at most once, and exists. A merged text is one block that
// says what is newer in the words of the draft, at least half of them. It keeps
// every exact word (see [Lost]) of both and has no other, is neither much longer
// than both nor half as short as either, and does not take a title. What has an
// open task in it is not reworded. Tasks keep their words, so nothing exact may
// stand in the draft's only; done ones stay done, an open one is not lost in one
// that is done, and becomes done only if at least half of its words are in what
// the draft calls done.
func (p *Proposal) Check(existing, draft []Mergeable, refuse func(text string) error) error {
	known, drafted := byID(existing), byID(draft)
	titles := map[string]string{} // of the file, folded, to their items
	for _, m := range existing {
		if m.Title != "" {
			titles[m.Section+"\x00"+Fold(m.Title)] = m.ID
		}
	}
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
		title := MergedTitle(was, is)
		if other := titles[was.Section+"\x00"+Fold(title)]; title != "" && other != "" && other != was.ID {
			return errors.New("it gives an item the title of another one")
		}
	}
	return nil
}

// MergedTitle is the title of an item of a file that an item of a draft is merged
// into: its own, by which others know it, if it has one.
func MergedTitle(existing, draft *Mergeable) string {
	if existing.Title != "" {
		return existing.Title
	}
	return draft.Title
}

// checkTasks says why two tasks are not taken for one.
func checkTasks(was, is *Mergeable, _ string, _ func(string) error) error {
	if lost := Lost(is.said(), was.said()); len(lost) > 0 {
		return fmt.Errorf("%q would be lost from a task", clip(lost[0]))
	}
	switch {
	case was.Open || is.Open:
		return errors.New("it merges items with open tasks in them")
	case was.State == Done && is.State == Open:
		return errors.New("an open task would be lost in one that is done")
	case was.State == Open && is.State == Done && told(was.said(), is.said()) < 0.5:
		return errors.New("an open task would be done because of another one")
	}
	return nil
}

// checkText says why a text does not say what two items do.
func checkText(was, is *Mergeable, text string, refuse func(string) error) error {
	title := MergedTitle(was, is)
	both := utf8.RuneCountInString(was.Text) + utf8.RuneCountInString(is.Text)
	length := utf8.RuneCountInString(text)
	said := title + " " + text
	switch {
	case was.Open || is.Open:
		return errors.New("an open task would be lost")
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
	if told(is.Text, said) < 0.5 {
		return errors.New("a merged text does not say what the draft says")
	}
	return oneItem(title, text)
}

// oneItem says why a text behind a title is not one item of that title.
func oneItem(title, text string) error {
	item := ListItem(text)
	if title != "" {
		item = "- **" + title + "**: " + strings.TrimPrefix(ListItem("x "+text), "- x ")
	}
	alone := (&Layout{}).Parse("x.md", []byte(item+"\n"), Meta{})
	if len(alone.Entries) != 1 || len(alone.Problems) > 0 || alone.Unsound {
		return errors.New("a merged text is not one block")
	}
	switch e := &alone.Entries[0]; {
	case e.Block != Item || len(e.Tasks) > 0 || e.Comment != (Span{}):
		return errors.New("a merged text is not one block")
	case e.Title != title && Fold(e.Title) != Fold(title):
		return errors.New("a merged text has a title of its own")
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
