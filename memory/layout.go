package memory

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
)

// Layout holds the configuration of a root: the meaning of paths and the rules
// of parsing that are not in the files. The zero value is usable. A Layout is
// safe for concurrent use if it is not changed.
type Layout struct {
	// Owner is the subject of text that names no other, "owner" when empty.
	Owner string
	// Location is the time zone of days, UTC when nil.
	Location *time.Location
	// DailyDir is the directory of the owner's daily notes besides memory, "." for
	// the root; empty for none.
	DailyDir string
	// Days recognizes the owner's daily notes elsewhere, such as those of
	// Obsidian; nil recognizes none. They are private, and stay where they are.
	Days *DayFormat
	// Host is part of the names of the daily notes that this machine writes, see
	// [DailyName]; empty for none.
	Host string
	// Roots lists the folders beside the memory directory.
	Roots []*Root
	// Users reports whether a directory of the root belongs to a user: it
	// contains both MEMORY.md and memory/, or is listed in the configuration.
	// Nil means that there are none.
	Users func(dir string) bool
	// Daily and Sessions are the default visibilities of daily notes and of
	// sessions, also in the archive.
	Daily, Sessions Visibility
	// Tasks and FollowUps are the names of the sections whose boxes are
	// counted; nil means [DefaultTasks] and [DefaultFollowUps].
	Tasks, FollowUps []string
	// Mask hides secrets such as credentials. It returns a source of the same
	// length with other letters and digits in place of the secrets, or source
	// itself, which it must not modify. All of a document except
	// [Document.Source] is parsed from the masked source. Nil hides nothing.
	Mask func(source []byte) []byte
}

// DefaultTasks and DefaultFollowUps are the section names for a [Layout]
// without its own. They must not be modified.
var (
	DefaultTasks     = []string{"Tasks", "TODO", commitments}
	DefaultFollowUps = []string{"Follow Ups", "Follow-ups", "跟进"}
)

// commitments is the section in which every item is a task, with or without a
// box.
const commitments = "待办与承诺"

// Path elements with a special meaning.
const (
	longtermsDir = "_longterms"
	archiveDir   = "_archive"
	memoryDir    = "memory"
	indexFile    = "_index.md"
	memoryFile   = "MEMORY.md"
	soulFile     = "SOUL.md"
	userFile     = "USER.md"

	inboxDir = "inbox"
)

var namespaces = [...]string{"profile", "preference", "fact", "project", "task_state"}

// Namespaces returns the names of the item files, in display order. The result
// must not be modified.
func Namespaces() []string { return namespaces[:] }

func isNamespace(s string) bool { return slices.Contains(namespaces[:], s) }

func (l *Layout) owner() string { return cmp.Or(l.Owner, "owner") }

func (l *Layout) location() *time.Location { return cmp.Or(l.Location, time.UTC) }

// Place returns the meaning of a path. Any path that matches no rule is a
// private note of the owner. Paths are compared byte for byte. A conflict copy is a
// note with the owner of its original, see [Layout.ParseCopy].
func (l *Layout) Place(path string) Place {
	if of, ok := CopyOf(path); ok {
		p := l.Place(of)
		if p.Kind != Archive {
			p.Kind, p.Session, p.Namespace = Note, "", ""
		}
		p.Path, p.Copy = path, of
		return p
	}
	if r, _ := l.CutRoot(path); r != nil {
		return r.place(path)
	}
	note := Place{Path: path, Kind: Note, Owner: l.owner()}
	part := strings.Split(path, "/")
	base, ok := CutMarkdown(part[len(part)-1])
	if !ok {
		return note
	}
	name, dirs := part[len(part)-1], part[:len(part)-1]
	if len(dirs) > 0 && dirs[0] == longtermsDir {
		if len(dirs) == 1 {
			return note
		}
		return l.longtermPlace(path, dirs[1], dirs[2:], name, base)
	}
	if p, ok := l.personalPlace(path, dirs, name, base, l.owner(), ""); ok {
		return p
	}
	if day, ok := DailyName(base); ok && l.DailyDir != "" && cmp.Or(strings.Join(dirs, "/"), ".") == l.DailyDir {
		return Place{Path: path, Kind: Daily, Owner: l.owner(), Day: day, Visibility: l.Daily}
	}
	if len(dirs) > 0 && dirs[0] == memoryDir {
		dirs = dirs[1:]
	}
	if len(part) > 1 && !isReserved(part[0]) && !isHiddenName(part[0]) && l.Users != nil && l.Users(part[0]) {
		if p, ok := l.personalPlace(path, part[1:len(part)-1], name, base, userKey(part[0]), part[0]); ok {
			return p
		}
		if len(part) == 3 && part[1] == memoryDir {
			return Place{Path: path, Kind: Note, Owner: userKey(part[0]), Dir: part[0]}
		}
	}
	if day, ok := l.Days.Day(path); ok {
		return Place{Path: path, Kind: Daily, Owner: l.owner(), Day: day, ByFormat: true}
	}
	if len(dirs) == 1 && IsDay(dirs[0]) {
		return Place{Path: path, Kind: Session, Day: dirs[0], Session: base, Visibility: l.Sessions}
	}
	if InInbox(path) { // files without a subject and a visibility of their own are private
		switch namespace := CutEnding(base); {
		case len(dirs) == 2 && isNamespace(namespace):
			note.Kind, note.Namespace = Items, namespace
		case len(dirs) == 3 && IsDay(dirs[2]):
			return Place{Path: path, Kind: Session, Day: dirs[2], Session: base}
		}
	}
	return note
}

// DailyPath returns the path of the owner's daily note on this machine.
func (l *Layout) DailyPath(day string) string {
	return path.Join(cmp.Or(l.DailyDir, memoryDir), l.dailyFile(day))
}

// UserDailyPath returns the path of the daily note of the user with a directory, on
// this machine.
func (l *Layout) UserDailyPath(dir, day string) string {
	return dir + "/" + memoryDir + "/" + l.dailyFile(day)
}

func (l *Layout) dailyFile(day string) string {
	if l.Host == "" {
		return day + ".md"
	}
	return day + "." + l.Host + ".md"
}

// personalPlace returns the place of a file in the layout of one person, at the root
// or in a user's directory.
func (l *Layout) personalPlace(path string, dirs []string, name, base, owner, dir string) (Place, bool) {
	p := Place{Path: path, Owner: owner, Dir: dir}
	day, isDaily := DailyName(base)
	switch {
	case len(dirs) == 0 && name == memoryFile:
		p.Kind = Longterm
	case len(dirs) == 0 && name == soulFile:
		p.Kind, p.Visibility = Identity, PublicOK
	case len(dirs) == 0 && name == userFile:
		p.Kind = Identity
	case len(dirs) == 1 && dirs[0] == memoryDir && isDaily:
		p.Kind, p.Day, p.Visibility = Daily, day, l.Daily
	default:
		return Place{}, false
	}
	return p, true
}

// longtermPlace returns the place of a file below _longterms/<dir>/.
func (l *Layout) longtermPlace(path, dir string, below []string, name, base string) Place {
	p := Place{Path: path, Kind: Note, Owner: longtermKey(dir), Dir: dir}
	switch {
	case len(below) == 0 && name == indexFile:
		p.Kind = Longterm
	case len(below) == 0 && name == base+".md" && isNamespace(CutEnding(base)):
		p.Kind, p.Namespace = Items, CutEnding(base)
	case len(below) == 2 && below[0] == archiveDir && IsDay(below[1]):
		p.Kind, p.Day, p.Session, p.Visibility = Archive, below[1], base, l.Sessions
		if p.isDailyNote() {
			p.Visibility = l.Daily
		}
	case len(below) > 0 && below[0] == archiveDir:
		p.Kind = Archive
	}
	return p
}

// A Place is the meaning of a path, before the file has been read.
type Place struct {
	Path       string // relative to the root, with slashes, compared byte for byte
	Kind       Kind
	Owner      string     // owner key (see [Partition]) unless the frontmatter sets another; empty for sessions
	Dir        string     // the subject's directory ("acct_42"), or empty
	Day        string     // YYYY-MM-DD for session, daily and archived days
	Session    string     // base name without .md, for sessions
	Namespace  string     // for items
	Visibility Visibility // default of the entries
	ByFormat   bool       // a daily note that [Layout.Days] recognizes
	Host       string     // machine that published the entry of the document; empty for files
	Copy       string     // path of the file of which this is a conflict copy, or empty
	Root       string     // name of the folder beside the memory directory (see [Root]), or empty
}

// isDailyNote reports whether the file is an archived daily note, which keeps the
// name of its day. Every other file of an archived day was a session.
func (p Place) isDailyNote() bool { return p.Kind == Archive && p.Day != "" && p.namedByDay() }

// namedByDay reports whether a file of a day has the name of a daily note of that
// day.
func (p Place) namedByDay() bool {
	day, ok := DailyName(p.Session)
	return ok && day == p.Day
}

// Archived returns the archive path of a session or daily note: below the given
// subject, else the owner. The archived file keeps its content and its readers.
// Archived returns an empty string for other files, and for a session whose
// name would make it the daily note in the archive.
func (l *Layout) Archived(p Place, subject string) string {
	switch {
	case p.Kind == Session && !p.namedByDay(), p.Kind == Daily && p.Dir == "" && !p.ByFormat:
	default:
		return ""
	}
	if ValidSubject(subject) != nil {
		subject = l.owner()
	}
	name := path.Base(p.Path)
	if InInbox(p.Path) {
		name = path.Base(InboxOf(p.Path)) + "-" + name
	}
	return archivedDay(SubjectDir(subject), p.Day, name)
}

// archivedDay returns the path of a file in the archive of a day.
func archivedDay(dir, day, name string) string {
	return longtermsDir + "/" + dir + "/" + archiveDir + "/" + day + "/" + name
}

// A Root is a folder beside the memory directory, whose files are searched and
// never changed. The path of its file notes/a.md is NAME:notes/a.md wherever paths
// of the memory directory are used.
type Root struct {
	Name       string
	Owner      string     // the subject that reads its text
	Visibility Visibility // of the entries that set none
	// Project returns the name of the project that a file of the root is about, or
	// "". Nil means that there are no projects.
	Project func(path string) string
}

// ValidRoot returns an error if a root cannot have a name.
func ValidRoot(name string) error {
	if name == MemoryRoot {
		return fmt.Errorf("%q is the name of the memory directory itself", name)
	}
	return validLabel(name, "folder")
}

// MemoryRoot is the name of the memory directory in lists of roots.
const MemoryRoot = "memory"

// Path returns the path of a file of the root. Nil is the memory directory.
func (r *Root) Path(below string) string {
	if r == nil {
		return below
	}
	return r.Name + ":" + below
}

// IsRootPath reports whether a path has the form of a path in a root.
func IsRootPath(path string) bool {
	name, _, ok := strings.Cut(path, ":")
	return ok && (name == MemoryRoot || ValidRoot(name) == nil)
}

// CutRoot returns the root of a file and its path below the root. For a file of the
// memory directory, it returns nil and the path itself. It is the only place that
// interprets such paths.
func (l *Layout) CutRoot(path string) (r *Root, below string) {
	if len(l.Roots) == 0 {
		return nil, path
	}
	name, below, ok := strings.Cut(path, ":")
	i := slices.IndexFunc(l.Roots, func(r *Root) bool { return r.Name == name })
	if !ok || i < 0 {
		return nil, path
	}
	return l.Roots[i], below
}

// InRoot reports whether a path is that of a file of a root.
func (l *Layout) InRoot(path string) bool {
	r, _ := l.CutRoot(path)
	return r != nil
}

// place returns the place of a file. The text of the root belongs to one subject,
// regardless of the content of its files, in partitions of its own: see
// [View.WithRoots].
func (r *Root) place(path string) Place {
	return Place{Path: path, Kind: Note, Owner: r.Key(), Root: r.Name, Visibility: r.Visibility}
}

// below returns the path below the root of the file.
func (p Place) below() string {
	if p.Root == "" {
		return p.Path
	}
	return strings.TrimPrefix(p.Path, p.Root+":")
}

// rootPrefix begins the owner keys of roots. The keys of directories differ, because no
// name of a directory contains a slash.
const rootPrefix = "?/"

// IsRootKey reports whether an owner key is that of a root.
func IsRootKey(owner string) bool { return strings.HasPrefix(owner, rootPrefix) }

// Key returns the owner key of the text of the root.
func (r *Root) Key() string { return rootPrefix + r.Name }

// Roots returns the names of the roots that belong to the scope of the view, sorted.
// The view reads none of them before [View.WithRoots].
func (v View) Roots() []string { return slices.Sorted(maps.Keys(v.roots)) }

// WithRoots returns the view with the roots of these names, as far as they belong to
// its scope. Other views contain no text of roots, so only the operations that call
// WithRoots return such text.
func (v View) WithRoots(names ...string) View {
	owners := maps.Clone(v.owners)
	for _, name := range names {
		if subject, ok := v.roots[name]; ok {
			owners[rootPrefix+name] = subject
		}
	}
	v.owners = owners
	return v
}

// HasOnlyRoots reports whether the view is one of [View.OnlyRoots].
func (v View) HasOnlyRoots() bool { return v.onlyRoots }

// OnlyRoots returns the view without the text of the memory directory.
func (v View) OnlyRoots() View {
	owners := maps.Clone(v.owners)
	maps.DeleteFunc(owners, func(key, _ string) bool { return !IsRootKey(key) })
	v.owners, v.onlyRoots = owners, true
	return v
}
