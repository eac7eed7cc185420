package memory

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/internal/letters"
)

// No rule can decide whether two differently worded items have the same
// subject. [Merge.Undecided] lists items for an external judge, a model, which
// pairs them. [Merge.ApplyProposal] applies the pairs: the text of the draft, which is
// newer, stays.

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

// An ItemPair is a pair of matching items.
type ItemPair struct {
	Existing string `json:"existing"` // ID of the item of the file
	Draft    string `json:"draft"`    // ID of the item of the draft
}

// Undecided pairs the items of the draft that match an entry by the rules,
// and returns the remaining items with the entries that they may match. It
// omits items and entries for which tell returns false; the arguments of tell
// are the visibility and the text of each in the file. It also omits links,
// open tasks of the draft, which must not be lost, nested items, entries of several
// lines, and sections with more than maxJudged entries. If the
// context ends, the lists are empty.
func (m *Merge) Undecided(ctx context.Context, tell func(v Visibility, text string) bool) (existing,
	draft []Mergeable) {
	if m.ByRules(ctx) != nil {
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
					was := Mergeable{ID: fmt.Sprintf("e%d", len(existing)+1), Section: it.section.names[0],
						Task: len(k.Tasks) > 0, Text: itemContent(k.Entry), at: k.at}
					if strings.Contains(was.Text, "\n") || was.Task != (it.task != nil) {
						continue
					}
					if was.Task {
						was.State = k.Tasks[0].State
					} else {
						was.Title, was.Text = splitTitle(was.Text)
					}
					existing = append(existing, was)
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

// ApplyProposal pairs items as a judge proposes, of the items that [Merge.Undecided]
// returned. It leaves out each pair that does not fit: an item is unknown, named twice, or in
// another section, an open task would be lost, or two tasks differ in a word. The
// lists may come from another Merge of the same draft into the same source, if
// Undecided was called for this one too.
func (m *Merge) ApplyProposal(pairs []ItemPair, existing, draft []Mergeable) {
	known, drafted := byID(existing), byID(draft)
	for _, s := range pairs {
		was, is := known[s.Existing], drafted[s.Draft]
		if was == nil || is == nil || was.Section != is.Section || was.Task && !isSameTask(was.Text, is.Text) {
			continue
		}
		it := &m.Items[is.at]
		if it.Into >= 0 || m.taken[[2]int{was.at, -1}] || !m.replaceable(it, was.at) {
			continue
		}
		if was.Task { // it keeps its words
			it.entry = &m.doc.Entries[was.at]
		}
		m.recordPair(it, was.at)
	}
}

// isSameTask reports whether a done task may mark another one as done: the exact words of
// both are the same, and it has the other words of the open one, except an article and the
// first one, which is often the verb.
func isSameTask(open, done string) bool {
	verb, _, _ := strings.Cut(letters.FoldCase(open), " ")
	return len(letters.MissingWords(done, open))+len(letters.MissingWords(open, done)) == 0 &&
		!slices.ContainsFunc(letters.NewWords(open, done), func(word string) bool {
			return word != verb && word != "the" && len(word) > 2
		})
}

func byID(items []Mergeable) map[string]*Mergeable {
	m := make(map[string]*Mergeable, len(items))
	for i := range items {
		m[items[i].ID] = &items[i]
	}
	return m
}
