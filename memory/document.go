package memory

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"
	"unsafe"
)

// A Document is one parsed file. It is immutable and safe for concurrent use.
type Document struct {
	Place  Place
	Source []byte // never modified
	Front  Front

	Partition Partition // the readers of the file, all of it

	Claim    string // subject_id with which the file claims its directory, if the claim is valid
	Headings []Heading
	Entries  []Entry // in file order
	Hidden   []Span  // generated text, injected blocks, and comments outside entries: whole lines, not indexed
	Problems []Problem

	// Stale is true when the file could not be read and the document holds its
	// previous content. The code that reads files sets Stale.
	Stale bool

	// Unsound is true when the file is read but never written: broken frontmatter,
	// invalid UTF-8, a line that ends with a lone CR, blocks nested too deeply, an
	// unclosed marker.
	Unsound    bool
	whyUnsound string // the message of the first such problem

	// source with secrets masked, of the same length; all other fields are parsed from it
	masked     []byte
	lines      lines
	hidden     []lineRange // generated text, injected blocks and comments of Obsidian
	separators []int       // lines that consist of §, in order
	percent    bool        // it contains comments of Obsidian
	marks      marks       // the text that asks for readers of its own
	doubtful   bool        // who may read the file is unclear, so it is private
	public     Partition   // that the file would have if it were public
	private    Partition   // that the file would have if it were private
	unmarked   Visibility  // that the file would have without marks
}

// A Heading is a heading of the document. It gives the entries below it their
// section path.
type Heading struct {
	Level   int // 1 to 6
	Text    string
	Line    int // 1-based
	EndLine int // differs from Line for a setext heading, which has two lines
	Parent  int // index of the enclosing heading in Document.Headings, -1 at the top

	path []string // Text, and above it that of the enclosing headings
}

// A Block is the Markdown shape of an entry.
type Block uint8

// The shapes of entries.
const (
	Item Block = iota // a top-level list item with everything nested in it
	Paragraph
	tableBlock
	Quote
	htmlBlock
	codeBlock    // with the paragraph that introduces it
	EmptyHeading // a heading whose section is empty
)

// An Entry is the smallest unit of search, display, counting, merging and
// trimming.
type Entry struct {
	Line, EndLine int  // 1-based, inclusive: exactly the entry's lines
	Span          Span // the same lines as bytes, with the last line's ending
	Block         Block
	Heading       int      // index of the nearest heading above, -1 for none
	Sections      []string // section path, outermost first

	ID    string // never empty; unique within the document
	Given bool   // ID is written in the file (attribute id or ^anchor), not derived

	Masked bool // some text in its lines is masked

	Title string // leading bold text, without the emphasis and the colon
	Text  string // the entry's lines as written, without comments; searched and shown
	// Text normalised (case, width, white space, emphasis, markers); entries with equal Norm are duplicates
	Norm string

	Partition     Partition
	Type          string // fact, preference, project, decision, crumb, request, result
	Importance    float64
	Confidence    float64
	HasConfidence bool
	Source        string
	By            string // subject that wrote it, if that is not the subject of its partition
	Evidence      []string
	Supersedes    string
	Pin           bool
	Attributes    map[string]string // every attribute as written, decoded; nil when there are none
	Comment       Span              // the comment in the source that contains the attributes; empty when there is none

	// lower-cased without '#', sorted; includes the file's tags if the entry is in the file's own partition
	Tags  []string
	Tasks []Task // in order, nested ones included
	Links []Link

	Time  time.Time // when it was written or last changed, in UTC; zero if unknown
	Added string    // the added date as YYYY-MM-DD, or empty

	lead    int    // end of its first block, if a comment inserted there would apply to the entry; else 0
	level   int    // of an empty heading
	heading string // text of an empty heading
}

// A TaskState is the mark in a task's box.
type TaskState uint8

// Task states. Items with other marks are not tasks and stay unchanged.
const (
	Open TaskState = iota
	Done
)

// String returns the state's name in the API.
func (s TaskState) String() string {
	if s == Done {
		return "done"
	}
	return "open"
}

// A Task is one checkbox.
type Task struct {
	State    TaskState
	Text     string // without box, marks and comments
	Norm     string // Text normalised as TODO reconciliation compares it
	ID       string // id in its own line, else the entry's if that is given; else empty
	Under    string // normalised text of the nearest enclosing list item; empty at the top
	Due      string // due date as YYYY-MM-DD, or empty
	Created  string // date of creation in the text, likewise
	Finished string // date of completion in the text, likewise
	Line     int    // 1-based
	Box      Span   // the byte between the brackets; empty where a list section has no box
	Parent   int    // index of the enclosing task in Entry.Tasks, -1 for none
	FollowUp bool   // in a Follow Ups section
	InTasks  bool   // in a Tasks section
	Recurs   bool   // an occurrence of a recurring task

	isEntry  bool // the task is the entry itself
	repeated int  // tasks above it in the entry with the same Norm and Under
}

// A Link is a reference from an entry to a file or an anchor.
type Link struct {
	Text   string
	Target string // as written, without the anchor
	Anchor string
	// possible targets in order of preference: root-relative, file-relative, archived; slash paths below the root
	Paths []string

	// Name is the target without extension, folded. The link finds files in any
	// directory whose path ends with it, or that have it as an alias. If it begins
	// with a slash, the rest is the whole path of a file. It is empty if only Paths
	// count.
	Name string

	wiki bool // [[target]]: .md is implied
}

// A Progress counts done and total checkboxes.
type Progress struct{ Done, Total int }

// String returns the progress in the form of the frontmatter: done/total.
func (p Progress) String() string { return fmt.Sprintf("%d/%d", p.Done, p.Total) }

// For returns the document if a view may read it, else nil. Callers treat nil like a
// missing file.
func (d *Document) For(v View) *Document {
	if v.Readable(d.Partition) {
		return d
	}
	return nil
}

// MemorySize estimates the bytes of memory that the document occupies: the source, a
// copy of it as a string, of which the texts are parts, the normalized texts, and the
// entries.
func (d *Document) MemorySize() int {
	if d == nil {
		return 0
	}
	const attribute, linkTexts = 64, 64
	n := int(unsafe.Sizeof(*d)) + 4*len(d.Source) + 8*cap(d.lines.starts) +
		cap(d.Headings)*int(unsafe.Sizeof(Heading{}))
	for i := range d.Entries {
		e := &d.Entries[i]
		n += int(unsafe.Sizeof(*e)) + len(e.Attributes)*attribute + cap(e.Tasks)*int(unsafe.Sizeof(Task{}))
		for _, l := range e.Links {
			n += int(unsafe.Sizeof(l)) + len(l.Text) + len(l.Paths)*linkTexts
		}
	}
	return n
}

// Progress counts the boxes in sections of tasks and follow-ups.
func (d *Document) Progress() (tasks, followUps Progress) {
	return d.countTasks(func(int) bool { return true })
}

// countTasks counts the boxes of the entries for which counts returns true.
func (d *Document) countTasks(counts func(entry int) bool) (tasks, followUps Progress) {
	for i := range d.Entries {
		if !counts(i) {
			continue
		}
		for _, t := range d.Entries[i].Tasks {
			switch {
			case t.InTasks:
				tasks.add(t.State)
			case t.FollowUp:
				followUps.add(t.State)
			}
		}
	}
	return tasks, followUps
}

func (p *Progress) add(s TaskState) {
	p.Total++
	if s == Done {
		p.Done++
	}
}

// Prefixes of the attribute source for entries not written by or for the
// subject: texts from a public context, and texts from a topic, which any
// client that knows the topic's name can write to.
const (
	PublicSource = "public:"
	TopicSource  = "ntfy:"
)

// An Author is the origin of an entry or of a session's summary, as its
// attributes source and written_by record it.
type Author struct {
	Source string `json:"source,omitempty"`
	By     string `json:"by,omitempty"` // subject of the author; empty if the text is its subject's own
}

// Untrusted reports whether a text was written in public, through a topic, or by
// a subject that is neither the subject of the text nor one of the view's. The
// zero View is that of an anonymous caller.
func (a Author) Untrusted(v View) bool {
	return IsUntrustedSource(a.Source) || a.By != "" && !slices.Contains(v.subjects, a.By)
}

// Author returns the author of the entry.
func (e *Entry) Author() Author { return Author{e.Source, e.By} }

// Author returns the author of the summary.
func (f *Front) Author() Author { return Author{f.Source, f.By} }

// IsUntrustedSource reports whether a source attribute names a source other than the
// subject.
func IsUntrustedSource(source string) bool {
	return strings.HasPrefix(source, PublicSource) || strings.HasPrefix(source, TopicSource)
}

// Shown is the text of a file that a view may read.
type Shown struct {
	Lines []string // without line endings

	found bool // the view may read something, and be it an empty file
}

// Text returns the lines, each ended by a line feed.
func (s Shown) Text() string {
	if len(s.Lines) == 0 {
		return ""
	}
	return strings.Join(s.Lines, "\n") + "\n"
}

// FrontText returns the frontmatter of the document, which the reader must be able to read.
func (d *Document) FrontText() string {
	if d.Front.Broken || d.Front.Span.End == 0 {
		return ""
	}
	text := displayText(string(d.masked[bomLen(d.masked):d.Front.Span.End]))
	return strings.TrimSuffix(text, "\n") + "\n"
}

// Empty reports whether nothing is visible. Callers treat this like a missing
// file.
func (s Shown) Empty() bool { return !s.found }

// Shown returns the text of the document if a view may read it.
func (d *Document) Shown(v View) Shown {
	d = d.For(v)
	if d == nil {
		return Shown{}
	}
	s := Shown{make([]string, d.lines.count()), true}
	for i := range s.Lines {
		s.Lines[i] = d.line(i + 1)
	}
	return s
}

// Readable reports whether a view may read the entry.
func (e *Entry) Readable(v View) bool { return v.Readable(e.Partition) }

// line returns a line in its display form, without its ending and a byte order
// mark.
func (d *Document) line(line int) string { return d.lineWithout(line, nil) }

// lineWithout returns a line in its display form, without the text in the
// spans.
func (d *Document) lineWithout(line int, spans []Span) string {
	s := d.lines.span(line, line)
	text := d.masked[s.Start:s.End]
	if spans != nil {
		text = removeSpans(nil, text, s.Start, spans)
	}
	text = trimEnding(text)
	if line == 1 {
		text = bytes.TrimPrefix(text, bom)
	}
	return displayText(string(text))
}

// SourceLines returns unmasked lines of the document, each but the last ended by a
// line feed. Use the result for comparisons only and never display it.
func (d *Document) SourceLines(from, to int) string {
	if from < 1 || to < from || to > d.lines.count() {
		return ""
	}
	s := d.lines.span(from, to)
	text := bytes.TrimPrefix(d.Source[s.Start:s.End], bom)
	return strings.TrimSuffix(unixLines(string(text)), "\n")
}

// Masked reports whether the document contains masked text. In that case its
// visible text differs from its content, and a hash of the visible text does
// not identify the content.
func (d *Document) Masked() bool { return d.hasMaskedText(Span{0, len(d.Source)}) }

// MaskedLine reports whether a line contains masked text.
func (d *Document) MaskedLine(line int) bool { return d.hasMaskedText(d.lines.span(line, line)) }

func (d *Document) hasMaskedText(s Span) bool {
	return !bytes.Equal(d.Source[s.Start:s.End], d.masked[s.Start:s.End])
}

// A ProseLine is a line of a file's body for a human reader.
type ProseLine struct {
	Text      string
	Entry     int  // index in Document.Entries; -1 for a heading, a comment, a rule or a blank line
	Untrusted bool // its source is not the subject
}

// Prose returns the lines of the body if the view may read the document, without text for
// programs: frontmatter, attributes of entries, generated text, and blocks
// injected into a prompt. Other comments stay. A heading with only untrusted
// entries below it is untrusted too, because it was written with them. The
// result neither begins nor ends with a blank line, and omitted text does not
// leave two blank lines in a row.
func (d *Document) Prose(v View) []ProseLine {
	if !v.Readable(d.Partition) {
		return nil
	}
	entry, untrusted := d.proseEntries(v)
	comments := make([]Span, 0, len(d.Entries))
	for i := range d.Entries {
		if c := d.Entries[i].Comment; c.End > c.Start {
			comments = append(comments, c)
		}
	}
	hidden := regions(d.hidden)
	out := make([]ProseLine, 0, d.lines.count())
	dropped := true // also suppresses blank lines at the top
	for line := d.bodyLine(); line <= d.lines.count(); line++ {
		if hidden.overlaps(line, line) {
			dropped = true
			continue
		}
		text, span := d.line(line), d.lines.span(line, line)
		comments = spansFrom(comments, span.Start)
		if len(comments) > 0 && comments[0].Start < span.End {
			text = d.lineWithout(line, comments)
			if strings.Trim(text, " \t>") == "" {
				dropped = true
				continue
			}
			text = strings.TrimRight(text, " \t")
		}
		if blank := strings.TrimLeft(text, " \t") == ""; blank && dropped &&
			(len(out) == 0 || out[len(out)-1].Text == "") {
			continue
		} else if blank {
			text = ""
		} else {
			dropped = false
		}
		out = append(out, ProseLine{text, entry[line], untrusted[line]})
	}
	for n := len(out); n > 0 && out[n-1].Text == ""; n-- {
		out = out[:n-1]
	}
	return out
}

// UntrustedLines returns the ranges of lines that others than the subject
// wrote: the lines of their entries, headings with only such entries, and
// the frontmatter with their summary.
func (d *Document) UntrustedLines(v View) (ranges [][2]int) {
	_, untrusted := d.proseEntries(v)
	front := d.Front.Author().Untrusted(v)
	for line := 1; line <= d.lines.count(); line++ {
		if line < d.bodyLine() {
			untrusted[line] = front && strings.Trim(d.line(line), "-. ") != ""
		}
		switch n := len(ranges); {
		case !untrusted[line]:
		case n > 0 && ranges[n-1][1] == line-1:
			ranges[n-1][1] = line
		default:
			ranges = append(ranges, [2]int{line, line})
		}
	}
	return ranges
}

// OwnView returns a view that reads all of the document.
func (d *Document) OwnView() View {
	v := View{owners: map[string]string{}, private: true}
	v.owners[d.Partition.Owner] = d.Partition.Owner
	return v
}

// proseEntries returns, by line, the index of its entry or -1, and whether the
// line is untrusted.
func (d *Document) proseEntries(v View) (entry []int, untrusted []bool) {
	n := d.lines.count() + 2
	entry, untrusted = make([]int, n), make([]bool, n)
	for i := range entry {
		entry[i] = -1
	}
	trusted, below := make([]bool, len(d.Headings)), make([]bool, len(d.Headings))
	for i := range d.Entries {
		e := &d.Entries[i]
		outside := e.Author().Untrusted(v)
		for line := e.Line; line <= e.EndLine; line++ {
			entry[line], untrusted[line] = i, outside
		}
		for h := e.Heading; h >= 0; h = d.Headings[h].Parent {
			below[h], trusted[h] = true, trusted[h] || !outside
		}
	}
	for i, h := range d.Headings {
		for line := h.Line; line <= h.EndLine; line++ {
			untrusted[line] = below[i] && !trusted[i]
		}
	}
	return entry, untrusted
}

func (d *Document) blankLine(line int) bool { return strings.Trim(d.line(line), " \t") == "" }

// bodyLine returns the number of the first line of the body.
func (d *Document) bodyLine() int {
	if d.Front.Span.End > 0 {
		return d.lines.at(d.Front.Span.End-1) + 1
	}
	return 1
}

// emptyBetween reports whether only blank lines, or also separators, are between two lines.
func (d *Document) emptyBetween(from, to int, separators bool) bool {
	for line := from + 1; line < to; line++ {
		if !d.blankLine(line) && !(separators && d.isSeparator(line)) {
			return false
		}
	}
	return true
}

func (d *Document) isSeparator(line int) bool {
	_, is := slices.BinarySearch(d.separators, line)
	return is
}

// LineStart returns the offset of a line, from 1, or the end of the file.
func (d *Document) LineStart(line int) int { return d.lines.start(line) }

// lineEnding returns the line ending of a line, see [lines.ending].
func (d *Document) lineEnding(line int) []byte { return d.lines.ending(d.Source, line) }
