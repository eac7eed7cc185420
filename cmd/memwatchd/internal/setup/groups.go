package setup

import (
	"cmp"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/memwatchd/memwatchd/memory"
)

// A groupKind is a kind of files that groups seem to use, and the reason.
type groupKind struct{ key, kind, reason string }

// findGroups returns the kinds of files by which the memory seems to serve groups.
func findGroups(root *os.Root, l *memory.Layout, users []string) (list []groupKind) {
	if reason := findGroupSession(root, l); reason != "" {
		list = append(list, groupKind{"sessions", "sessions", reason})
	}
	if len(users) > 0 {
		list = append(list, groupKind{"daily", "daily notes", users[0] + " is the directory of a user"})
	}
	return list
}

// Limits of the search for sessions of groups.
const (
	maxGroupSessions = 2000     // the newest
	maxGroupHead     = 64 << 10 // size of the part of a session that contains the frontmatter
)

// findGroupSession returns the path of a session of a group with the reason: it has a
// contact, the word group in its channel, or another subject than an earlier one.
func findGroupSession(root *os.Root, l *memory.Layout) string {
	var paths []string
	for _, pattern := range []string{"*/*.md", "memory/*/*.md"} {
		found, _ := fs.Glob(root.FS(), pattern)
		for _, p := range found {
			if l.Place(p).Kind == memory.Session && l.Skip(p) == "" {
				paths = append(paths, p)
			}
		}
	}
	slices.SortFunc(paths, func(a, b string) int {
		return cmp.Or(strings.Compare(l.Place(b).Day, l.Place(a).Day), strings.Compare(a, b))
	})
	subject := ""
	for _, p := range paths[:min(len(paths), maxGroupSessions)] {
		front := l.Parse(p, readHead(root, p), memory.Meta{}).Front
		channel, _ := front.Field("channel")
		switch name, _ := channel.Value.(string); {
		case front.ContactID != "":
			return p + " has a contact"
		case strings.Contains(strings.ToLower(name), "group"):
			return p + " is of a group"
		case front.SubjectID != "" && subject != "" && front.SubjectID != subject:
			return p + " has another subject than other sessions"
		}
		subject = cmp.Or(subject, front.SubjectID)
	}
	return ""
}

// findUserDirs returns the directories of users, sorted. They contain MEMORY.md
// and memory/. If there is one, or the root contains MEMORY.md or a daily note,
// directories with daily notes in memory/ are users' too.
func findUserDirs(root *os.Root, l *memory.Layout) []string {
	users, logs := map[string]bool{}, map[string]bool{}
	found, _ := fs.Glob(root.FS(), "*/memory")
	for _, name := range found {
		user := path.Dir(name)
		if info, err := root.Lstat(name); err != nil || !info.IsDir() || memory.ReservedUser(user) != nil ||
			l.Skip(path.Join(user, "MEMORY.md")) != "" {
			continue
		}
		if _, err := root.Lstat(path.Join(user, "MEMORY.md")); err == nil {
			users[user] = true
		} else if hasDailyNote(root, name) {
			logs[user] = true
		}
	}
	if _, err := root.Lstat("MEMORY.md"); err == nil || len(users) > 0 || hasDailyNote(root, "memory") {
		maps.Copy(users, logs)
	}
	return slices.Sorted(maps.Keys(users))
}

// hasDailyNote reports whether a directory of the root contains a daily note.
func hasDailyNote(root *os.Root, dir string) bool {
	found, _ := fs.Glob(root.FS(), path.Join(dir, "[0-9]*"))
	return slices.ContainsFunc(found, func(name string) bool {
		base, md := memory.CutMarkdown(path.Base(name))
		_, ok := memory.DailyName(base)
		return ok && md
	})
}

// readHead returns the beginning of a regular file, or nothing if it cannot be
// read.
func readHead(root *os.Root, name string) []byte {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a named pipe must not block
	if err != nil {
		return nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	data, _ := io.ReadAll(io.LimitReader(f, maxGroupHead))
	return data
}
