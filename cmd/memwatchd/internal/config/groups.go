package config

import (
	"cmp"
	"fmt"
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

// A GroupSign is a file or directory of a memory that serves groups, and the
// reason. The zero value means that there is none.
type GroupSign struct {
	Path   string // relative to the root
	Reason string // follows the path in a sentence
}

// Limits of the search for sessions of groups.
const (
	maxGroupSessions = 2000     // the newest
	maxGroupHead     = 64 << 10 // size of the part of a session that contains the frontmatter
)

// GroupSessions returns a session in dir of a group: it has a contact, the word
// group in its channel, or another subject than an earlier one.
func GroupSessions(dir string, l *memory.Layout) GroupSign {
	root, err := os.OpenRoot(dir) // links that lead out of it are not followed
	if err != nil {
		return GroupSign{}
	}
	defer root.Close()
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
			return GroupSign{p, "has a contact"}
		case strings.Contains(strings.ToLower(name), "group"):
			return GroupSign{p, "is of a group"}
		case front.SubjectID != "" && subject != "" && front.SubjectID != subject:
			return GroupSign{p, "has another subject than other sessions"}
		}
		subject = cmp.Or(subject, front.SubjectID)
	}
	return GroupSign{}
}

// GroupUsers returns a user's directory in dir.
func GroupUsers(dir string, l *memory.Layout) GroupSign {
	if users := UserDirs(dir, l); len(users) > 0 {
		return GroupSign{users[0], "is the directory of a user"}
	}
	return GroupSign{}
}

// UserDirs returns the directories of users in dir, sorted. They contain MEMORY.md
// and memory/. If there is one, or dir itself contains MEMORY.md or a daily note,
// directories with daily notes in memory/ are users' too.
func UserDirs(dir string, l *memory.Layout) []string {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil
	}
	defer root.Close()
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
		} else if HasDailyNote(root, name) {
			logs[user] = true
		}
	}
	if _, err := root.Lstat("MEMORY.md"); err == nil || len(users) > 0 || HasDailyNote(root, "memory") {
		maps.Copy(users, logs)
	}
	return slices.Sorted(maps.Keys(users))
}

// HasDailyNote reports whether a directory of the root contains a daily note.
func HasDailyNote(root *os.Root, dir string) bool {
	found, _ := fs.Glob(root.FS(), path.Join(dir, "[0-9]*"))
	return slices.ContainsFunc(found, func(name string) bool {
		base, md := memory.CutMarkdown(path.Base(name))
		_, ok := memory.DailyName(base)
		return ok && md
	})
}

// Line returns the reason for a setting as a line.
func (s GroupSign) Line() string { return fmt.Sprintf("%s %s", s.Path, s.Reason) }

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
