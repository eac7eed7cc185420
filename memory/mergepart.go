package memory

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// draftSections are the names that a section of a draft may have in files, that of
// one that is made first: those with tasks are named in the configuration.
func (l *Layout) draftSections(name string) []string {
	names, usual := l.Tasks, DefaultTasks
	switch name {
	case tasksSection:
	case followUpsSection:
		names, usual = l.FollowUps, DefaultFollowUps
	default:
		return []string{name}
	}
	if names == nil {
		names = usual
	}
	if len(names) == 0 || slices.Contains(names, usual[0]) {
		return append([]string{name}, names...)
	}
	return names
}

// sectionOrder is how the sections of a session's file follow each other, each
// with the names that it may have.
func (l *Layout) sectionOrder() (order [][]string) {
	for _, section := range ShortTermSections {
		order = append(order, l.draftSections(section))
	}
	return order
}

// inSection reports whether an entry stands in the section of an item. What has
// the name of such a section, or counts as one, is it.
func (m *Merge) inSection(e *Entry, item *MergeItem) bool {
	names := fold(m.layout.draftSections(item.Section))
	return slices.ContainsFunc(e.Sections, func(s string) bool { return slices.Contains(names, sectionName(s)) })
}

// readPart reads a part of a draft as it will stand in a file, and makes sure that
// it is one item of a list, and says nothing else than it should.
func (l *Layout) readPart(path string, p *Part, section, text string) (*Entry, error) {
	const above = "# Draft\n\n## "
	d := l.Parse(path, []byte(above+section+"\n"+text+"\n"), Meta{})
	switch {
	case d.Unsound || d.Front.Present || len(d.Headings) != 2 || d.Headings[1].Text != section || len(d.Hidden) > 0:
		return nil, errors.New("the text, or the name of its section, would be taken for something else")
	case len(d.Entries) != 1 || d.Entries[0].EndLine != d.lines.count():
		return nil, errors.New("the text would not be one item of a list")
	}
	e := &d.Entries[0]
	tasks := 0
	if p.task != nil {
		tasks = 1
	}
	plain := l.Parse(path, []byte(text+"\n"), Meta{}) // where every item is a task, one without a box is none
	switch {
	case e.Block != Item || e.Comment.End > 0 || e.Given || e.Partition.Visibility != d.Own.Visibility:
		return nil, errors.New("the text would be read as more than a text")
	case p.title != "" && Fold(e.Title) != Fold(p.title):
		return nil, fmt.Errorf("%q cannot be a title; leave out asterisks", p.title)
	case len(plain.Entries) != 1 || len(plain.Entries[0].Tasks) != tasks || tasks > 0 && plain.Entries[0].Tasks[0].Norm != TaskNorm(Line(p.lines[0])):
		return nil, errors.New("the text would be read as another number of tasks, or as another one")
	case p.target != "" && len(e.Links) != 1:
		return nil, errors.New("it would not be read as one link")
	}
	return e, nil
}

// mergeTitle is what an item is about: its title; what stands behind "Topic" in
// one that labels it so; or the label that a list below it has. Case and white
// space make no difference.
func mergeTitle(e *Entry) string {
	head, below, _ := strings.Cut(e.Text, "\n")
	head = strings.TrimLeft(head, " \t")
	head = head[listMarkerLen(head):]
	head = head[boxLen(head):]
	title, rest := splitTitle(head)
	if Fold(title) == "topic" && oneLine(rest) != "" {
		title = rest
	}
	if title == "" && strings.TrimSpace(below) != "" {
		head = strings.TrimSpace(head)
		for _, colon := range []string{":", "："} {
			if label, ok := strings.CutSuffix(head, colon); ok {
				title = label
			}
		}
	}
	return strings.ReplaceAll(Fold(plain(title)), " ", "")
}

// content is what an item says, without its marker, its box and its indentation.
func content(e *Entry) string {
	lines := strings.Split(e.Text, "\n")
	head := strings.TrimLeft(lines[0], " \t")
	head = head[listMarkerLen(head):]
	_, head = anchor(head[boxLen(head):])
	return strings.Join(append([]string{head}, dedent(lines[1:])...), "\n")
}
