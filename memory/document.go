package memory

import (
	"bytes"
	"fmt"
	"slices"
	"time"
	"unsafe"
)

// Span is a range of bytes in a document's source, end exclusive.
type Span struct{ Start, End int }

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

// A Stamp identifies a state of a file without its content: two equal stamps of
// one path mean the same content, as far as the file system can show.
type Stamp struct {
	Size  int64
	MTime int64 // nanoseconds since 1970
	CTime int64 // nanoseconds since 1970; 0 where the platform has none
	Inode uint64
}

// IgnoreFile is the name of the file, directly in the root, whose patterns (in
// gitignore's syntax) exclude files from reading.
const IgnoreFile = ".memwatchdignore"

// A Tree is the result of one walk of the root, or of a directory in it. Its
// lists are sorted by path, byte for byte.
type Tree struct {
	From    string // the directory that was walked; empty for the whole root
	Files   []FoundFile
	Skipped []Skipped
	Failed  bool // a temporary failure hid part of the tree: walk again

	// OldRules reports that the ignore file was being written, so that its earlier
	// patterns were applied.
	OldRules bool
}

// A FoundFile is a file that may be read.
type FoundFile struct {
	Path  string
	Stamp Stamp
}

// A Skipped is a file or directory that is not read, with the reason.
type Skipped struct {
	Path   string
	Reason string // human-readable
	Unseen bool   // it could not be examined, so nothing is known about it or its children; do not treat it as deleted
}

// A Directory is a directory with the identity that distinguishes it from
// another directory at the same path.
type Directory struct {
	Path string // empty for the root
	ID   FileID
}

// A FileID identifies a file or directory independent of its path. If a path
// has a new FileID, the file or directory was replaced.
type FileID struct{ Device, Inode uint64 }

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

// excerptOf holds the properties of an excerpt that its text does not contain.
type excerptOf struct {
	owner string
	front bool // the excerpt begins with the frontmatter
}

// setExcerpt sets the partition of the document and parses its excerpt.
func (d *Document) setExcerpt(l *Layout, meta Meta) {
	d.Partition = d.privatePartition
	if d.Own.Visibility != PublicOK &&
		!slices.ContainsFunc(d.Entries, func(e Entry) bool { return e.Partition.Visibility == PublicOK }) {
		return
	}
	// A view that reads the public text only.
	v := View{owners: map[string]string{d.publicPartition.Owner: ""}}
	if d.fullyReadable(v) {
		if !isBlankText(d.Source) {
			d.Partition = d.publicPartition
		}
		return
	}
	shown := d.Shown(v)
	if shown.Empty() {
		return
	}
	var src, masked []byte
	for _, line := range shown.source {
		s := d.lines.span(line, line)
		if n := len(src) - 1; n >= 0 && src[n] == '\r' && d.Source[s.Start] == '\n' {
			src[n], masked[n] = '\n', '\n' // prevent a CR and an LF of different lines from becoming one line ending
		}
		src = append(src, d.Source[s.Start:s.End]...)
		masked = append(masked, d.masked[s.Start:s.End]...)
	}
	if bytes.Equal(src, masked) {
		masked = src
	}
	front := d.Front.Span.End > 0 && shown.Line(1) == 1
	d.excerpt = l.parse(d.Place.Path, src, masked, meta, &excerptOf{d.publicPartition.Owner, front})
	d.excerpt.Partition = d.publicPartition
	d.excerpt.Partition.Excerpt = true
}
