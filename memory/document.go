package memory

import (
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

	Partition Partition // of the document as a whole: its readers may read all of it

	Own      Partition // of the file itself: frontmatter, summary, file tags
	Claim    string    // subject_id with which the file claims its directory, if the claim is valid
	Headings []Heading
	Entries  []Entry // in file order
	Hidden   []Span  // generated text, injected blocks, and comments outside entries: whole lines, not indexed
	Problems []Problem

	// Stale is true when the file could not be read and the document holds its
	// previous content. The code that reads files sets Stale.
	Stale bool

	// Unsound is true when the file must not be written: broken frontmatter,
	// invalid UTF-8, an unclosed marker.
	Unsound bool

	// Written is when the text was written, if readers of public text may read all of
	// it: see [Meta]. It is the time of entries that have no other.
	Written time.Time

	masked           []byte        // source with secrets masked, of the same length; all other fields are parsed from it
	excerpt          *Document     // the part that readers of public text may read
	publicPartition  Partition     // partition of the public entries of the file
	privateLines     privateRanges // lines that are private regardless of their entries
	privatePartition Partition     // partition of the private entries of the file
	lines            lines
	hidden           []lineRange // generated text, injected blocks and comments of Obsidian
	separators       []int       // lines that consist of §, in order
	percent          bool        // it contains comments of Obsidian
	publicBelow      []bool      // by heading: something public is below it or below one of its subheadings
}

// A Heading is a heading of the document. It gives the entries below it their
// section path.
type Heading struct {
	Level   int // 1 to 6
	Text    string
	Line    int // 1-based
	EndLine int // differs from Line for a setext heading, which has two lines
	Parent  int // index of the enclosing heading in Document.Headings, -1 at the top
}

// A Block is the Markdown shape of an entry.
type Block uint8

// The shapes of entries.
const (
	Item Block = iota // a top-level list item with everything nested in it
	Paragraph
	Table
	Quote
	HTML
	Code         // with the paragraph that introduces it
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
	Norm  string // Text normalised (case, width, white space, emphasis, markers); entries with equal Norm are duplicates

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

	Tags  []string // lower-cased without '#', sorted; includes the file's tags if the entry is in the file's own partition
	Tasks []Task   // in order, nested ones included
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
	Paths  []string // possible targets in order of preference: root-relative, file-relative, archived; slash paths below the root

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

// A file that contains both restricted text and text with more readers is two
// documents: the whole, for readers of the restricted text, and the excerpt,
// for the others. The excerpt is parsed only from the lines that remain without
// the private ones. So the excerpt cannot depend on private lines in any way,
// neither in its entries and introductions nor in ids, numbers or times.

// For returns the document as visible to a view: the document itself, its
// excerpt, or nil if the view may read none of it. Callers treat nil like a
// missing file.
func (d *Document) For(v View) *Document {
	switch {
	case v.Readable(d.Partition):
		return d
	case d.excerpt == nil || !v.Readable(d.excerpt.Partition):
		return nil
	case d.Stale:
		stale := *d.excerpt
		stale.Stale = true
		return &stale
	}
	return d.excerpt
}

// Excerpt returns the document for readers of its public text only. It is nil
// if the document is entirely public or entirely private.
func (d *Document) Excerpt() *Document { return d.excerpt }

// MemorySize estimates the bytes of memory that the document and its excerpt
// occupy: the source, a copy of it as a string, of which the texts are parts, the
// normalized texts, and the entries.
func (d *Document) MemorySize() int {
	if d == nil {
		return 0
	}
	const attribute, linkTexts = 64, 64
	n := int(unsafe.Sizeof(*d)) + 4*len(d.Source) + 8*cap(d.lines.starts) + cap(d.Headings)*int(unsafe.Sizeof(Heading{}))
	for i := range d.Entries {
		e := &d.Entries[i]
		n += int(unsafe.Sizeof(*e)) + len(e.Attributes)*attribute + cap(e.Tasks)*int(unsafe.Sizeof(Task{}))
		for _, l := range e.Links {
			n += int(unsafe.Sizeof(l)) + len(l.Text) + len(l.Paths)*linkTexts
		}
	}
	return n + d.excerpt.MemorySize()
}

// Progress counts the boxes in sections of tasks and follow-ups that a view may
// read.
func (d *Document) Progress(v View) (tasks, followUps Progress) {
	return d.countTasks(func(e *Entry) bool { return e.Readable(v) })
}

// frontCounters returns the correct counters for the frontmatter. It counts only
// boxes that every reader of the frontmatter may read, so that the counters do
// not reveal others.
func (d *Document) frontCounters() (tasks, followUps Progress) {
	return d.countTasks(func(e *Entry) bool {
		return e.Partition.Visibility == PublicOK || d.Own.Visibility != PublicOK
	})
}

// countTasks counts the boxes of the entries for which counts returns true.
func (d *Document) countTasks(counts func(*Entry) bool) (tasks, followUps Progress) {
	for i := range d.Entries {
		if !counts(&d.Entries[i]) {
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

// PrivateReadable reports whether a view may read private text in the file,
// whether or not there is any. Errors for other views must not depend on text
// that they cannot read, so they omit the reason why a file cannot be changed.
func (d *Document) PrivateReadable(v View) bool { return v.Readable(d.privatePartition) }

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
