package memory

import (
	"bytes"
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

// A Stamp is what a file looked like when it was read: two equal stamps of one
// path mean, as far as a file system tells without reading, the same content.
type Stamp struct {
	Size  int64
	MTime int64 // nanoseconds since 1970
	CTime int64 // nanoseconds since 1970; 0 where the platform has none
	Inode uint64
}

// IgnoreFile is the name of the file, directly in the root, whose patterns (in
// gitignore's syntax) say what is never read.
const IgnoreFile = ".memwatchdignore"

// A Tree is what one walk of the root, or of a directory in it, saw. Its lists
// are sorted by path, byte for byte.
type Tree struct {
	From    string // the directory that was walked; empty for the whole root
	Files   []Found
	Skipped []Skipped
	Failed  bool // something could not be looked at, for a reason that may pass: look again
}

// Found is a file that may be read.
type Found struct {
	Path  string
	Stamp Stamp
}

// Skipped is something that is not read, and why.
type Skipped struct {
	Path   string
	Reason string // for a person
	Unseen bool   // it could not be looked at: nothing is known about it or what is below it, so it is not gone
}

// A Directory is a directory with what tells it from another one at the same
// path.
type Directory struct {
	Path string // empty for the root
	ID   FileID
}

// FileID tells files and directories apart: a path that leads to another one
// than before leads to something else.
type FileID struct{ Device, Inode uint64 }

// Where a file holds both text that only some may read and text that more may
// read, it is two documents: the whole, for the former, and the excerpt, for the
// others. The excerpt is read from nothing but the lines that are left when the
// private ones had never been written. So it cannot depend on them in any way:
// not by what is an entry and what introduces it, nor by ids, numbers or times.

// For is the document as a view knows it. It is nil where there is nothing for
// the view, which is the same as no file.
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

// Excerpt is the document as those know it who may read its public text only;
// nil if that is all of it, or nothing.
func (d *Document) Excerpt() *Document { return d.excerpt }

// excerptOf is what an excerpt does not say itself.
type excerptOf struct {
	owner string
	front bool // it begins with the frontmatter
}

// setApart decides where the document is kept, and makes its excerpt.
func (d *Document) setApart(l *Layout, meta Meta) {
	d.Partition = d.closed
	public := d.Own.Visibility == PublicOK
	for i := 0; !public && i < len(d.Entries); i++ {
		public = d.Entries[i].Partition.Visibility == PublicOK
	}
	if !public {
		return
	}
	// Who reads the public text, and nothing else.
	v := View{owners: map[string]string{d.public.Owner: ""}}
	if d.whole(v) {
		if !blank(d.Source) {
			d.Partition = d.public
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
			src[n], masked[n] = '\n', '\n' // two ends of lines must not become one
		}
		src = append(src, d.Source[s.Start:s.End]...)
		masked = append(masked, d.masked[s.Start:s.End]...)
	}
	if bytes.Equal(src, masked) {
		masked = src
	}
	front := d.Front.Span.End > 0 && shown.Line(1) == 1
	d.excerpt = l.parse(d.Place.Path, src, masked, meta, &excerptOf{d.public.Owner, front})
	d.excerpt.Partition = d.public
	d.excerpt.Partition.Excerpt = true
}
