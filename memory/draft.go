package memory

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
)

// A Draft is the input of a client about a session, without its frontmatter.
// Its parts become items of the session's file (see [Draft.Entries]).
type Draft struct {
	Items     map[string][]DraftItem `json:"items,omitempty"`
	Facts     []DraftItem            `json:"facts,omitempty"`
	Tasks     []DraftTask            `json:"tasks,omitempty"`
	FollowUps []DraftTask            `json:"follow_ups,omitempty"`
	Links     []DraftLink            `json:"links,omitempty"`
}

// A DraftItem is a title with a text, or an event with topic, participants,
// time, description and result.
type DraftItem struct {
	Title      string `json:"title,omitempty"`
	Text       string `json:"text,omitempty"`
	Topic      string `json:"topic,omitempty"`
	Users      string `json:"users,omitempty"`
	Datetime   string `json:"datetime,omitempty"`
	Event      string `json:"event,omitempty"`
	Result     string `json:"result,omitempty"`
	Visibility string `json:"visibility,omitempty"`
}

// A DraftTask is a task. A task that is already done in the file stays done
// unless Reopen is set.
type DraftTask struct {
	Text       string `json:"text,omitempty"`
	Done       bool   `json:"done,omitempty"`
	Reopen     bool   `json:"reopen,omitempty"`
	Visibility string `json:"visibility,omitempty"`
}

// A DraftLink is a link to a memory file or to any other target.
type DraftLink struct {
	Text       string `json:"text,omitempty"`
	Target     string `json:"target,omitempty"`
	Visibility string `json:"visibility,omitempty"`
}

// A DraftEntry is one item of a draft.
type DraftEntry struct {
	Name    string   // in the draft: facts[0], items.Notes[2]
	Section string   // target section, as named in the draft
	Texts   []string // all client-supplied texts, and those that are written as one
	Private bool     // the client marks it as private, so it does not belong in a public file

	title  string // as given
	lines  []string
	nested bool // each line but the first is an item of its own
	number bool // the section is a numbered list
	task   *DraftTask
	target string // of a link
}

// Names of the two task sections in a draft, which are independent of the names
// in a file.
const (
	tasksSection     = "Tasks"
	followUpsSection = "Follow Ups"
)

// Entries returns the items of the draft in the order of a new file: the sections
// in the order of [ShortTermSections], then the others by name. The error names
// the first invalid item, with the reason.
func (d *Draft) Entries() (list []DraftEntry, failed error) {
	add := func(name string, i int, visibility string, p DraftEntry, err error) {
		p.Name = fmt.Sprintf("%s[%d]", name, i)
		p.Private = visibility != "" && visibility != PublicOK.String() || slices.ContainsFunc(p.Texts, HasPrivateTag)
		list = append(list, p)
		if err != nil && failed == nil {
			failed = fmt.Errorf("%s: %w", p.Name, err)
		}
	}
	items := func(section, name string, items []DraftItem) {
		for i, item := range items {
			p, err := item.toEntry(section)
			add(name, i, item.Visibility, p, err)
		}
	}
	tasks := func(section, name string, tasks []DraftTask) {
		for i, t := range tasks {
			p, err := t.toEntry(section)
			add(name, i, t.Visibility, p, err)
		}
	}
	for _, s := range slices.Sorted(maps.Keys(d.Items)) {
		section, name := OneLine(s), "items."+OneLine(s)
		same := func(known string) bool { return SameSection(known, section) }
		if i := slices.IndexFunc(ShortTermSections, same); i >= 0 {
			section, name = ShortTermSections[i], "items."+s
		} else if section == "" {
			return nil, errors.New("items: section name is empty")
		}
		items(section, name, d.Items[s])
	}
	items(TemporaryFacts, "facts", d.Facts)
	tasks(tasksSection, "tasks", d.Tasks)
	tasks(followUpsSection, "follow_ups", d.FollowUps)
	for i, l := range d.Links {
		p, err := l.toEntry(RelatedLinks)
		add("links", i, l.Visibility, p, err)
	}
	order := func(p DraftEntry) int {
		if i := slices.Index(ShortTermSections, p.Section); i >= 0 {
			return i
		}
		return len(ShortTermSections)
	}
	slices.SortStableFunc(list, func(a, b DraftEntry) int { return order(a) - order(b) })
	return list, failed
}

// toEntry returns the item as a title with a text, an event below its topic, or a
// plain text.
func (i *DraftItem) toEntry(section string) (DraftEntry, error) {
	p := DraftEntry{
		Section: section, Texts: []string{section, i.Title, i.Text, i.Topic, i.Users, i.Datetime, i.Event, i.Result,
			i.Title + ": " + i.Text},
		number: section == SessionSummary || section == TemporaryFacts,
	}
	p.title = strings.TrimRight(OneLine(i.Title+i.Topic), ":： ")
	if OneLine(i.Title) != "" && OneLine(i.Topic) != "" {
		return p, errors.New("title and topic exclude each other")
	}
	text := textLinesOf(i.Text)
	p.lines = text
	if section == TemporaryFacts && p.title != "" && len(text) > 1 {
		p.lines, p.nested = append([]string{""}, text...), true
	}
	for _, detail := range []struct{ label, text string }{{"Users", i.Users}, {"Datetime", i.Datetime},
		{"Event", i.Event}, {"Result", i.Result}} {
		if s := OneLine(detail.text); s != "" {
			if !p.nested {
				p.lines, p.nested = []string{strings.Join(text, " ")}, true
			}
			p.lines = append(p.lines, detail.label+": "+s)
		}
	}
	if p.title == "" && strings.Join(p.lines, "") == "" {
		return p, errors.New("text is empty")
	}
	return p, nil
}

func (t *DraftTask) toEntry(section string) (DraftEntry, error) {
	p := DraftEntry{Section: section, Texts: []string{t.Text}, lines: []string{OneLine(t.Text)}, task: t}
	switch {
	case p.lines[0] == "":
		return p, errors.New("text is empty")
	case t.Done && t.Reopen:
		return p, errors.New("done and reopen exclude each other")
	}
	return p, nil
}

func (l *DraftLink) toEntry(section string) (DraftEntry, error) {
	p := DraftEntry{Section: section, Texts: []string{l.Text, l.Target}, target: linkTarget(OneLine(l.Target))}
	if p.target == "" {
		return p, errors.New("target is missing")
	}
	text := OneLine(l.Text)
	if text == "" {
		text = OneLine(l.Target)
	}
	p.lines = []string{"[" + linkText.Replace(text) + "](" + p.target + ")"}
	return p, nil
}

// linkText escapes the text of a link, so that brackets do not end it and an
// address does not become a link of its own.
var linkText = strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, "`", "\\`", "<", `\<`)

// linkTarget percent-encodes characters that would end the target of a link.
func linkTarget(s string) string {
	return targetEndRE().ReplaceAllStringFunc(s, func(c string) string { return fmt.Sprintf("%%%02X", c) })
}

var targetEndRE = lazyregexp.New("[ \"'`()<>\\[\\]\\\\{}|^]")

// textLinesOf returns the lines of a text, with white space collapsed and
// without blank lines.
func textLinesOf(s string) (lines []string) {
	for line := range strings.SplitSeq(strings.ReplaceAll(s, "\r", "\n"), "\n") {
		line = OneLine(line)
		if line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

func (p *DraftEntry) listItem(marker string) string {
	lines := slices.Clone(p.lines)
	for i, line := range lines {
		switch {
		case i == 0 && p.title != "":
		case i == 0 && p.task != nil && p.task.Done:
			lines[i] = "[x] " + Line(line)
		case i == 0 && p.task != nil:
			lines[i] = "[ ] " + Line(line)
		case p.target != "":
		case p.nested && i > 0:
			lines[i] = "- " + Line(line)
		default:
			lines[i] = Line(line)
		}
	}
	if p.title != "" {
		if len(lines) == 0 {
			lines = []string{""}
		}
		head := "**" + p.title + "**"
		if len(lines) > 1 || lines[0] != "" {
			head += ": "
		}
		lines[0] = strings.TrimSpace(head + lines[0])
	}
	return marker + " " + strings.Join(lines, "\n"+strings.Repeat(" ", len(marker)+1))
}
