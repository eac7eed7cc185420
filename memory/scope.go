package memory

import (
	"cmp"
	"slices"
)

// Scope identifies the caller and the context of an answer. The zero scope is
// an anonymous caller in an unknown context, who can read public text without a
// subject.
type Scope struct {
	Subject string   // canonical subject; empty for an anonymous caller
	Aliases []string // other subjects whose memory the caller reads too
	Context Context
}

// A Partition is the set of entries of one owner key and one visibility. It is
// the unit of access control. Partitions that a request may not read do not
// influence its answer in any way.
//
// Owner is a subject id; or, for the files of a subject's directory (see
// [Directories]), "?" and the name of a directory below _longterms, or "?", the
// name of a user's directory and a slash; or, for the files of a [Root], "?/" and the
// name of the root; or empty, for public text without a subject.
//
// Excerpt is true for the public text of files that also contain private text
// (see [Document.Excerpt]). Views that may read the whole files do not read
// excerpts.
type Partition struct {
	Owner      string
	Visibility Visibility
	Excerpt    bool
}

// View is the set of partitions that a scope may read. The zero view reads only
// public entries without an owner. A view is immutable and safe for concurrent
// use.
type View struct {
	root     string            // the subject of private text in files without a subject
	subjects []string          // the scope's subjects, canonical first
	owners   map[string]string // readable owner keys → their subject
	private  bool
	closed   bool // reads nothing

	roots     map[string]string // roots of the scope's subjects → their subject: see [View.WithRoots]
	onlyRoots bool              // reads nothing of the memory directory
}

// Closed returns the view of the same scope while memory is disabled. It reads
// nothing.
func (v View) Closed() View {
	v.closed = true
	return v
}

// Readable reports whether the view may read a partition. Only this method
// implements the access rule:
//
//	readable = (no subject, or one of the scope's) and (public_ok, or the context is private)
func (v View) Readable(p Partition) bool {
	if v.closed || p.Visibility != PublicOK && !v.private {
		return false
	}
	if p.Excerpt && v.canReadAll(p.Owner) {
		return false
	}
	if p.Owner == "" {
		// A private entry always has a subject. One without a subject is a bug,
		// so it is not readable.
		return p.Visibility == PublicOK && !v.onlyRoots
	}
	_, ok := v.owners[p.Owner]
	return ok
}

// canReadAll reports whether the view may read all of a file whose public text
// belongs to an owner.
func (v View) canReadAll(owner string) bool {
	if owner == "" {
		owner = v.root
	}
	_, ok := v.owners[owner]
	return ok && v.private
}

// SubjectOf returns the subject of a readable partition in this view, which is
// the id in answers. For text without a subject it is empty.
func (v View) SubjectOf(p Partition) string { return v.owners[p.Owner] }

// Subjects returns the subjects whose memory the view reads, the canonical one
// first. For an anonymous caller the list is empty.
func (v View) Subjects() []string { return slices.Clone(v.subjects) }

// Private reports whether the view reads private entries.
func (v View) Private() bool { return v.private }

// Partitions returns all readable partitions, sorted by owner and visibility.
func (v View) Partitions() []Partition {
	all := []Partition{{Visibility: PublicOK}, {Visibility: PublicOK, Excerpt: true}}
	for owner := range v.owners {
		all = append(all, Partition{owner, PrivateOnly, false}, Partition{owner, PublicOK, false},
			Partition{owner, PublicOK, true})
	}
	all = slices.DeleteFunc(all, func(p Partition) bool { return !v.Readable(p) })
	slices.SortFunc(all, Partition.Compare)
	return all
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
