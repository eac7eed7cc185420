package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
)

// No rule can decide whether two differently worded items have the same
// subject. [Merge.Undecided] lists items for an external judge, a model.
// [Merge.ApplyProposal] applies the judge's proposal if nothing is lost by it.

// maxJudged is the largest number of entries of a section that a judge receives.
const maxJudged = 1000

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
// texts. It comes from a model, so [Merge.ApplyProposal] checks it.
type Proposal struct {
	Pairs []ItemPair `json:"same"`
}

// ItemPair is a pair of matching items.
type ItemPair struct {
	Existing string `json:"existing"` // ID of the item of the file
	Draft    string `json:"draft"`    // ID of the item of the draft
	Text     string `json:"text"`     // merged text without the title; ignored for tasks, which keep their words
}

// Undecided pairs the items of the draft that have the same text as an entry,
// and returns the remaining items with the entries that they may match. It
// omits items and entries for which tell returns false; the arguments of tell
// are the visibility and the text of each in the file. It also omits links,
// open tasks of the draft, which must not be lost, items and entries with more
// than a title and a text, and sections with more than maxJudged entries. If the
// context ends, the lists are empty.
func (m *Merge) Undecided(ctx context.Context, tell func(v Visibility, text string) bool) (existing,
	draft []Mergeable) {
	if m.applyRules(ctx, m.sameText) != nil {
		return nil, nil
	}
	known := map[string]int{} // number of entries that items of the section may match
	for i := range m.Items {
		if ctx.Err() != nil {
			return nil, nil
		}
		it := &m.Items[i]
		if it.Into >= 0 || it.target != "" || it.nested || it.task != nil && !it.task.Done ||
			len(it.section.items) > maxJudged || !tell(m.doc.Partition.Visibility, it.Text) {
			continue
		}
		if _, ok := known[it.Section]; !ok {
			n := len(existing)
			for _, k := range it.section.items {
				if !m.taken[[2]int{k.at, -1}] && m.allowed(k.Entry) &&
					tell(k.Partition.Visibility, string(m.doc.Source[k.Span.Start:k.Span.End])) {
					if was, ok := m.mergeable(k.Entry, it); ok {
						was.ID, was.at = fmt.Sprintf("e%d", len(existing)+1), k.at
						existing = append(existing, was)
					}
				}
			}
			known[it.Section] = len(existing) - n
		}
		if known[it.Section] > 0 {
			is := Mergeable{ID: fmt.Sprintf("d%d", len(draft)+1), Section: it.section.names[0], Title: it.title,
				Text: strings.TrimSpace(strings.Join(it.lines, "\n")), Task: it.task != nil, at: i}
			if is.Task {
				is.State = Done
			}
			draft = append(draft, is)
		}
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
	was := Mergeable{Section: it.section.names[0], Task: len(e.Tasks) > 0, Text: OneLine(head + "\n" + below)}
	p := DraftEntry{Section: it.Section}
	if was.Task {
		was.State = e.Tasks[0].State
		p.task = &DraftTask{Done: was.State == Done}
	} else {
		was.Title, was.Text = splitTitle(was.Text)
	}
	p.title, p.lines = was.Title, []string{was.Text}
	again, err := m.layout.parseDraftEntry(m.doc.Place.Path, &p, p.listItem("-"))
	return was, err == nil && again.Norm == e.Norm && was.Task == (it.task != nil)
}

// ApplyProposal applies a proposal for the items that [Merge.Undecided] returned. If
// the proposal is invalid, ApplyProposal returns an error and changes nothing. The
// function refuse returns an error for a text that must not be written. The
// lists may come from another Merge of the same draft into the same source, if
// Undecided was called for this one too.
//
// Each item must exist, be named at most once, and be in the section of the other one.
// The texts of a pair become one, see mergedText. A task of the file that the draft has done
// is marked done.
func (m *Merge) ApplyProposal(p *Proposal, existing, draft []Mergeable, refuse func(text string) error) (err error) {
	items, taken := slices.Clone(m.Items), maps.Clone(m.taken)
	defer func() {
		if err != nil {
			m.Items, m.taken = items, taken
		}
	}()
	known, drafted := byID(existing), byID(draft)
	for _, s := range p.Pairs {
		was, is := known[s.Existing], drafted[s.Draft]
		switch {
		case was == nil:
			return fmt.Errorf("item %q is not in the file", clipWord(s.Existing))
		case is == nil:
			return fmt.Errorf("item %q is not in the draft", clipWord(s.Draft))
		case was.Section != is.Section:
			return fmt.Errorf("items of different sections are merged, %s and %s", was.Section, is.Section)
		}
		it, e := &m.Items[is.at], &m.doc.Entries[was.at]
		if it.Into >= 0 || m.taken[[2]int{was.at, -1}] {
			return fmt.Errorf("items %q and %q are merged, one of them for the second time", s.Existing, s.Draft)
		}
		if was.Task {
			it.entry, err = e, checkTasks(was.Text, is.Text)
		} else {
			err = m.rewordItem(it, was, is, s.Text, refuse)
		}
		if err != nil {
			return err
		}
		if !m.replaceable(it, was.at) {
			return fmt.Errorf("%w: %s: an open task would be lost", ErrDraft, it.Name)
		}
		m.recordPair(it, was.at)
		if title := mergeTitle(it.entry); title != "" && title != mergeTitle(e) &&
			slices.ContainsFunc(it.section.items, func(k listItem) bool { return k.title == title }) {
			return errors.New("an item gets the title of another item")
		}
	}
	return nil
}

// rewordItem sets the text that an item and the entry in the file become. The title of the
// entry stays, because other entries may refer to it.
func (m *Merge) rewordItem(it *MergeItem, was, is *Mergeable, text string, refuse func(string) error) error {
	text, err := mergedText(was, is, text, refuse)
	if err != nil {
		return err
	}
	one := DraftEntry{title: cmp.Or(was.Title, is.Title), lines: textLinesOf(text)}
	it.text = one.listItem("-")
	it.entry, err = m.layout.parseDraftEntry(m.doc.Place.Path, &one, it.text)
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrDraft, it.Name, err)
	}
	if Fold(it.entry.Title) != Fold(one.title) {
		return errors.New("a merged text has a new title")
	}
	return nil
}

// checkTasks returns an error if a done task must not mark another one as done: it lacks a
// word other than the first one, which is often the verb, or has an exact word of its own.
func checkTasks(open, done string) error {
	words := strings.Fields(open)
	lost := slices.DeleteFunc(newWords(open, done),
		func(word string) bool { return len(words) > 2 && word == Fold(words[0]) })
	lost = append(lost, MissingWords(done, open)...)
	if len(lost) > 0 {
		return fmt.Errorf("%q occurs in only one of two merged tasks", clipWord(lost[0]))
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

// slack bounds the length of a merged text: at most this many characters more
// than both texts together.
const slack = 100

// mergedText returns the text that replaces two items: the proposed text, or the draft's
// own if the proposed one lacks a part. A proposed text with other words than both items
// is invalid.
func mergedText(was, is *Mergeable, text string, refuse func(string) error) (string, error) {
	both := was.titleAndText() + " " + is.titleAndText()
	switch {
	case strings.TrimSpace(text) == "":
		return "", errors.New("a merged text is empty")
	case utf8.RuneCountInString(text) > utf8.RuneCountInString(both)+slack:
		return "", errors.New("a merged text is longer than both texts together")
	}
	if err := refuse(text); err != nil {
		return "", err
	}
	if made := append(MissingWords(text, both), newWords(text, both)...); len(made) > 0 {
		return "", fmt.Errorf("%q is in neither text", clipWord(made[0]))
	}
	err := checkKept(was, is, text)
	if err != nil && checkKept(was, is, is.Text) == nil {
		return is.Text, refuse(is.Text)
	}
	return text, err
}

// checkKept returns an error if a text lacks an exact word of the file, except one that
// the draft corrects, or an exact or a new word of the draft, or if it contains a
// corrected word.
func checkKept(was, is *Mergeable, text string) error {
	merged := cmp.Or(was.Title, is.Title) + " " + text
	corrected := corrections(was.Text, is.titleAndText())
	lost := slices.Concat(MissingWords(is.titleAndText(), merged), newWords(is.Text, was.titleAndText()+" "+merged))
	for _, word := range MissingWords(was.titleAndText(), merged) {
		if !corrected[word] {
			lost = append(lost, word)
		}
	}
	if len(lost) > 0 {
		return fmt.Errorf("%q would be lost", clipWord(lost[0]))
	}
	for _, word := range exactWords(text) {
		if corrected[word] {
			return fmt.Errorf("%q is corrected by the draft", clipWord(word))
		}
	}
	return nil
}

func clipWord(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:40]) + "…"
	}
	return s
}

// A rewording may replace most words of a sentence, but must keep some exactly:
// numbers, dates, addresses, paths, identifiers, tags, and names with unusual case or
// punctuation.
var (
	addressRE = lazyregexp.New("[A-Za-z][A-Za-z0-9+.-]*://[^\\s<>\"`，。；、！？（）】》」』]+")
	exactRE   = lazyregexp.New(`\p{Nd}|\p{Ll}\p{Lu}|.[/\\_@#^=:]|[/\\_@#^=].|^-.|\..{2}`)
	numberRE  = lazyregexp.New(`\p{Nd}+`)
	lettersRE = lazyregexp.New(`\p{L}+`)
)

// MissingWords returns the exact words of text that other does not contain, in
// the order of text, addresses first.
func MissingWords(text, other string) []string {
	has := exactWords(other)
	return slices.DeleteFunc(exactWords(text), func(word string) bool { return slices.Contains(has, word) })
}

// exactWords returns the words of a text that must be kept exactly, each once. Words are
// separated by white space, brackets, quotes and characters of scripts without spaces.
func exactWords(text string) (words []string) {
	const ends = ".,;:!?'*_~|-&="
	add := func(word string) {
		if word != "" && !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	text = addressRE().ReplaceAllStringFunc(text, func(address string) string {
		address = strings.TrimRight(address, ends)
		for strings.HasSuffix(address, ")") && strings.Count(address, ")") > strings.Count(address, "(") {
			address = strings.TrimRight(address[:len(address)-1], ends)
		}
		add(address)
		return " "
	})
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune("()<>[]{}\"'`|*;!", r) || isSpaceless(r) ||
			r >= utf8.RuneSelf && unicode.IsPunct(r)
	}) {
		word = strings.TrimLeft(strings.TrimRight(word, ends), "_")
		if exactRE().MatchString(word) {
			add(word)
		}
	}
	return words
}

// corrections returns the exact words of an old text that a newer text about the same
// thing corrects. A word is corrected if it is the only one of its form that the newer
// text lacks, and the newer text has exactly one new word of that form. So the port 8081
// corrects the port 8080, and a day corrects a day.
func corrections(old, newer string) map[string]bool {
	byForm := func(words []string) map[string][]string {
		forms := map[string][]string{}
		for _, word := range words {
			form := wordForm(word)
			forms[form] = append(forms[form], word)
		}
		return forms
	}
	corrected, made := map[string]bool{}, byForm(MissingWords(newer, old))
	for form, words := range byForm(MissingWords(old, newer)) {
		corrected[words[0]] = len(words) == 1 && len(made[form]) == 1
	}
	return corrected
}

// wordForm returns a word with 0 for each number and a for each other run of
// letters. All addresses have one form.
func wordForm(word string) string {
	if strings.Contains(word, "://") {
		return "://"
	}
	return lettersRE().ReplaceAllString(numberRE().ReplaceAllString(word, "0"), "a")
}

// WordOverlap returns the fraction of the words of text that other contains,
// ignoring case and order. If text has no words, WordOverlap returns 1.
func WordOverlap(text, other string) float64 {
	all := wordSet(text)
	if len(all) == 0 {
		return 1
	}
	return float64(countCommon(all, wordSet(other))) / float64(len(all))
}

// newWords returns the words of text that other lacks, sorted, ignoring case.
func newWords(text, other string) []string {
	has, words := wordSet(other), wordSet(text)
	maps.DeleteFunc(words, func(word string, _ bool) bool { return has[word] })
	return slices.Sorted(maps.Keys(words))
}
