package memory

import (
	"fmt"
	"time"
)

// Span is a range of bytes in a document's source, end exclusive.
type Span struct{ Start, End int }

// A Document is one file, parsed. It is immutable once made and safe for
// concurrent use.
type Document struct {
	Place  Place
	Source []byte // the bytes of the file; never modified
	Front  Front

	Partition Partition // of the document as a whole: who may read it, may read all of it

	Own      Partition // of the file itself: frontmatter, summary, file tags
	Claim    string    // the subject_id by which the file claims its directory, if it fits
	Headings []Heading
	Entries  []Entry // in file order
	Hidden   []Span  // generated text, injected blocks, and comments outside entries: whole lines, not indexed
	Problems []Problem

	// Stale is true when the file could not be read and this is what it said
	// before; whoever reads files says so.
	Stale bool

	// Unsound is true when nothing may ever be written to the file: broken
	// frontmatter, invalid UTF-8, an unclosed marker.
	Unsound bool

	masked  []byte    // the source as it may be shown, byte for byte as long: what everything else is read from
	excerpt *Document // what else may be read of it
	public  Partition // of what is public in this file
	private privacy   // what is private whatever its entry says
	closed  Partition // of what is private in this file
	lines   lines
	hidden  []lineRange // generated text and injected blocks
	opened  []bool      // by heading: something public is below it, or below one of those in it
}

// A Heading gives the entries below it their section path.
type Heading struct {
	Level   int // 1 to 6
	Text    string
	Line    int // 1-based
	EndLine int // a setext heading has two lines
	Parent  int // index of the enclosing heading in Document.Headings, -1 at the top
}

// Block is the Markdown shape of an entry.
type Block uint8

// The shapes of entries.
const (
	Item Block = iota // a top-level list item with everything nested in it
	Paragraph
	Table
	Quote
	HTML
	Code         // with the paragraph that introduces it
	EmptyHeading // a heading whose section holds nothing
)

// An Entry is the smallest thing that is found, shown, counted, merged or
// trimmed.
type Entry struct {
	Line, EndLine int  // 1-based, inclusive: exactly the entry's lines
	Span          Span // the same lines as bytes, with the last line's ending
	Block         Block
	Heading       int      // index of the nearest heading above, -1 for none
	Sections      []string // section path, outermost first

	ID    string // never empty; unique within the document
	Given bool   // ID was written by a person or program (attribute id or ^anchor), not derived

	Masked bool // something in its lines is not shown as it is

	Title string // leading bold text, without the emphasis and the colon
	Text  string // the entry's lines as written, without comments; what is searched and shown
	Norm  string // Text normalised (case, width, white space, emphasis, markers): equal Norm is a duplicate

	Partition     Partition
	Type          string // fact, preference, project, decision, crumb, request, result
	Importance    float64
	Confidence    float64
	HasConfidence bool
	Source        string
	Evidence      []string
	Supersedes    string
	Pin           bool
	Attributes    map[string]string // every attribute as written, decoded; nil when there is none
	Comment       Span              // the comment in the source that holds them; empty when there is none

	Tags  []string // lower-cased without '#', sorted; the file's own tags are included if the entry is of the file's own partition
	Tasks []Task   // in order, nested ones included
	Links []Link

	Time  time.Time // when it was written or last changed, in UTC; zero only if nothing is known at all
	Added string    // the added date as YYYY-MM-DD, or empty

	lead int // where its first block ends, if a comment put there would be its own; else 0
}

// TaskState is the mark in a task's box.
type TaskState uint8

// The states of a task. Other marks are left alone and are not tasks.
const (
	Open TaskState = iota
	Done
)

// String is the state's name on the wire.
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
	ID       string // given to it in its own line, else its entry's if that is given; empty for none
	Under    string // the nearest list item around it, normalised like Norm; empty at the top
	Line     int    // 1-based
	Box      Span   // the byte between the brackets; empty where a list section has no box
	Parent   int    // index of the enclosing task in Entry.Tasks, -1 for none
	FollowUp bool   // in a Follow Ups section
	InTasks  bool   // in a Tasks section

	top bool // it is the entry itself
}

// A Link is a reference from an entry to a file or an anchor.
type Link struct {
	Text   string
	Target string // as written, without the anchor
	Anchor string
	Paths  []string // where it may lead, in order of preference: root-relative, file-relative, archived; slash paths below the root

	wiki bool // [[target]]: .md goes without saying
}

// Progress counts checkboxes.
type Progress struct{ Done, Total int }

// String is the progress as frontmatter has it: done/total.
func (p Progress) String() string { return fmt.Sprintf("%d/%d", p.Done, p.Total) }
