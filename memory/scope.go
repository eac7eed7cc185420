package memory

import (
	"cmp"
	"slices"
)

// Scope is who is asking, and where the answer will be shown. The zero scope is
// nobody in an unknown context: it sees public text without a subject.
type Scope struct {
	Subject string   // canonical subject; empty is nobody
	Aliases []string // other subjects whose memory is read as well
	Context Context
}

// A Partition is the set of entries of one owner key and one visibility: the
// unit in which memory is kept apart. What a request may not open does not
// influence its answer in any way.
//
// Owner is a subject id; or "?" and the name of a directory below _longterms,
// or that of a user's directory with a slash, for the files of a directory that
// stands for a subject (see [Directories]); or empty, for public text without a
// subject.
//
// Excerpt is true for the public text of files that hold private text too (see
// [Document.Excerpt]). It is kept from those who may read the whole files.
type Partition struct {
	Owner      string
	Visibility Visibility
	Excerpt    bool
}

// View is what a scope may read: the zero view sees public entries without an
// owner only. A view is immutable and safe for concurrent use.
type View struct {
	root     string            // the subject that the private text of nobody's files belongs to
	subjects []string          // the scope's subjects, canonical first
	owners   map[string]string // owner keys that may be opened → the subject they stand for
	private  bool
}

// Readable reports whether the view may read what is kept in p. This is the one
// place where the rule of who may read what is written down:
//
//	readable = (no subject, or one of the scope's) and (public_ok, or the context is private)
func (v View) Readable(p Partition) bool {
	if p.Visibility != PublicOK && !v.private {
		return false
	}
	if p.Excerpt && v.whole(p.Owner) {
		return false
	}
	if p.Owner == "" {
		// A private entry always has a subject; one without is a mistake of
		// ours, and stays closed.
		return p.Visibility == PublicOK
	}
	_, ok := v.owners[p.Owner]
	return ok
}

// whole reports whether the view may read all of a file whose public text
// belongs to an owner.
func (v View) whole(owner string) bool {
	if owner == "" {
		owner = v.root
	}
	_, ok := v.owners[owner]
	return ok && v.private
}

// SubjectOf is the subject that a readable partition's owner key stands for in
// this view: the id that an answer shows. It is empty for nobody's text.
func (v View) SubjectOf(p Partition) string { return v.owners[p.Owner] }

// Subjects are the subjects whose memory the view reads, the canonical one
// first. It is empty for nobody.
func (v View) Subjects() []string { return slices.Clone(v.subjects) }

// Private reports whether the view reads private entries.
func (v View) Private() bool { return v.private }

// Partitions are all that the view may open, sorted by owner and visibility.
func (v View) Partitions() []Partition {
	out := []Partition{{Visibility: PublicOK}}
	if !v.whole("") {
		out = append(out, Partition{Visibility: PublicOK, Excerpt: true})
	}
	for owner := range v.owners {
		out = append(out, Partition{Owner: owner, Visibility: PublicOK})
		if v.private {
			out = append(out, Partition{Owner: owner, Visibility: PrivateOnly})
		} else {
			out = append(out, Partition{Owner: owner, Visibility: PublicOK, Excerpt: true})
		}
	}
	slices.SortFunc(out, Partition.Compare)
	return out
}

// Compare orders partitions by owner, private before public before excerpts.
func (p Partition) Compare(q Partition) int {
	order := func(p Partition) int {
		if p.Excerpt {
			return int(PublicOK) + 1
		}
		return int(p.Visibility)
	}
	return cmp.Or(cmp.Compare(p.Owner, q.Owner), cmp.Compare(order(p), order(q)))
}
