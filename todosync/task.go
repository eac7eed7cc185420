package todosync

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/memory"
)

// A Digest identifies a text or a file without revealing it. The empty digest stands
// for the empty text.
type Digest string

func digestText(s string) Digest {
	if s == "" {
		return ""
	}
	return hashDigest(sha256.Sum256([]byte(s)))
}

// hashDigest returns the digest of data with the given SHA-256.
func hashDigest(sum [32]byte) Digest { return Digest(base64.RawURLEncoding.EncodeToString(sum[:12])) }

// A Section is the kind of section that contains a task.
type Section uint8

// Kinds of sections. A task Elsewhere matches only by its id.
const (
	Elsewhere Section = iota
	Tasks
	FollowUps
)

// State is the known state of a box.
type State uint8

// States of a box.
const (
	Open     State = iota
	Done           // by a person or a program, as far as known
	Ticked         // by reconciliation; completes no other box
	Unticked       // open, because the user unticked a box that reconciliation had ticked
	unseen         // of a box that was not known before
)

func (s State) isDone() bool { return s == Done || s == Ticked }

// A BoxKey identifies a box in versions of a file, regardless of its state.
type BoxKey struct {
	ID      string  `json:"id,omitempty"`
	Text    Digest  `json:"text,omitempty"`  // normalised
	Under   Digest  `json:"under,omitempty"` // the enclosing list item
	Section Section `json:"section,omitempty"`
	Owner   string  `json:"owner,omitempty"` // owner key of a [memory.Partition]
}

// A Box is a task in a file, in the form used for comparison.
type Box struct {
	BoxKey
	Private  bool  `json:"private,omitempty"`
	NoCopies bool  `json:"apart,omitempty"` // has no copies: it recurs, or masking hides its differences from others
	State    State `json:"state,omitempty"`

	// Author is set if the task was written in public or by another subject
	// than the owner.
	Author memory.Author `json:"author,omitzero"`

	Entry, Task int `json:"-"` // position in the document
}

// A File is the state of a file that is compared.
type File struct {
	Path    string `json:"path"`
	Day     string `json:"day,omitempty"` // empty for long-term files
	Contact string `json:"contact,omitempty"`
	Session string `json:"session,omitempty"`
	Hash    Digest `json:"hash"`
	Gone    bool   `json:"gone,omitempty"` // the file does not exist any more
	Boxes   []Box  `json:"boxes"`

	Reported bool `json:"-"` // a program reports the completions of the file now
}

// Concerns reports whether files of a kind contain tasks that may have copies.
func Concerns(k memory.Kind) bool {
	return k == memory.Session || k == memory.Daily || k == memory.Longterm
}

// fileOf returns the comparable state of a document with all its boxes in
// order. For a document of an irrelevant kind it returns a File with Gone set.
func fileOf(doc *memory.Document) *File {
	if !Concerns(doc.Place.Kind) {
		return &File{Path: doc.Place.Path, Gone: true}
	}
	return BoxesOf(doc)
}

// BoxesOf is like [fileOf] for a document of any kind. Boxes of irrelevant kinds change
// on request only.
func BoxesOf(doc *memory.Document) *File {
	// Clone strings: they may be parts of the file's text, which must not stay
	// in memory.
	f := &File{
		Path: doc.Place.Path, Day: doc.Place.Day, Contact: strings.Clone(doc.Front.ContactID),
		Session: strings.Clone(cmp.Or(doc.Front.SessionID, doc.Place.Session)),
		Hash:    hashDigest(sha256.Sum256(doc.Source)),
	}
	for i := range doc.Entries {
		e := &doc.Entries[i]
		for j := range e.Tasks {
			t := &e.Tasks[j]
			b := Box{
				BoxKey: BoxKey{ID: strings.Clone(t.ID), Text: digestText(t.Norm), Under: digestText(t.Under),
					Owner: strings.Clone(e.Partition.Owner)},
				Private:  e.Partition.Visibility == memory.PrivateOnly,
				NoCopies: t.Recurs || e.Masked && t.ID == "", Entry: i, Task: j,
			}
			switch {
			case t.InTasks:
				b.Section = Tasks
			case t.FollowUp:
				b.Section = FollowUps
			}
			if t.State == memory.Done {
				b.State = Done
			}
			if a := e.Author(); a.Untrusted(memory.View{}) {
				b.Author = memory.Author{Source: strings.Clone(a.Source), By: strings.Clone(a.By)}
			}
			f.Boxes = append(f.Boxes, b)
		}
	}
	return f
}

// A Copy is one box with the properties of its file.
type Copy struct {
	Path    string `json:"path"`
	Day     string `json:"day,omitempty"`
	Contact string `json:"contact,omitempty"`
	Box
}

// TextOf returns the digest that identifies a task with the given text.
func TextOf(text string) Digest { return digestText(memory.TaskNorm(text)) }

// Copy returns one of the file's boxes with the properties of the file.
func (f *File) Copy(box int) Copy { return Copy{f.Path, f.Day, f.Contact, f.Boxes[box]} }

// Rules decide which boxes are copies of one task and which may be ticked.
type Rules struct {
	// Subject returns the subject of an owner key.
	Subject func(owner string) string
	// First and Last bound the days whose tasks are ticked.
	First, Last string
	// AppendOnly reports whether the boxes of a file are never ticked; nil means
	// no file.
	AppendOnly func(path string) bool
}

// tickWindow returns the period from days before today to one day after today: it
// may already be tomorrow in another time zone.
func tickWindow(today string, days int) (first, last string) {
	t, err := time.Parse(time.DateOnly, today)
	if err != nil {
		return today, today
	}
	return t.AddDate(0, 0, -days).Format(time.DateOnly), t.AddDate(0, 0, 1).Format(time.DateOnly)
}

// A matchKind is the quality of a match of two boxes.
type matchKind uint8

const (
	different matchKind = iota
	byText
	byID
)

// Same reports whether two boxes are copies of one task. The relation is
// symmetric but not transitive.
func (r *Rules) Same(a, b *Copy) bool { return r.matchBoxes(a, b) != different }

// matchBoxes decides whether two boxes are copies of one task. It is not transitive: a
// box without an owner matches the boxes of two different owners.
//
//	same task = same section, item around it and text, and the same audience
//	          | same id, and the same audience
//	audience  = subject and contact, each equal or absent in one
//
// A long-term task requires the same id and the same subject.
func (r *Rules) matchBoxes(a, b *Copy) matchKind {
	sameID := a.ID != "" && a.ID == b.ID
	sameText := a.Section == b.Section && a.Text == b.Text && a.Under == b.Under && a.Text != ""
	longterm := a.Day == "" || b.Day == ""
	switch {
	case !sameID && (!sameText || longterm), a.NoCopies, b.NoCopies, !absentOrEqual(a.Contact, b.Contact):
		return different
	}
	x, y := r.Subject(a.Owner), r.Subject(b.Owner)
	switch {
	case longterm && x != y, !absentOrEqual(x, y):
		return different
	case sameID:
		return byID
	}
	return byText
}

func absentOrEqual(a, b string) bool { return a == "" || b == "" || a == b }

// Candidates returns the indexes of the boxes that a completion may refer to,
// open or not, or nil. A private completion never matches a public box, because
// the tick would disclose it. A public completion prefers public boxes.
func (r *Rules) Candidates(f *File, of *Copy) []int {
	if !of.Private {
		if list := r.bestMatches(f, of, false); len(list) > 0 {
			return list
		}
	}
	return r.bestMatches(f, of, true)
}

// bestMatches returns the indexes of the best matching boxes among the private or the
// public ones.
func (r *Rules) bestMatches(f *File, of *Copy, private bool) []int {
	var list []int
	best := different
	for i := range f.Boxes {
		c := f.Copy(i)
		switch how := r.matchBoxes(of, &c); {
		case how == different || how < best || c.Private != private: // none, a worse one, or for other readers
		case how == byText && c.Section == Elsewhere: // other sections may contain the same words by chance
		case how > best:
			best, list = how, append(list[:0], i)
		default:
			list = append(list, i)
		}
	}
	return list
}
