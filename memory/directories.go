package memory

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const maxSubject = 256 // bytes: longer than any identifier of a messenger or account

// ValidSubject returns an error if s cannot be a subject's id. An id is not
// empty, is at most 256 bytes of UTF-8 without control characters, and does not
// begin with "?", which marks the keys of directories.
func ValidSubject(s string) error {
	switch {
	case s == "":
		return errors.New("subject is empty")
	case len(s) > maxSubject:
		return fmt.Errorf("subject is longer than %d bytes", maxSubject)
	case s[0] == '?':
		return errors.New("subject starts with a question mark")
	case !utf8.ValidString(s):
		return errors.New("subject is not valid UTF-8")
	case strings.ContainsFunc(s, unicode.IsControl):
		return errors.New("subject has control characters")
	}
	return nil
}

// maxName bounds a sanitized name, so that the name with its hash and extension
// stays within the limits of file systems.
const maxName = 200

// sanitizeName returns a file name for an id. Characters other than ASCII letters,
// digits, dots, dashes and underscores become underscores. A hash is appended
// if the id contains such a character other than a colon, is too long or
// hidden, or if the name is taken. So ids that differ in more than a colon get
// different names.
func sanitizeName(id string, taken func(name string) bool) string {
	var b strings.Builder
	unsafe := id == ""
	for _, r := range id {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '_', r == '-':
			b.WriteRune(r)
		default:
			b.WriteByte('_')
			unsafe = unsafe || r != ':'
		}
	}
	name := b.String()
	if len(name) > maxName {
		name, unsafe = name[:maxName], true
	}
	if isHiddenName(name) { // a suffix would not change that, so replace the first character
		name, unsafe = "_"+name[1:], true
	}
	if unsafe || taken(name) {
		name += shortHash(id)
	}
	return name
}

// isSafeName reports whether an id can have the name, which has a hash if it was cut.
func isSafeName(name string) bool {
	if len(name) == maxName+len(shortHash("")) {
		name = name[:maxName]
	}
	return !isHiddenName(name) && sanitizeName(name, func(string) bool { return false }) == name
}

// shortHash returns a suffix that distinguishes names.
func shortHash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "-" + hex.EncodeToString(sum[:4])
}

// isReserved reports whether a directory's name has a special meaning.
func isReserved(name string) bool {
	switch name {
	case memoryDir, memoryFile, "index.sqlite", "users", longtermsDir, archiveDir:
		return true
	}
	return IsDay(name)
}

// SubjectDir returns the name of a subject's directory below _longterms.
func SubjectDir(subject string) string { return sanitizeName(subject, isReserved) }

// reservedUser precedes a subject whose name is reserved in the name of its
// directory at the root.
const reservedUser = "user-"

// UserDir returns the name of a subject's directory at the root, in the layout
// where that directory contains MEMORY.md and a directory memory. The directory
// of a subject with a reserved name, such as memory, is user-memory.
func UserDir(subject string) string {
	if isReserved(subject) || isHiddenName(subject) {
		return sanitizeName(reservedUser+subject, isReserved)
	}
	return sanitizeName(subject, func(name string) bool {
		rest, ok := strings.CutPrefix(name, reservedUser)
		return isReserved(name) || ok && (isReserved(rest) || isHiddenName(rest)) // else two subjects would share a directory
	})
}

// ReservedUser returns an error if a directory of the root cannot belong to a
// user because its name is reserved.
func ReservedUser(dir string) error {
	if isReserved(dir) {
		return fmt.Errorf("%q is reserved; the directory of a user with this name is %s", dir, UserDir(dir))
	}
	return nil
}

// SessionFile returns the name of a session's file within the directory of its
// day.
func SessionFile(id string) string {
	skipped := func(name string) bool { return new(Layout).Skip(name+".md") != "" }
	name := sanitizeName(id, skipped)
	if skipped(name) { // it looks like a conflict copy, whose name contains dots or dashes
		name = strings.NewReplacer(".", "_", "-", "_").Replace(name)
	}
	return name + ".md"
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
