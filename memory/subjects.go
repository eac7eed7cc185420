package memory

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
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

// Directories maps directories to subjects, from the claims in their files. The
// zero value has no claims. Methods that change it must not run concurrently
// with others.
type Directories struct {
	// Owner is the subject that owns the root, as in [Layout]; "owner" when
	// empty.
	Owner string
	// Incomplete is true while some files are unread. A directory without a known
	// claim may still belong to a subject, so only the owner of the root may
	// open it.
	Incomplete bool
	// Roots lists the folders beside the memory directory.
	Roots []*Root

	claims map[string]map[string]string // owner key → path → subject
	keys   map[string]string            // path → owner key
}

// Set records the claim of the file at a place. An empty claim removes the
// record.
func (d *Directories) Set(p Place, claim string) {
	d.Remove(p.Path)
	if claim == "" || p.Dir == "" {
		return
	}
	if d.claims == nil {
		d.claims, d.keys = map[string]map[string]string{}, map[string]string{}
	}
	if d.claims[p.Owner] == nil {
		d.claims[p.Owner] = map[string]string{}
	}
	d.claims[p.Owner][p.Path] = claim
	d.keys[p.Path] = p.Owner
}

// Remove deletes the recorded claim of the file at a path.
func (d *Directories) Remove(path string) {
	key, ok := d.keys[path]
	if !ok {
		return
	}
	delete(d.keys, path)
	delete(d.claims[key], path)
	if len(d.claims[key]) == 0 {
		delete(d.claims, key)
	}
}

// Subject returns the subject of an owner key as far as it is known. If all
// claims on a directory agree, the directory belongs to the claimed subject.
// Without claims it belongs to the subject of its own name. For a contested
// directory Subject returns the key itself, which matches no subject.
func (d *Directories) Subject(owner string) string {
	if !strings.HasPrefix(owner, "?") {
		return owner
	}
	for _, r := range d.Roots {
		if r.Key() == owner {
			return r.Owner
		}
	}
	subject := ""
	for _, claim := range d.claims[owner] {
		if subject != "" && claim != subject {
			return owner
		}
		subject = claim
	}
	if subject == "" {
		subject = strings.Trim(owner, "?/")
	}
	return subject
}

func (d *Directories) owner() string { return (&Layout{Owner: d.Owner}).owner() }

// canOpen reports whether a subject that maps to a directory may open it, which
// requires that no other subject claims it.
func (d *Directories) canOpen(key, subject string) bool {
	if d.Incomplete && len(d.claims[key]) == 0 {
		return subject == d.owner()
	}
	for _, claim := range d.claims[key] {
		if claim != subject {
			return false
		}
	}
	return true
}

// A Conflict is a directory claimed by more than one subject. None of them can
// open it.
type Conflict struct {
	Dir      string   // relative to the root
	Subjects []string // sorted
	Paths    []string // the files that claim it, sorted
}

// Conflicts returns the contested directories, sorted.
func (d *Directories) Conflicts() []Conflict {
	var out []Conflict
	for key, claims := range d.claims {
		subjects := slices.Compact(slices.Sorted(maps.Values(claims)))
		if len(subjects) > 1 {
			out = append(out, Conflict{keyDir(key), subjects, slices.Sorted(maps.Keys(claims))})
		}
	}
	slices.SortFunc(out, func(a, b Conflict) int { return strings.Compare(a.Dir, b.Dir) })
	return out
}

func keyDir(key string) string {
	if dir, ok := strings.CutSuffix(key[1:], "/"); ok {
		return dir
	}
	return longtermsDir + "/" + key[1:]
}

// View returns the view of a scope. For an anonymous scope it ignores aliases.
// If the subject or an alias is invalid, View returns an error and the zero
// view.
func (d *Directories) View(s Scope) (View, error) {
	v := View{root: d.owner(), private: s.Context == Private}
	if s.Subject == "" {
		return v, nil
	}
	owners := map[string]string{}
	var subjects []string
	for _, subject := range append([]string{s.Subject}, s.Aliases...) {
		if err := ValidSubject(subject); err != nil {
			return View{}, fmt.Errorf("scope: %w", err)
		}
		if slices.Contains(subjects, subject) {
			continue
		}
		subjects = append(subjects, subject)
		owners[subject] = subject
		for _, key := range []string{longtermKey(SubjectDir(subject)), userKey(UserDir(subject))} {
			if _, ok := owners[key]; !ok && d.canOpen(key, subject) {
				owners[key] = subject
			}
		}
	}
	v.subjects, v.owners = subjects, owners
	for _, r := range d.Roots {
		if slices.Contains(subjects, r.Owner) {
			if v.roots == nil {
				v.roots = map[string]string{}
			}
			v.roots[r.Name] = r.Owner
		}
	}
	return v, nil
}
