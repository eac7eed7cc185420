package memory

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Section names of summaries. Public and private summaries need separate
// headings, because a heading above private lines must not become visible
// through a public line.
const (
	privateSummaries = "Summaries"
	publicSummaries  = "Public summaries"
)

// IsSummary reports whether an entry of a file of keyed items is a summary,
// which means that it has evidence and is in a section of summaries.
func (e *Entry) IsSummary() bool { return len(e.Evidence) > 0 && e.inSummaries() }

func (e *Entry) inSummaries() bool {
	return slices.ContainsFunc(e.Sections, func(s string) bool {
		return SameSection(s, privateSummaries) || SameSection(s, publicSummaries)
	})
}

// maxTitles bounds the lines of a generated summary.
const maxTitles = 10

// Titles returns the generated summary of a long-term file: the titles of its
// newest items, one per line, in the order of the file. For an item without a
// title it uses the start of the item's first line.
func (d *Document) Titles() string {
	items := d.summarized()
	if len(items) > maxTitles {
		slices.SortStableFunc(items, func(a, b *Entry) int { return cmp.Or(b.Time.Compare(a.Time), b.Line-a.Line) })
		items = items[:maxTitles]
		slices.SortFunc(items, func(a, b *Entry) int { return a.Line - b.Line })
	}
	titles := make([]string, len(items))
	for i, e := range items {
		titles[i] = e.TitleLine()
	}
	return strings.Join(titles, "\n")
}

// HasGeneratedSummary reports whether the summary of a long-term file is generated, which
// means that each of its lines is the title of an item. The file may have
// further items that were added later.
func (d *Document) HasGeneratedSummary() bool {
	if _, ok := d.Front.Field("summary"); !ok || d.Place.Kind != Longterm {
		return false
	}
	items := d.summarized()
	titles := map[string]bool{"": len(items) == 0}
	for _, e := range items {
		titles[e.TitleLine()] = true
	}
	return !slices.ContainsFunc(strings.Split(d.Front.Summary, "\n"), func(line string) bool { return !titles[line] })
}

// summarized returns the items that every reader of the summary may read.
func (d *Document) summarized() (items []*Entry) {
	for i := range d.Entries {
		if e := &d.Entries[i]; e.Block == Item && e.Partition.Visibility >= d.Own.Visibility {
			items = append(items, e)
		}
	}
	return items
}

// TitleLine returns the line of an item in a generated summary: its title, or the
// start of its first line.
func (e *Entry) TitleLine() string { return cmp.Or(e.Title, firstWords(e.Text)) }

// firstWords returns the first line of an item without marker, box and added
// date, shortened to 80 characters.
func firstWords(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	s = oneLine(trimMarkers(s))
	if day := addedSuffix(s); day != "" {
		if i := strings.LastIndexAny(s, "(（"); i > 0 {
			s = strings.TrimSpace(s[:i])
		}
	}
	const most = 80
	if r := []rune(s); len(r) > most {
		s = strings.TrimSpace(string(r[:most-1])) + "…"
	}
	return s
}

// Summary returns the summary of the file, or "" if it has none or the view may
// not read it.
func (d *Document) Summary(v View) string {
	if !v.Readable(d.Own) {
		return ""
	}
	return d.Front.Summary
}

// A Summary is a line that summarizes a subject, in its profile.md, one of its
// projects, in its project.md, or its conversations with a contact, in a file of
// the contact (see [SummaryPath]):
//
//   - **2026-02-04/cli**: We chose PostgreSQL. <!-- visibility=public_ok evidence=2026-02-04/cli.md updated=… -->
//
// A summary names its evidence and is in a section of its own. Both distinguish
// it from the keyed items of the same file, see [Entry.IsSummary].
type Summary struct {
	Title      string
	Text       string // one line of Markdown
	Visibility Visibility
	Evidence   []string          // never empty
	Attributes map[string]string // other attributes
}

// SummaryPath returns the path of the file for the summaries of a subject: of its
// project if that is not empty, else of its conversations with a contact if that
// is not empty, else of the subject itself.
func SummaryPath(subject, project, contact string) string {
	name := "profile.md"
	switch {
	case project != "":
		name = "project.md"
	case contact != "":
		// Ids that differ in a colon only need different names, too.
		name = "contacts/" + sanitizeName(contact, func(name string) bool { return name != contact }) + ".md"
	}
	return longtermsDir + "/" + SubjectDir(subject) + "/" + name
}

// SummaryText returns the text of a summary, without its title.
func (e *Entry) SummaryText() string {
	_, text := splitTitle(trimMarkers(e.Text))
	return strings.TrimSpace(text)
}

// Section returns the path of the section for the summary.
func (s *Summary) Section() []string {
	if s.Visibility == PublicOK {
		return []string{publicSummaries}
	}
	return []string{privateSummaries}
}

// String returns the summary as a list item with its comment.
func (s *Summary) String() string {
	attributes := map[string]string{}
	maps.Copy(attributes, s.Attributes)
	attributes["visibility"] = s.Visibility.String()
	return s.itemLine() + " " + Comment(attributes, s.Evidence)
}

func (s *Summary) itemLine() string { return fmt.Sprintf("- **%s**: %s", s.Title, s.Text) }

// Check returns an error if the summary, in the file at path, would not be
// parsed back as the same summary.
func (s *Summary) Check(path string, l *Layout) error {
	alone := l.Parse(path, []byte(s.String()+"\n"), Meta{})
	if len(alone.Entries) == 1 && len(alone.Problems) == 0 && !alone.Unsound {
		e := &alone.Entries[0]
		_, given := s.Attributes["id"]
		if s.Matches(e) && s.Title != "" && s.Text != "" && e.Title == s.Title && len(e.Tasks) == 0 &&
			strings.HasSuffix(e.Text, s.Text) && e.Given == given {
			return nil
		}
	}
	return errors.New("the summary does not fit into one line of Markdown")
}

// Matches reports whether an entry has the same text, visibility and evidence, in
// any list.
func (s *Summary) Matches(e *Entry) bool {
	return e.Block == Item && e.Norm == normText(s.itemLine()) && e.Partition.Visibility == s.Visibility &&
		slices.Equal(e.Evidence, s.Evidence)
}
