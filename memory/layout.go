package memory

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
)

// Inbox returns the directory below which callers write on a listener with a fixed
// scope. Names that could be those of another listener or subject get a hash, so that
// no two share a directory.
func Inbox(listener, subject string) string {
	name := sanitizeName(strings.TrimPrefix(listener+"."+subject, "."), func(string) bool { return false })
	if strings.ContainsAny(listener, ".:") || strings.ContainsAny(subject, "._") {
		name += shortHash(listener + "\n" + subject)
	}
	return inboxDir + "/" + name
}

// InboxOf returns the inbox that contains the file at a path, or an empty string.
func InboxOf(path string) string {
	if rest, ok := strings.CutPrefix(path, inboxDir+"/"); ok {
		if name, _, ok := strings.Cut(rest, "/"); ok {
			return inboxDir + "/" + name
		}
	}
	return ""
}

// NamesInbox reports whether a text contains the path of a file in an inbox. Guests choose
// the names of these files.
func NamesInbox(text string) bool { return inboxRE().MatchString(text) }

var inboxRE = lazyregexp.New(`(?:^|[^\pL\pN/_.-])` + inboxDir + `/[^/\s]+/`)

// Endings of the names, without .md, of files beside the usual ones, for text that
// was written in a public context: text that the context may read, and text that it
// may not.
const (
	PublicFile = ".public"
	UnseenFile = ".private"
)

// BesideFile returns the path of the file beside a Markdown file with one of the
// endings.
func BesideFile(path, ending string) string {
	base, _ := CutMarkdown(path)
	return base + ending + mdExt
}

// CutEnding returns a base name without the ending of a file beside the usual one.
func CutEnding(base string) string {
	return strings.TrimSuffix(strings.TrimSuffix(base, PublicFile), UnseenFile)
}

// usualFile returns the name of the file beside which a file with a name and a base name
// is, or the name itself.
func usualFile(name, base string) string {
	if name == base+mdExt {
		return CutEnding(base) + mdExt
	}
	return name
}

// DailyName returns the day of a daily note from its base name: the day itself, or
// the day, a dot and the name of the machine that wrote the note. Several notes of
// a day, from different machines, are one day. DailyName reports false for other
// names.
func DailyName(base string) (day string, ok bool) {
	day, host, named := strings.Cut(CutEnding(base), ".")
	return day, IsDay(day) && (!named || ValidHost(host) == nil)
}

// ValidHost returns an error if the name of a machine cannot be part of the name of
// a daily note.
func ValidHost(host string) error {
	if conflictMark("."+host+"-") >= 0 {
		return fmt.Errorf("%q is part of the names of conflict copies", host)
	}
	return validLabel(host, "machine")
}

var labelRE = lazyregexp.New(`^[a-z0-9_][a-z0-9_-]{0,62}$`)

// validLabel returns an error if a name cannot be that of a machine or a folder.
func validLabel(name, of string) error {
	if !labelRE().MatchString(name) {
		return fmt.Errorf("%q is not the name of a %s: use up to 63 lower-case letters, digits, dashes and underscores", name, of)
	}
	return nil
}

// CutMarkdown removes the extension of Markdown files, .md or .markdown in any case,
// from a path, and reports whether it was there. No other function decides which
// files are Markdown.
func CutMarkdown(path string) (base string, ok bool) {
	for _, ext := range [...]string{mdExt, ".markdown"} {
		if n := len(path) - len(ext); n >= 0 && strings.EqualFold(path[n:], ext) {
			return path[:n], true
		}
	}
	return path, false
}

// mdExt is the extension of new files.
const mdExt = ".md"

func isHiddenName(name string) bool { return strings.HasPrefix(name, ".") }

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
	name := unsafeRE().ReplaceAllString(strings.ReplaceAll(id, ":", "_"), "_")
	unsafe := id == "" || unsafeRE().MatchString(strings.ReplaceAll(id, ":", ""))
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

// unsafeRE matches a character that is not part of file names.
var unsafeRE = lazyregexp.New(`[^A-Za-z0-9._-]`)

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
		// else two subjects would share a directory
		return isReserved(name) || ok && (isReserved(rest) || isHiddenName(rest))
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
// day, which is not that of a file beside another one.
func SessionFile(id string) string {
	skipped := func(name string) bool { return new(Layout).Skip(name+".md") != "" }
	name := sanitizeName(id, func(name string) bool {
		lower := strings.ToLower(name) // file systems may ignore case
		return skipped(name) || CutEnding(lower) != lower
	})
	if skipped(name) { // it looks like a conflict copy, whose name contains dots or dashes
		name = strings.NewReplacer(".", "_", "-", "_").Replace(name)
	}
	return name + ".md"
}

// longtermKey and userKey return the owner keys of the two kinds of subject
// directories. The keys differ, because _longterms/x and x may belong to
// different subjects. Neither can be a subject's id.
func longtermKey(dir string) string { return "?" + dir }

func userKey(dir string) string { return "?" + dir + "/" }

// Skip returns the reason why the file at a path is never read, or an empty
// string. It examines only the name; file type, ignore patterns and size are
// checked elsewhere.
func (l *Layout) Skip(path string) string {
	part := strings.Split(path, "/")
	if reason := l.skipRoot(path); reason != "" {
		return reason
	}
	for _, dir := range part[:len(part)-1] {
		switch {
		case dir == "", dir == ".", dir == "..":
			return "not a path below the memory directory"
		case isHiddenName(dir):
			return "in a hidden directory"
		}
	}
	name := part[len(part)-1]
	base, md := CutMarkdown(name)
	switch {
	case isHiddenName(name):
		return "hidden file"
	case !md || base == "":
		return "not a Markdown file"
	case strings.HasPrefix(name, "~$"):
		return "temporary file of an editor"
	case conflictMark(base) >= 0:
		return "conflict copy of a sync tool"
	}
	return ""
}

// SkipDir returns the reason why no file of a directory is ever read, or an empty
// string, given that files of its parent are.
func (l *Layout) SkipDir(dir string) string {
	if isHiddenName(path.Base(dir)) {
		return "hidden directory"
	}
	return l.skipRoot(dir)
}

// skipRoot returns the reason why a path of the memory directory is not read: it
// would be that of a file of a root.
func (l *Layout) skipRoot(path string) string {
	if r, _ := l.CutRoot(path); r != nil {
		return "the path is in " + r.Name + ", a folder that is only read"
	}
	return ""
}

// conflictRE matches a part of the names of conflict copies of sync tools: Syncthing,
// rclone, Dropbox, Nextcloud, ownCloud, Maestral, Obsidian Sync, Synology Drive, Seafile,
// pCloud and Nutstore. iCloud appends a number and OneDrive the name of a computer, as
// users do: their copies are ordinary files.
var conflictRE = lazyregexp.New(`(?i)\.sync-conflict-|\.conflict-copy-|'s conflicted copy| \((?:case conflict|conflicted |conflict )|` +
	`\(sfconflict | \[conflicted\]| \(冲突(?:的)?副本|_conflict-\d{8}`)

// CopyOf returns the path of the file of which the file at path is a conflict copy,
// and reports whether the name is that of a copy. A sync tool makes such a copy
// when two machines change a file at the same time.
func CopyOf(name string) (original string, ok bool) {
	dir, file := path.Split(name)
	if rest, ok := strings.CutSuffix(file, ".orig"); ok { // the version that git and patch keep beside a file
		if base, md := CutMarkdown(rest); md && base != "" {
			original, _ := CopyOf(dir + rest)
			return original, true
		}
		return name, false
	}
	base, md := CutMarkdown(file)
	at := conflictMark(base)
	if !md || at < 0 {
		return name, false
	}
	stem := base[:at]
	if strings.HasPrefix(base[at:], "'s") { // Dropbox: name (computer's conflicted copy)
		if open := strings.LastIndex(stem, " ("); open >= 0 {
			stem = stem[:open]
		}
	}
	stem = strings.TrimRight(stem, " ")
	return dir + stem + file[len(base):], true
}

// conflictMark returns the index of the first mark of a conflict copy in a base
// name, or -1.
func conflictMark(base string) int {
	if low := strings.ToLower(base); strings.Contains(low, "conflict") || strings.Contains(low, "冲突") {
		if found := conflictRE().FindStringIndex(base); found != nil {
			return found[0]
		}
	}
	return -1
}

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
	// Days returns the day of a daily note of the owner elsewhere, such as those of
	// Obsidian, by its path without extension; nil recognizes none. They are private,
	// and stay where they are.
	Days func(name string) (day string, ok bool)
	// Host is part of the names of the daily notes that this machine writes, see
	// [DailyName]; empty for none.
	Host string
	// Roots lists the folders beside the memory directory.
	Roots []*Root
	// Users reports whether a directory of the root belongs to a user. Nil means that
	// there are none.
	Users func(dir string) bool
	// Daily and Sessions are the default visibilities of daily notes and of
	// sessions, also in the archive.
	Daily, Sessions Visibility
	// ReviewDir is the directory of the texts that wait for a review; empty for none.
	ReviewDir string
	// Tasks are the names of the sections whose boxes are counted as tasks; nil means
	// defaultTasks.
	Tasks []string
	// Mask hides secrets such as credentials. It returns a source of the same
	// length with other letters and digits in place of the secrets, or source
	// itself, which it must not modify. All of a document except
	// [Document.Source] is parsed from the masked source. Nil hides nothing.
	Mask func(source []byte) []byte
}

// defaultTasks are the section names for a [Layout] without its own. They must not be
// modified.
var defaultTasks = []string{"Tasks", "TODO", commitments}

// followUpNames are the names of sections of follow-ups.
var followUpNames = []string{"Follow Ups", "Follow-ups", "跟进"}

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
// private note of the owner. A file name.private.md is private. Paths are compared byte for
// byte. A conflict copy is a note with the owner of its original, see [Layout.ParseCopy].
func (l *Layout) Place(path string) Place {
	p := l.place(path)
	if base, _ := CutMarkdown(path); strings.HasSuffix(base, UnseenFile) {
		p.Visibility = PrivateOnly
	}
	return p
}

// place determines the place of a path; the first rule that matches decides. A conflict copy
// has the place of the original, as a note unless the original is archived.
func (l *Layout) place(path string) Place {
	if of, ok := CopyOf(path); ok {
		p := l.place(of)
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
	if day, ok := DailyName(base); ok && len(dirs) == 1 && dirs[0] == l.ReviewDir {
		note.Kind, note.Day = Review, day
		return note
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
	if l.Days != nil {
		below, _ := CutMarkdown(path)
		if day, ok := l.Days(below); ok {
			return Place{Path: path, Kind: Daily, Owner: l.owner(), Day: day, ByFormat: true}
		}
	}
	if len(dirs) == 1 && IsDay(dirs[0]) {
		return Place{Path: path, Kind: Session, Day: dirs[0], Session: CutEnding(base), Visibility: l.Sessions}
	}
	if InboxOf(path) != "" { // files without a subject and a visibility of their own are private
		switch namespace := CutEnding(base); {
		case len(dirs) == 2 && isNamespace(namespace):
			note.Kind, note.Namespace = Items, namespace
		case len(dirs) == 3 && IsDay(dirs[2]):
			return Place{Path: path, Kind: Session, Day: dirs[2], Session: CutEnding(base)}
		}
	}
	return note
}

// DailyPath returns the path of the owner's daily note on this machine.
func (l *Layout) DailyPath(day string) string {
	return path.Join(cmp.Or(l.DailyDir, memoryDir), l.dailyFile(day))
}

// ReviewPath returns the path of the file of a day with texts that wait for a review, on this
// machine.
func (l *Layout) ReviewPath(day string) string { return path.Join(l.ReviewDir, l.dailyFile(day)) }

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
	usual := usualFile(name, base)
	switch {
	case len(dirs) == 0 && usual == memoryFile:
		p.Kind = Longterm
	case len(dirs) == 0 && usual == soulFile:
		p.Kind, p.Visibility = Identity, PublicOK
	case len(dirs) == 0 && usual == userFile:
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
	case len(below) == 0 && usualFile(name, base) == indexFile:
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

// Archived returns the archive path of a session, daily note or review: below the given
// subject, else the owner. The archived file keeps its content and its readers.
// Archived returns an empty string for other files, and for a session whose
// name would make it the daily note in the archive.
func (l *Layout) Archived(p Place, subject string) string {
	switch {
	case p.Kind == Review:
		return longtermsDir + "/" + SubjectDir(l.owner()) + "/" + archiveDir + "/" + p.Path
	case p.Kind == Session && !p.namedByDay(), p.Kind == Daily && p.Dir == "" && !p.ByFormat:
	default:
		return ""
	}
	if ValidSubject(subject) != nil {
		subject = l.owner()
	}
	name := path.Base(p.Path)
	if InboxOf(p.Path) != "" {
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
