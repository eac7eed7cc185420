package memory

import (
	"path"
	"strings"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
)

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
// pCloud and Nutstore. OneDrive appends the name of a computer, see [computerMark].
// iCloud appends a number, which users do as well: its copies are ordinary files.
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
	at := -1
	if low := strings.ToLower(base); strings.Contains(low, "conflict") || strings.Contains(low, "冲突") {
		if found := conflictRE().FindStringIndex(base); found != nil {
			at = found[0]
		}
	}
	if found := computerMark().FindStringSubmatchIndex(base); found != nil && (at < 0 || found[2] < at) {
		at = found[2]
	}
	return at
}

// computerMark matches the name of a Windows computer, as its setup chooses it,
// after the name of a file of memory's own layout. OneDrive names a conflict copy
// after the computer. Notes with other names may be about a computer.
var computerMark = lazyregexp.New(`^(?:MEMORY|SOUL|USER|_index|\d{4}-\d{2}-\d{2}(?:\.[a-z0-9_-]+)?|` +
	strings.Join(namespaces[:], "|") + `)(-(?:DESKTOP-[A-Z0-9]{7}|LAPTOP-[A-Z0-9]{8}|WIN-[A-Z0-9]{11})(?:-\d)?)$`)

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
	copied.Problems = []Problem{{"conflict_copy", 0, "conflict copy of " + copied.Place.Copy + "; run `memwatchd conflicts merge`"}}
	if original != nil && original.privatePartition.Owner != d.privatePartition.Owner {
		copied.Partition = Partition{Owner: longtermKey("")}
		copied.Own, copied.publicPartition, copied.privatePartition = copied.Partition, copied.Partition, copied.Partition
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
