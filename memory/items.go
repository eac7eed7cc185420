package memory

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/internal/letters"
)

// A keyed item is a list item that begins with its key in bold. Its value is
// the text after the key, as written, or the content of the fenced block below
// it:
//
//	- **timezone**: Asia/Shanghai <!-- id=k3f9 -->
//	- **style**: <!-- id=m2c7 -->
//	  ```json
//	  {"lang": "zh"}
//	  ```
//
// The attribute encoding=json marks a value that is written as a JSON string,
// because Markdown would change it: it contains comments, tags or carriage
// returns.
//
// [Entry.Item] parses such an item, written by [Layout.Fit], to exactly the same key and
// value.

// maxKey bounds the length of an item's key, in bytes. A key is a short name.
const maxKey = 256

// NewItems returns the initial content of a subject's file of items or summaries,
// or of an archive.
func NewItems(subject string) []byte {
	return []byte(frontText([]fieldChange{{"subject_id", subject}}, "\n"))
}

// Item returns the key and value of a keyed item. For an entry without a title,
// and for a summary, ok is false.
func (e *Entry) Item() (key, value string, ok bool) {
	if e.Block != Item || e.Title == "" || e.IsSummary() {
		return "", "", false
	}
	head, below, _ := strings.Cut(e.Text, "\n")
	title, rest := splitTitle(trimMarkers(head))
	if title == "" {
		return "", "", false
	}
	key = unescape([]byte(title))
	if _, s := splitAnchor(rest); strings.TrimSpace(s) == "" {
		if v, ok := fencedContent(below); ok {
			return key, e.decode(v), true
		}
	}
	lines := append([]string{rest}, dedent(strings.Split(below, "\n"))...)
	_, value = splitAnchor(strings.TrimSpace(strings.Join(lines, "\n")))
	return key, e.decode(value), true
}

// encodingJSON is the value of the attribute encoding for a JSON string.
const encodingJSON = "json"

// decode returns the value that a text of the item represents. A text that is
// not in the encoding of the item represents itself.
func (e *Entry) decode(text string) string {
	var value string
	if e.Attributes["encoding"] != encodingJSON || json.Unmarshal([]byte(text), &value) != nil {
		return text
	}
	return value
}

// CheckKey returns an error if a text cannot be the key of an item.
func CheckKey(key string) error {
	switch {
	case key == "":
		return errors.New("empty")
	case key != strings.TrimSpace(key):
		return errors.New("leading or trailing white space")
	case len(key) > maxKey:
		return fmt.Errorf("longer than %d bytes", maxKey)
	case strings.ContainsFunc(key,
		func(r rune) bool { return unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp) }):
		return errors.New("contains a line break or another control character")
	}
	return CheckText(key)
}

// fencedBlock returns a value as a fenced block below a list item. The fence is
// longer than any run of backticks in the value.
func fencedBlock(value string, object bool) string {
	mark := 3
	for run := range strings.FieldsFuncSeq(value, func(r rune) bool { return r != '`' }) {
		mark = max(mark, len(run)+1)
	}
	fence, info := "\n"+strings.Repeat("`", mark), ""
	if object {
		info = "json"
	}
	return strings.TrimPrefix(indentBelow(fence+info+"\n"+value+fence, "  "), "\n")
}

// ItemInsertionPoint returns the entry below which a new item is inserted, or -1 for the top
// of the file: the last item of the list above the first section, or else the last entry there.
func (d *Document) ItemInsertionPoint() int {
	last, item := -1, -1
	for i := range d.Entries {
		e := &d.Entries[i]
		if e.Heading >= 0 && (e.Heading > 0 || d.Headings[0].Level != 1) || e.Block == EmptyHeading {
			break
		}
		last = i
		if e.Block == Item && (item < 0 || d.Entries[item].Heading == e.Heading) {
			item = i
		}
	}
	if item >= 0 {
		return item
	}
	return last
}

// escapeTitle escapes a text with backslashes, so that it stays unchanged
// between the bold markers of a title.
func escapeTitle(s string) string {
	var b strings.Builder
	word := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	before := ' '
	for i, r := range s {
		after, _ := utf8.DecodeRuneInString(s[i+utf8.RuneLen(r):])
		switch r {
		case '\\', '*', '`', '<', '[', ']':
			b.WriteByte('\\')
		case '_':
			if !word(before) || !word(after) {
				b.WriteByte('\\')
			}
		case '#':
			if !word(before) {
				b.WriteByte('\\')
			}
		}
		b.WriteRune(r)
		before = r
	}
	return b.String()
}

// fencedContent returns the content of a text that is one fenced block, indented or
// not.
func fencedContent(s string) (string, bool) {
	lines := dedent(strings.Split(strings.Trim(s, "\n"), "\n"))
	if len(lines) < 2 {
		return "", false
	}
	mark := fenceOf(lines[0])
	last := strings.TrimRight(lines[len(lines)-1], " \t")
	if mark == "" || len(last) < len(mark) || strings.Trim(last, mark[:1]) != "" {
		return "", false
	}
	return strings.Join(lines[1:len(lines)-1], "\n"), true
}

// fenceOf returns the fence with which a line begins, or "".
func fenceOf(line string) string {
	if n := max(runLen(line, '`'), runLen(line, '~')); n > 2 {
		return line[:n]
	}
	return ""
}

// SummarySection is the name of the section of summaries.
const SummarySection = "Summaries"

// IsSummary reports whether an entry of a file of keyed items is a summary,
// which means that it has evidence and is in a section of summaries.
func (e *Entry) IsSummary() bool { return len(e.Evidence) > 0 && e.inSummaries() }

func (e *Entry) inSummaries() bool {
	return slices.ContainsFunc(e.Sections, func(s string) bool {
		return SameSection(s, SummarySection) || SameSection(s, "Public summaries") // the name in earlier files
	})
}

// maxTitles bounds the lines of a generated summary.
const maxTitles = 10

// titles returns the generated summary of a long-term file: the titles of its
// newest items, one per line, in the order of the file. For an item without a
// title it uses the start of the item's first line.
func (d *Document) titles() string {
	items := d.summarized()
	if len(items) > maxTitles {
		slices.SortStableFunc(items, func(a, b *Entry) int { return cmp.Or(b.Time.Compare(a.Time), b.Line-a.Line) })
		items = items[:maxTitles]
		slices.SortFunc(items, func(a, b *Entry) int { return a.Line - b.Line })
	}
	titles := make([]string, len(items))
	for i, e := range items {
		titles[i] = e.titleLine()
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
		titles[e.titleLine()] = true
	}
	return !slices.ContainsFunc(strings.Split(d.Front.Summary, "\n"), func(line string) bool { return !titles[line] })
}

// summarized returns the items that a generated summary lists.
func (d *Document) summarized() (items []*Entry) {
	tells := d.frontMayTell()
	for i := range d.Entries {
		if e := &d.Entries[i]; e.Block == Item && tells(i) {
			items = append(items, e)
		}
	}
	return items
}

// titleLine returns the line of an item in a generated summary: its title, or the
// start of its first line.
func (e *Entry) titleLine() string { return cmp.Or(e.Title, firstWords(e.Text)) }

// firstWords returns the first line of an item without marker, box and added
// date, shortened to 80 characters.
func firstWords(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	s = letters.OneLine(trimMarkers(s))
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
	if !v.Readable(d.Partition) {
		return ""
	}
	return d.Front.Summary
}

// SummaryEntry returns the summary of the file as an entry with the id of another one.
func (d *Document) SummaryEntry(e *Entry) *Entry {
	field, _ := d.Front.Field("summary")
	return &Entry{Line: field.Line, EndLine: field.Line, Block: Paragraph, Heading: -1, ID: e.ID,
		Text: d.Front.Summary, Norm: normText(d.Front.Summary), Partition: d.Partition,
		Source: d.Front.Source, By: d.Front.By, Tags: e.Tags, Time: e.Time}
}

// ShownEntry returns the n-th entry as it is searched and shown. In place of the title of a
// day's file without other entries, it returns the summary.
func (d *Document) ShownEntry(n int) *Entry {
	e := &d.Entries[n]
	if e.Block == EmptyHeading && e.level == 1 && d.isTitleOfDay(e.heading) && e.Partition == d.Partition &&
		d.Front.Summary != "" {
		return d.SummaryEntry(e)
	}
	return e
}

// A summary is a line that summarizes a subject, in its profile.md, one of its
// projects, in its project.md, or its conversations with a contact, in a file of
// the contact:
//
//   - **2026-02-04/cli**: We chose PostgreSQL. <!-- evidence=2026-02-04/cli.md updated=… -->
//
// A summary names its evidence and is in a section of its own. Both distinguish
// it from the keyed items of the same file, see [Entry.IsSummary].

// SummaryPath returns the path of the file for the summaries of a subject and of a
// visibility: of its project if that is not empty, else of its conversations with a contact
// if that is not empty, else of the subject itself.
func SummaryPath(subject, project, contact string, v Visibility) string {
	name := "profile.md"
	switch {
	case project != "":
		name = "project.md"
	case contact != "":
		// Ids that differ in a colon only need different names, too.
		name = "contacts/" + sanitizeName(contact, func(name string) bool { return name != contact }) + ".md"
	}
	path := longtermsDir + "/" + SubjectDir(subject) + "/" + name
	if v == PublicOK {
		path = BesideFile(path, PublicFile)
	}
	return path
}

// SummaryText returns the text of a summary, without its title.
func (e *Entry) SummaryText() string {
	_, text := splitTitle(e.Content())
	return strings.TrimSpace(text)
}
