package memory

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Summary is a line that sums up a subject, in its profile.md, or one of its
// projects, in its project.md:
//
//   - **2026-02-04/cli**: We chose PostgreSQL. <!-- visibility=public_ok evidence=2026-02-04/cli.md updated=… -->
//
// It says what it is based on, and stands in a section of its own. That tells it
// from the keyed items of the same file, see [Entry.IsSummary].
type Summary struct {
	Title      string
	Text       string // one line of Markdown
	Visibility Visibility
	Evidence   []string          // never empty
	Attributes map[string]string // besides these
}

// The sections of summaries. A heading that stands above private lines must not
// be shown because of a public one.
const (
	privateSummaries = "Summaries"
	publicSummaries  = "Public summaries"
)

// IsSummary reports whether an entry of a file of keyed items is a summary, and
// no item: it stands in a section of summaries and has evidence.
func (e *Entry) IsSummary() bool {
	return len(e.Evidence) > 0 && slices.ContainsFunc(e.Sections, func(s string) bool {
		return strings.EqualFold(s, privateSummaries) || strings.EqualFold(s, publicSummaries)
	})
}

// Section is the path of the section in which the summary stands.
func (s *Summary) Section() []string {
	if s.Visibility == PublicOK {
		return []string{publicSummaries}
	}
	return []string{privateSummaries}
}

// String is the summary as it is written.
func (s *Summary) String() string {
	attributes := map[string]string{}
	maps.Copy(attributes, s.Attributes)
	attributes["visibility"] = s.Visibility.String()
	return s.line() + " " + Comment(attributes, s.Evidence)
}

func (s *Summary) line() string { return fmt.Sprintf("- **%s**: %s", s.Title, s.Text) }

// Check says why the summary, in the file at a path, would not be read as it is
// meant.
func (s *Summary) Check(path string, l *Layout) error {
	alone := l.Parse(path, []byte(s.String()+"\n"), Meta{})
	if len(alone.Entries) == 1 && len(alone.Problems) == 0 && !alone.Unsound {
		e := &alone.Entries[0]
		_, given := s.Attributes["id"]
		if s.Is(e) && s.Title != "" && s.Text != "" && e.Title == s.Title && len(e.Tasks) == 0 && strings.HasSuffix(e.Text, s.Text) && e.Given == given {
			return nil
		}
	}
	return errors.New("what it says cannot be put into one line")
}

// Is reports whether an entry says the same to the same people, based on the
// same, whatever list it stands in.
func (s *Summary) Is(e *Entry) bool {
	return e.Block == Item && e.Norm == normText(s.line()) && e.Partition.Visibility == s.Visibility && slices.Equal(e.Evidence, s.Evidence)
}
