package memory

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"strings"
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

// InInbox reports whether a path is below an inbox.
func InInbox(path string) bool { return InboxOf(path) != "" }

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

// ManyCopies is the number of conflict copies of one file that is a problem. Syncthing
// keeps ten by default, and deletes the oldest if it makes another one.
const ManyCopies = 8

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

// ParseCopy parses a conflict copy: the entries that the original lacks. They are
// public only if all text of both files is public and has the same owner, because
// either version may have restricted the other. If the files have different
// owners, the copy has no readers. A nil original is missing or unreadable.
//
// An entry that one of the other copies contains, for the same readers, is left to
// that copy, so that it is counted once.
//
// A copy has neither frontmatter nor tasks: it is never changed, and its session or
// its tasks exist in the original.
func (l *Layout) ParseCopy(path string, src []byte, meta Meta, original *Document, others ...*Document) *Document {
	d := l.Parse(path, src, meta)
	public := func(d *Document) bool {
		return d.Partition.Visibility == PublicOK && d.excerpt == nil && !d.Unsound
	}
	if original == nil || !public(d) || !public(original) || d.Partition != original.Partition {
		meta.Unstable = true // makes all of it private
		d = l.Parse(path, src, meta)
	}
	copied := *d
	copied.excerpt, copied.Claim, copied.Front = nil, "", Front{Span: d.Front.Span, Present: d.Front.Present}
	copied.Problems = []Problem{{"conflict_copy", 0,
		"conflict copy of " + copied.Place.Copy + "; run `memwatchd conflicts merge`"}}
	if original != nil && original.privatePartition.Owner != d.privatePartition.Owner {
		copied.Partition = Partition{Owner: longtermKey("")}
		all := copied.Partition
		copied.Own, copied.publicPartition, copied.privatePartition = all, all, all
		copied.Entries = nil
		return &copied
	}
	there := map[string]int{} // number of entries in the file that has the most
	add := func(d *Document) {
		count := map[string]int{}
		for i := range d.Entries {
			norm := d.Entries[i].Norm
			count[norm]++
			there[norm] = max(there[norm], count[norm])
		}
	}
	if original != nil {
		add(original)
	}
	for _, other := range others {
		if other.Partition == copied.Partition {
			add(other)
		}
	}
	copied.Entries = make([]Entry, 0, len(d.Entries))
	for _, e := range d.Entries {
		if there[e.Norm] > 0 {
			there[e.Norm]--
			continue
		}
		e.Tasks, e.Partition = nil, copied.Partition
		copied.Entries = append(copied.Entries, e)
	}
	return &copied
}
