package memory

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const maxSubject = 256 // bytes: longer than any identifier of a messenger or account

// ValidSubject says why s cannot be a subject's id: ids are not empty, are at
// most 256 bytes of UTF-8 without control characters, and do not begin with
// "?", which marks the keys of directories.
func ValidSubject(s string) error {
	switch {
	case s == "":
		return errors.New("subject is empty")
	case len(s) > maxSubject:
		return fmt.Errorf("subject is longer than %d bytes", maxSubject)
	case s[0] == '?':
		return errors.New("subject begins with a question mark")
	case !utf8.ValidString(s):
		return errors.New("subject is not valid UTF-8")
	case strings.ContainsFunc(s, unicode.IsControl):
		return errors.New("subject has control characters")
	}
	return nil
}

// maxName keeps a name with its hash and its extension within what file systems
// allow.
const maxName = 200

// sanitize makes a file name of an id: what is not a letter, digit, dot, dash
// or underscore becomes an underscore. Two ids that differ in more than a colon
// get different names, by a hash, which is also added where the name alone
// would mean something else.
func sanitize(id string, taken func(name string) bool) string {
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
	if hidden(name) { // stays hidden, whatever is added at its end
		name, unsafe = "_"+name[1:], true
	}
	if unsafe || taken(name) {
		sum := sha256.Sum256([]byte(id))
		name += "-" + hex.EncodeToString(sum[:4])
	}
	return name
}

// reserved reports whether a directory's name has a meaning of its own.
func reserved(name string) bool {
	switch name {
	case memoryDir, memoryFile, "index.sqlite", "users", longtermsDir, archiveDir:
		return true
	}
	return IsDay(name)
}

// SubjectDir is the name of a subject's directory below _longterms.
func SubjectDir(subject string) string { return sanitize(subject, reserved) }

// UserDir is the name of a subject's directory at the root, in the layout that
// has MEMORY.md and memory/ in it.
func UserDir(subject string) string {
	if reserved(subject) || hidden(subject) {
		subject = "user-" + subject
	}
	return sanitize(subject, reserved)
}

// SessionFile is the name of the file of a session within its day.
func SessionFile(id string) string {
	skipped := func(name string) bool { return skip(name+".md") != "" }
	name := sanitize(id, skipped)
	if skipped(name) { // it looks like a conflict copy, and those have dots or dashes
		name = strings.NewReplacer(".", "_", "-", "_").Replace(name)
	}
	return name + ".md"
}

// SessionNames are names for the file of a session, without .md, the usual one
// first: another is taken if that is the name of a file that is another session's,
// and a third if somebody who may read more has such a session, too. Reader stands
// for who may read no more than that.
func SessionNames(id, reader string) []string {
	name := strings.TrimSuffix(SessionFile(id), ".md")
	apart := func(s string) string {
		sum := sha256.Sum256([]byte(s))
		return name + "-" + hex.EncodeToString(sum[:4])
	}
	return []string{name, apart(id), apart(id + "\n" + reader)}
}

// Directories knows which subject each directory that stands for one belongs
// to, from what its files claim. The zero value knows of no claim. Methods that
// change it must not run at the same time as others.
type Directories struct {
	// Owner is the subject that owns the root, as in [Layout]; "owner" when
	// empty.
	Owner string
	// Unsure is true while not every file has been read. A directory without a
	// known claim may then turn out to be somebody's, and is opened to nobody
	// but the root's owner.
	Unsure bool

	claims map[string]map[string]string // owner key → path → subject
	keys   map[string]string            // path → owner key
}

// Set notes what the file at a place claims; an empty claim is none.
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

// Remove forgets what the file at a path claimed.
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

// Subject is the subject behind an owner key, as far as it is known. A directory
// is the subject's that its files claim it for, else the one's of its own name;
// one that is contested is nobody else's.
func (d *Directories) Subject(owner string) string {
	if !strings.HasPrefix(owner, "?") {
		return owner
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

// opens reports whether a subject that maps to a directory may open it: nobody
// else has a claim.
func (d *Directories) opens(key, subject string) bool {
	if d.Unsure && len(d.claims[key]) == 0 {
		return subject == d.owner()
	}
	for _, claim := range d.claims[key] {
		if claim != subject {
			return false
		}
	}
	return true
}

// A Conflict is a directory that two subjects claim. It is opened to neither.
type Conflict struct {
	Dir      string   // the directory, relative to the root
	Subjects []string // sorted
	Paths    []string // the files that claim it, sorted
}

// Conflicts returns the contested directories, sorted.
func (d *Directories) Conflicts() []Conflict {
	var out []Conflict
	for key, claims := range d.claims {
		c := Conflict{Dir: keyDir(key)}
		for path, subject := range claims {
			c.Paths = append(c.Paths, path)
			c.Subjects = append(c.Subjects, subject)
		}
		slices.Sort(c.Paths)
		slices.Sort(c.Subjects)
		if c.Subjects = slices.Compact(c.Subjects); len(c.Subjects) > 1 {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b Conflict) int { return strings.Compare(a.Dir, b.Dir) })
	return out
}

// keyDir is the path of the directory behind an owner key.
func keyDir(key string) string {
	if dir, ok := strings.CutSuffix(key[1:], "/"); ok {
		return dir
	}
	return longtermsDir + "/" + key[1:]
}

// View is what a scope may read. Nobody has no aliases. An invalid subject or
// alias is an error, and the view is then nobody's.
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
			if _, ok := owners[key]; !ok && d.opens(key, subject) {
				owners[key] = subject
			}
		}
	}
	v.subjects, v.owners = subjects, owners
	return v, nil
}
