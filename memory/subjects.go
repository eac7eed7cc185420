package memory

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
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
type Partition struct {
	Owner      string
	Visibility Visibility
}

// View is the set of partitions that a scope may read. The zero view reads only
// public entries without an owner. A view is immutable and safe for concurrent
// use.
type View struct {
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
	if p.Owner == "" {
		// A private entry always has a subject. One without a subject is a bug,
		// so it is not readable.
		return p.Visibility == PublicOK && !v.onlyRoots
	}
	_, ok := v.owners[p.Owner]
	return ok
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
	all := []Partition{{Visibility: PublicOK}}
	for owner := range v.owners {
		all = append(all, Partition{owner, PrivateOnly}, Partition{owner, PublicOK})
	}
	all = slices.DeleteFunc(all, func(p Partition) bool { return !v.Readable(p) })
	slices.SortFunc(all, Partition.Compare)
	return all
}

// Compare orders partitions by owner, private before public.
func (p Partition) Compare(q Partition) int {
	return cmp.Or(cmp.Compare(p.Owner, q.Owner), cmp.Compare(p.Kind(), q.Kind()))
}

// Kind returns the digit that stands for the visibility of the partition in stored data.
func (p Partition) Kind() byte { return '0' + byte(p.Visibility) }

// PartitionOf returns the partition of an owner key and a kind (see [Partition.Kind]).
func PartitionOf(owner string, kind byte) Partition {
	p := Partition{Owner: owner}
	if kind == '1' {
		p.Visibility = PublicOK
	}
	return p
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
	v := View{private: s.Context == Private}
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

// IdentitiesPath is the path of the file that links external keys to subjects.
const IdentitiesPath = longtermsDir + "/_identities.yaml"

const maxIdentities = 1 << 20 // bytes; some twenty thousand links

// Identities maps external keys, such as telegram:123456, to subjects. The zero
// value is empty. Identities are immutable and safe for concurrent use.
type Identities struct {
	links   map[string]string   // external key → subject
	aliases map[string][]string // subject → ext: subjects, sorted
}

// ExternalSubject returns the subject of an external key without a link.
func ExternalSubject(key string) string { return "ext:" + key }

// ParseIdentities parses the file of links:
//
//	links:
//	  telegram:123456: acct:42
//
// Parsing is strict, because a link opens one subject's memory to another key:
// for any defect, ParseIdentities returns nil and an error with the line
// number.
func ParseIdentities(src []byte) (*Identities, error) {
	ids, _, _, err := parseLinks(src)
	return ids, err
}

// parseLinks parses the file of links. It also returns the node of the key
// "links", nil if there is none, and the node of its value.
func parseLinks(src []byte) (ids *Identities, key, links *yaml.Node, err error) {
	fail := func(err error) (*Identities, *yaml.Node, *yaml.Node, error) {
		return nil, nil, nil, fmt.Errorf("%s line %d: %w", IdentitiesPath, errorLine(err), err)
	}
	root, err := yamlMapping(src, maxIdentities, 1)
	if err != nil {
		return fail(err)
	}
	ids, links = &Identities{links: map[string]string{}, aliases: map[string][]string{}}, &yaml.Node{}
	for i := 0; i < len(root.Content); i += 2 {
		key, links = root.Content[i], root.Content[i+1]
		if key.Value != "links" {
			return fail(&lineError{key.Line, fmt.Sprintf("unknown key %q; the only key is links", key.Value)})
		}
		if links.Tag != "!!map" && links.Tag != "!!null" {
			return fail(&lineError{links.Line, "links is not a mapping of key: subject lines"})
		}
		for j := 0; j < len(links.Content); j += 2 {
			k, v := links.Content[j], links.Content[j+1]
			if err := ids.addLink(k.Value, v.Value, v.Tag); err != nil {
				return fail(&lineError{k.Line, err.Error()})
			}
		}
	}
	for _, a := range ids.aliases {
		slices.Sort(a)
	}
	return ids, key, links, nil
}

func (ids *Identities) addLink(key, subject, tag string) error {
	if err := ValidExternalKey(key); err != nil {
		return err
	}
	if tag != "!!str" {
		return errors.New("subject is not text; quote the subject")
	}
	if err := ValidSubject(subject); err != nil {
		return err
	}
	if strings.HasPrefix(subject, "ext:") {
		return errors.New("cannot link a key to the subject of another key")
	}
	ids.links[key] = subject
	ids.aliases[subject] = append(ids.aliases[subject], ExternalSubject(key))
	return nil
}

// ValidExternalKey returns an error if s cannot be an external key, which
// consists of a channel, a colon and the channel's name for the user.
func ValidExternalKey(s string) error {
	channel, user, _ := strings.Cut(s, ":")
	if channel == "" || user == "" {
		return errors.New("external key does not have the form channel:user")
	}
	if s != strings.TrimSpace(s) {
		return errors.New("external key begins or ends with a space") // it would be another user
	}
	if err := ValidSubject(ExternalSubject(s)); err != nil {
		return fmt.Errorf("external key: %w", err)
	}
	return nil
}

// Resolve returns the subject of an external key, and the other subjects whose
// memory is read with it. A key without a link has a subject of its own (see
// [ExternalSubject]). For an empty key the subject is empty, which means an
// anonymous caller.
func (ids *Identities) Resolve(externalKey string) (subject string, aliases []string) {
	if externalKey == "" {
		return "", nil
	}
	if subject := ids.Linked(externalKey); subject != "" {
		return subject, ids.AliasesOf(subject)
	}
	return ExternalSubject(externalKey), nil
}

// AliasesOf returns the subjects of the keys linked to a subject, sorted, or
// nil if there are none.
func (ids *Identities) AliasesOf(subject string) []string {
	if ids == nil {
		return nil
	}
	return slices.Clone(ids.aliases[subject])
}

// Linked returns the subject that an external key is linked to, or an empty
// string.
func (ids *Identities) Linked(key string) string {
	if ids == nil {
		return ""
	}
	return ids.links[key]
}

// A LinkedKey is one link.
type LinkedKey struct{ Key, Subject string }

// Links returns all links, sorted by key.
func (ids *Identities) Links() []LinkedKey {
	if ids == nil {
		return nil
	}
	out := make([]LinkedKey, 0, len(ids.links))
	for _, key := range slices.Sorted(maps.Keys(ids.links)) {
		out = append(out, LinkedKey{key, ids.links[key]})
	}
	return out
}

// Users edit the file of links by hand. So LinkKey and UnlinkKey change only
// the lines of one link and keep every other byte.

// LinkKey returns the source of the file of links with a link added. It fails
// if the key is already linked, to any subject, or if the file is invalid.
func LinkKey(src []byte, key, subject string) ([]byte, error) {
	ids, node, links, err := parseLinks(src)
	if err != nil {
		return nil, err
	}
	want := maps.Clone(ids.links)
	if _, ok := want[key]; ok {
		return nil, fmt.Errorf("%s is already linked", key)
	}
	if err := (&Identities{links: want, aliases: map[string][]string{}}).addLink(key, subject, "!!str"); err != nil {
		return nil, err
	}
	ln := splitLines(unixText(src))
	end, line := string(ln.ending(src, 1)), 1
	at, head, indent := bomLen(src), "links:"+end, 2
	if node != nil {
		line, head = node.Line, ""
		at = ln.start(line + 1)
	}
	if len(links.Content) > 0 {
		indent = links.Content[0].Column - 1
	}
	text := head + strings.Repeat(" ", indent) + yamlScalar(key, false) + ": " + yamlScalar(subject, IsDay(subject)) + end
	if next, ok := editLinks(src, textEdit{Span{at, at}, []byte(text)}, want); ok {
		return next, nil
	}
	return nil, fmt.Errorf("%s line %d: write each link on a line of its own below links, or add the new link by hand",
		IdentitiesPath, line)
}

// UnlinkKey returns the source of the file of links without a link. It fails if
// the key is not linked or if the file is invalid.
func UnlinkKey(src []byte, key string) ([]byte, error) {
	ids, _, links, err := parseLinks(src)
	if err != nil {
		return nil, err
	}
	want := maps.Clone(ids.links)
	if _, ok := want[key]; !ok {
		return nil, fmt.Errorf("%s is not linked", key)
	}
	delete(want, key)
	ln, line := splitLines(unixText(src)), 0
	for i := 0; i < len(links.Content); i += 2 {
		if links.Content[i].Value != key {
			continue
		}
		line = links.Content[i].Line
		if next, ok := editLinks(src, textEdit{ln.span(line, links.Content[i+1].Line), nil}, want); ok {
			return next, nil
		}
	}
	return nil, fmt.Errorf("%s line %d: write the link on a line of its own, or remove the link by hand",
		IdentitiesPath, line)
}

// editLinks applies an edit to the file of links and reports whether the result
// has exactly the wanted links.
func editLinks(src []byte, edit textEdit, want map[string]string) ([]byte, bool) {
	next, err := splice(src, []textEdit{edit})
	if err != nil {
		return nil, false
	}
	ids, err := ParseIdentities(next)
	return next, err == nil && maps.Equal(ids.links, want)
}
