package todosync

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/memory"
)

// A Digest stands for a text: enough to know it again, not to read it. The zero
// digest is that of the empty text.
type Digest [12]byte

func digest(s string) (d Digest) {
	if s != "" {
		sum := sha256.Sum256([]byte(s))
		copy(d[:], sum[:])
	}
	return d
}

// HashDigest is the digest of bytes with that SHA-256.
func HashDigest(sum [32]byte) Digest { return Digest(sum[:len(Digest{})]) }

// MarshalText implements [encoding.TextMarshaler].
func (d Digest) MarshalText() ([]byte, error) {
	if d == (Digest{}) {
		return nil, nil
	}
	return base64.RawURLEncoding.AppendEncode(nil, d[:]), nil
}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (d *Digest) UnmarshalText(text []byte) error {
	*d = Digest{}
	if len(text) == 0 {
		return nil
	}
	b, err := base64.RawURLEncoding.AppendDecode(nil, text)
	if err == nil && len(b) != len(d) {
		err = fmt.Errorf("digest: %d bytes are not %d", len(b), len(d))
	}
	copy(d[:], b)
	return err
}

// A Section is the sort of section that a task stands in.
type Section uint8

// The sorts of sections. A task in any other is known by its id alone.
const (
	Elsewhere Section = iota
	Tasks
	FollowUps
)

// State is what is known of a box.
type State uint8

// The states of a box.
const (
	Open   State = iota
	Done         // by a person or a program, as far as we know
	Ticked       // by reconciliation: it completes nothing else
	Kept         // open, because a person unticked what reconciliation had ticked
)

func (s State) done() bool { return s == Done || s == Ticked }

// A Box is a task in a file, as it is compared with those of others.
type Box struct {
	ID      string  `json:"id,omitempty"`
	Text    Digest  `json:"text,omitzero"`  // normalised
	Under   Digest  `json:"under,omitzero"` // the list item around it
	Section Section `json:"section,omitempty"`
	Owner   string  `json:"owner,omitempty"` // whose it is: an owner key of [memory.Partition]
	Private bool    `json:"private,omitempty"`
	Apart   bool    `json:"apart,omitempty"` // it recurs, or is masked so that others look the same: it has no copies
	State   State   `json:"state,omitempty"`

	Entry, Task int `json:"-"` // where it stands in the document
}

// A File is what is compared of a file.
type File struct {
	Path    string   `json:"path"`
	Day     string   `json:"day,omitempty"` // empty for long-term files
	Contact string   `json:"contact,omitempty"`
	Session string   `json:"session,omitempty"`
	Hash    Digest   `json:"hash"`
	Past    []Digest `json:"past,omitempty"` // what the hash was before, the last one last
	Gone    bool     `json:"gone,omitempty"` // it is not there any more
	Boxes   []Box    `json:"boxes"`
}

// Concerns reports whether files of a kind hold tasks that may have copies.
func Concerns(k memory.Kind) bool {
	return k == memory.Session || k == memory.Daily || k == memory.Longterm
}

// FileOf is what is compared of a document: all of its boxes, in their order. Of
// one that does not concern us it is as if it were gone.
func FileOf(doc *memory.Document) *File {
	if !Concerns(doc.Place.Kind) {
		return &File{Path: doc.Place.Path, Gone: true}
	}
	// Strings are copied: they may be parts of the file's text, which is not kept.
	f := &File{
		Path: doc.Place.Path, Day: doc.Place.Day, Contact: strings.Clone(doc.Front.ContactID),
		Session: strings.Clone(cmp.Or(doc.Front.SessionID, doc.Place.Session)), Hash: HashDigest(sha256.Sum256(doc.Source)),
	}
	apart := slices.ContainsFunc(doc.Front.Tags, func(tag string) bool { return strings.EqualFold(strings.TrimPrefix(tag, "#"), recurring[1:]) })
	for i := range doc.Entries {
		e := &doc.Entries[i]
		for j := range e.Tasks {
			t := &e.Tasks[j]
			b := Box{
				ID: strings.Clone(t.ID), Text: digest(t.Norm), Under: digest(t.Under), Owner: strings.Clone(e.Partition.Owner),
				Private: e.Partition.Visibility == memory.PrivateOnly, Apart: apart || e.Masked && t.ID == "" || recurs(e, j), Entry: i, Task: j,
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
			f.Boxes = append(f.Boxes, b)
		}
	}
	return f
}

// recurring is the tag of tasks that are done again and again.
const recurring = "#recurring"

// recurs reports whether a task, or one that it is a part of, has that tag.
func recurs(e *memory.Entry, task int) bool {
	for ; task >= 0; task = e.Tasks[task].Parent {
		for _, word := range strings.Fields(e.Tasks[task].Text) {
			if strings.EqualFold(strings.TrimRight(word, ".,;:!?)"), recurring) {
				return true
			}
		}
	}
	return false
}

// A Copy is one box with what is known of its file.
type Copy struct {
	Path    string `json:"path"`
	Day     string `json:"day,omitempty"`
	Contact string `json:"contact,omitempty"`
	Box
}

// TextOf is the digest by which a task with such a text is known.
func TextOf(text string) Digest { return digest(memory.TaskNorm(text)) }

// Copy is one of the file's boxes.
func (f *File) Copy(box int) Copy { return Copy{f.Path, f.Day, f.Contact, f.Boxes[box]} }

// Rules decide which copies are of the same task, and which may be ticked.
type Rules struct {
	// Subject is the subject behind an owner key; the key itself if nil.
	Subject func(owner string) string
	// First and Last are the days within which tasks are ticked.
	First, Last string
}

func (r *Rules) subject(owner string) string {
	if r.Subject == nil {
		return owner
	}
	return r.Subject(owner)
}

// window are the days within so many of today, and one more: it may be tomorrow
// elsewhere already.
func window(today string, days int) (first, last string) {
	t, err := time.Parse(time.DateOnly, today)
	if err != nil {
		return today, today
	}
	return t.AddDate(0, 0, -days).Format(time.DateOnly), t.AddDate(0, 0, 1).Format(time.DateOnly)
}

// A fit is how well two boxes go together.
type fit uint8

const (
	different fit = iota
	byText
	byID
)

// Same reports whether two boxes are copies of one task.
func (r *Rules) Same(a, b *Copy) bool { return r.fit(a, b) != different }

// fit is the rule of what the same task is. It is not transitive: what is
// nobody's goes with one person's and with another's.
//
//	same task = same section, item around it and text, and the same audience
//	          | same id, and the same audience
//	audience  = subject and contact, each equal or absent in one
//
// With a long-term task it has to be the same id, and the same subject.
func (r *Rules) fit(a, b *Copy) fit {
	sameID := a.ID != "" && a.ID == b.ID
	sameText := a.Section == b.Section && a.Text == b.Text && a.Under == b.Under && a.Text != Digest{}
	longterm := a.Day == "" || b.Day == ""
	switch {
	case !sameID && (!sameText || longterm), a.Apart, b.Apart, !absentOrEqual(a.Contact, b.Contact):
		return different
	}
	x, y := r.subject(a.Owner), r.subject(b.Owner)
	switch {
	case longterm && x != y, !absentOrEqual(x, y):
		return different
	case sameID:
		return byID
	}
	return byText
}

func absentOrEqual(a, b string) bool { return a == "" || b == "" || a == b }

// candidates are the boxes of a file that a completion may mean, open or not.
// What is private never means what is public, which would tell of it; and what
// is public means what is public, whatever else there is.
func (r *Rules) candidates(f *File, of *Copy) []int {
	if !of.Private {
		if list := r.among(f, of, false); len(list) > 0 {
			return list
		}
	}
	return r.among(f, of, true)
}

// among are the boxes of a file that fit best, of those that are private or of
// those that are not.
func (r *Rules) among(f *File, of *Copy, private bool) []int {
	var list []int
	best := different
	for i := range f.Boxes {
		c := f.Copy(i)
		switch how := r.fit(of, &c); {
		case how == different || how < best || c.Private != private:
		case how == byText && c.Section == Elsewhere: // any list of boxes may have such words in it
		case how > best:
			best, list = how, append(list[:0], i)
		default:
			list = append(list, i)
		}
	}
	return list
}
