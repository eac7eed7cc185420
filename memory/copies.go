package memory

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
)

// conflictMarks lists name parts of conflict copies of sync tools: Syncthing,
// rclone, Dropbox, Nextcloud, Maestral, Obsidian Sync, Synology Drive, Seafile,
// pCloud and Nutstore. OneDrive appends the name of a computer, see [computerMark].
// iCloud appends a number, which users do as well: its copies are ordinary files.
var conflictMarks = []string{
	".sync-conflict-", ".conflict-copy-", " (conflicted copy", "'s conflicted copy", " (conflicted ", " (case conflict",
	" (conflict copy",
	" (conflict ", "(sfconflict ", " [conflicted]", " (冲突副本", " (冲突的副本",
}

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
	low, first := lowerASCII(base), -1
	add := func(at int) {
		if at >= 0 && (first < 0 || at < first) {
			first = at
		}
	}
	for _, mark := range conflictMarks {
		add(strings.Index(low, mark))
	}
	// ownCloud writes _conflict- and a date; without the date the word may be
	// part of a user's file name.
	if found := computerMark().FindStringSubmatchIndex(base); found != nil {
		add(found[2])
	}
	before, after, ok := strings.Cut(low, "_conflict-")
	if ok && len(after) >= 8 && strings.Trim(after[:8], "0123456789") == "" {
		add(len(before))
	}
	return first
}

// computerMark matches the name of a Windows computer, as its setup chooses it,
// after the name of a file of memory's own layout. OneDrive names a conflict copy
// after the computer. Notes with other names may be about a computer.
var computerMark = lazyregexp.New(`^(?:MEMORY|SOUL|USER|_index|\d{4}-\d{2}-\d{2}(?:\.[a-z0-9_-]+)?|` +
	strings.Join(namespaces[:], "|") + `)(-(?:DESKTOP-[A-Z0-9]{7}|LAPTOP-[A-Z0-9]{8}|WIN-[A-Z0-9]{11})(?:-\d)?)$`)

// lowerASCII returns s with lower-case letters and the same length.
func lowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
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

// hideConflictMarkers blanks the marker lines that a merge left around different
// versions, so that the entries of each version stay entries, and returns the
// lines. Until the file is resolved, all of it is private: the versions may have
// different frontmatter.
func (p *docParser) hideConflictMarkers() (marks []lineRange) {
	if p.of != nil || !bytes.Contains(p.text, []byte("<<<<<<<")) || !bytes.Contains(p.text, []byte(">>>>>>>")) {
		return nil
	}
	tops, _ := parseStructure(p.text, p.body, p.ln)
	code := codeLines(tops, p.body, p.ln)
	var open []lineRange // markers of the current conflict
	for i := 1; i <= p.ln.count(); i++ {
		s := p.ln.span(i, i)
		line := bytes.TrimRight(p.text[s.Start:s.End], " \t\n")
		switch {
		case open == nil && s.Start >= p.body && code[i]: // a version may have an open fence
		case isMarker(line, '<'):
			open = []lineRange{{i, i}}
		case open != nil && (isMarker(line, '|') || isMarker(line, '=')):
			open = append(open, lineRange{i, i})
		case len(open) > 1 && isMarker(line, '>'):
			marks, open = append(append(marks, open...), lineRange{i, i}), nil
		}
	}
	if marks == nil {
		return nil
	}
	p.addProblem(conflictMarkers, marks[0].from,
		"the file contains conflict markers of a merge; until you remove the markers, the file is private")
	p.private.hideFrom(1)
	marks = slices.DeleteFunc(marks, func(r lineRange) bool { return p.ln.start(r.from) < p.body })
	p.text = blankRegions(p.text, marks, p.ln)
	return marks
}

// conflictMarkers is the problem code of a file with conflict markers.
const conflictMarkers = "conflict_markers"

// isMarker reports whether a line is a conflict marker: seven equal characters and,
// if not the middle one, a name.
func isMarker(line []byte, c byte) bool {
	const size = 7
	if len(line) < size || bytes.Count(line[:size], []byte{c}) != size {
		return false
	}
	return len(line) == size || c != '=' && line[size] == ' '
}
