package memory

import (
	"path"
	"strings"
	"time"
)

// Layout says what paths mean and how their text is read: everything about a
// root that is not in its files. The zero value is usable. A Layout must not be
// changed while it is in use; then it is safe for concurrent use.
type Layout struct {
	// Owner is the subject of what names no other, "owner" when empty.
	Owner string
	// Location is where days begin and end, UTC when nil.
	Location *time.Location
	// Users reports whether a directory of the root is a user's: it holds both
	// MEMORY.md and memory/, or is listed in the configuration. Nil is none.
	Users func(dir string) bool
	// Daily is the default visibility of daily notes, public_ok when nil.
	Daily *Visibility
	// Identity is the default visibility of SOUL.md and USER.md; when nil,
	// SOUL.md is public_ok and USER.md private_only.
	Identity *Visibility
	// Tasks and FollowUps are the names of the sections whose boxes are
	// counted; nil means [DefaultTasks] and [DefaultFollowUps].
	Tasks, FollowUps []string
	// Mask hides what is never to be shown, such as credentials: it returns a
	// source of the same length in which letters and digits stand for others, or
	// the source itself, which it must not modify. Everything that a document
	// says is read from that; only [Document.Source] has the bytes. Nil hides
	// nothing.
	Mask func(source []byte) []byte
}

// DefaultTasks and DefaultFollowUps are the section names that are looked for
// when a [Layout] names none. They must not be modified.
var (
	DefaultTasks     = []string{"Tasks", "TODO", commitments}
	DefaultFollowUps = []string{"Follow Ups", "Follow-ups", "跟进"}
)

// commitments is the section in which every item is a task, box or not.
const commitments = "待办与承诺"

// Names with a meaning in paths.
const (
	longtermsDir = "_longterms"
	archiveDir   = "_archive"
	memoryDir    = "memory"
	indexFile    = "_index.md"
	memoryFile   = "MEMORY.md"
	soulFile     = "SOUL.md"
	userFile     = "USER.md"
)

var namespaces = [...]string{"profile", "preference", "fact", "project", "task_state"}

// Namespaces returns the names of the item files, in the order in which they
// are shown.
func Namespaces() []string { return namespaces[:] }

func isNamespace(s string) bool {
	for _, n := range namespaces {
		if s == n {
			return true
		}
	}
	return false
}

func (l *Layout) owner() string {
	if l.Owner == "" {
		return "owner"
	}
	return l.Owner
}

func (l *Layout) location() *time.Location {
	if l.Location == nil {
		return time.UTC
	}
	return l.Location
}

func orDefault(v *Visibility, or Visibility) Visibility {
	if v == nil {
		return or
	}
	return *v
}

// Place says what a path means. It is total: a path that fits nothing is a
// private note of the owner. Paths are compared byte for byte.
func (l *Layout) Place(path string) Place {
	note := Place{Path: path, Kind: Note, Owner: l.owner()}
	part := strings.Split(path, "/")
	base, ok := trimMD(part[len(part)-1])
	if !ok {
		return note
	}
	name, dirs := part[len(part)-1], part[:len(part)-1]
	if len(dirs) > 0 && dirs[0] == longtermsDir {
		if len(dirs) == 1 {
			return note
		}
		return l.longterm(path, dirs[1], dirs[2:], name, base)
	}
	if p, ok := l.personal(path, dirs, name, base, l.owner(), ""); ok {
		return p
	}
	if len(dirs) > 0 && dirs[0] == memoryDir {
		dirs = dirs[1:]
	}
	if len(dirs) == 1 && IsDay(dirs[0]) {
		return Place{Path: path, Kind: Session, Day: dirs[0], Session: base, Visibility: PublicOK}
	}
	if len(part) > 1 && !reserved(part[0]) && !hidden(part[0]) && l.Users != nil && l.Users(part[0]) {
		if p, ok := l.personal(path, part[1:len(part)-1], name, base, userKey(part[0]), part[0]); ok {
			return p
		}
		if len(part) == 3 && part[1] == memoryDir {
			return Place{Path: path, Kind: Note, Owner: userKey(part[0]), Dir: part[0]}
		}
	}
	return note
}

// personal is the layout of one person, at the root or in a user's directory.
func (l *Layout) personal(path string, dirs []string, name, base, owner, dir string) (Place, bool) {
	p := Place{Path: path, Owner: owner, Dir: dir}
	switch {
	case len(dirs) == 0 && name == memoryFile:
		p.Kind = Longterm
	case len(dirs) == 0 && name == soulFile:
		p.Kind, p.Visibility = Identity, orDefault(l.Identity, PublicOK)
	case len(dirs) == 0 && name == userFile:
		p.Kind, p.Visibility = Identity, orDefault(l.Identity, PrivateOnly)
	case len(dirs) == 1 && dirs[0] == memoryDir && IsDay(base):
		p.Kind, p.Day, p.Visibility = Daily, base, orDefault(l.Daily, PublicOK)
	default:
		return Place{}, false
	}
	return p, true
}

// longterm is what lies below _longterms/<dir>/.
func (l *Layout) longterm(path, dir string, below []string, name, base string) Place {
	p := Place{Path: path, Kind: Note, Owner: longtermKey(dir), Dir: dir}
	switch {
	case len(below) == 0 && name == indexFile:
		p.Kind = Longterm
	case len(below) == 0 && name == base+".md" && isNamespace(base):
		p.Kind, p.Namespace = Items, base
	case len(below) == 2 && below[0] == archiveDir && IsDay(below[1]):
		p.Kind, p.Day, p.Session, p.Visibility = Archive, below[1], base, PublicOK
		if p.daily() {
			p.Visibility = orDefault(l.Daily, PublicOK)
		}
	case len(below) > 0 && below[0] == archiveDir:
		p.Kind = Archive
	}
	return p
}

// longtermKey and userKey are the owner keys of the two sorts of directories
// that stand for a subject. They differ, because _longterms/x and x may belong
// to different subjects; neither can be a subject's id.
func longtermKey(dir string) string { return "?" + dir }
func userKey(dir string) string     { return "?" + dir + "/" }

// IsDay reports whether s is a calendar day written YYYY-MM-DD.
func IsDay(s string) bool {
	if len(s) != len(time.DateOnly) || s[4] != '-' || s[7] != '-' {
		return false
	}
	_, err := time.Parse(time.DateOnly, s)
	return err == nil
}

// trimMD cuts .md off a file name, in any case.
func trimMD(name string) (base string, ok bool) {
	if n := len(name) - len(".md"); n >= 0 && strings.EqualFold(name[n:], ".md") {
		return name[:n], true
	}
	return name, false
}

func hidden(name string) bool { return strings.HasPrefix(name, ".") }

// Skip is the reason why the file at a path is never read, or empty if it is.
// It looks at the name alone: what sort of file it is, and whether it is ignored
// or too large, is for others to say.
func (l *Layout) Skip(path string) string { return skip(path) }

func skip(path string) string {
	part := strings.Split(path, "/")
	for _, dir := range part[:len(part)-1] {
		if r := skipDir(dir); r != "" {
			return r
		}
	}
	name := part[len(part)-1]
	base, md := trimMD(name)
	switch {
	case hidden(name):
		return "hidden file"
	case !md || base == "":
		return "not a Markdown file"
	case name[0] == '#' || name[0] == '~':
		return "temporary file of an editor"
	case conflictCopy(base):
		return "conflict copy of a sync tool"
	}
	return ""
}

// SkipDir is the reason why nothing in a directory of that name is ever read,
// or empty.
func (l *Layout) SkipDir(name string) string { return skipDir(name) }

func skipDir(name string) string {
	switch {
	case name == "" || name == "." || name == "..":
		return "not a path below the root"
	case hidden(name):
		return "in a hidden directory"
	}
	return ""
}

// conflictMarks are what sync tools put into the name of the other side of a
// conflict: Syncthing, rclone, Dropbox, Nextcloud, Maestral, Obsidian Sync,
// Synology Drive, Seafile, pCloud and Nutstore. Tools that only append a
// computer's name (OneDrive) cannot be told from people.
var conflictMarks = []string{
	".sync-conflict-", ".conflict-copy-", " (conflicted copy", "'s conflicted copy", " (conflicted ", " (case conflict", " (conflict copy",
	" (conflict ", "(sfconflict ", " [conflicted]", " (冲突副本", " (冲突的副本",
}

func conflictCopy(base string) bool {
	low := strings.ToLower(base)
	for _, mark := range conflictMarks {
		if strings.Contains(low, mark) {
			return true
		}
	}
	// ownCloud writes _conflict- and a date; without the date it may be a
	// person's word.
	_, after, ok := strings.Cut(low, "_conflict-")
	return ok && len(after) >= 8 && strings.Trim(after[:8], "0123456789") == ""
}

// A Place is what a path means, before the file has been read.
type Place struct {
	Path       string // relative to the root, with slashes, compared byte for byte
	Kind       Kind
	Owner      string     // owner key (see [Partition]) unless the frontmatter says otherwise; empty for sessions
	Dir        string     // the directory that stands for a subject ("acct_42"), or empty
	Day        string     // YYYY-MM-DD for session, daily and archived days
	Session    string     // base name without .md, for sessions
	Namespace  string     // for items
	Visibility Visibility // default of the entries
}

// daily reports whether the file is an archived daily note: it keeps the name of
// its day. Everything else in an archived day was a session.
func (p Place) daily() bool { return p.Kind == Archive && p.Day != "" && p.Session == p.Day }

// Archived is where a session or a daily note lies when its day is in the
// archive: below the subject that its frontmatter names, else the owner. It is
// read there as it was read before, by the same people. It is empty for other
// files, and for a session that would be taken for the note of its day.
func (l *Layout) Archived(p Place, subject string) string {
	switch {
	case p.Kind == Session && p.Session != p.Day, p.Kind == Daily && p.Dir == "":
	default:
		return ""
	}
	if ValidSubject(subject) != nil {
		subject = l.owner()
	}
	return archivedDay(SubjectDir(subject), p.Day, path.Base(p.Path))
}

// archivedDay is the path of a file of an archived day.
func archivedDay(dir, day, name string) string {
	return longtermsDir + "/" + dir + "/" + archiveDir + "/" + day + "/" + name
}
