package config

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
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
	var paths []string
	for _, pattern := range []string{"*/*.md", "memory/*/*.md"} {
		found, _ := filepath.Glob(filepath.Join(escapeGlob(dir), filepath.FromSlash(pattern)))
		for _, name := range found {
			rel, err := filepath.Rel(dir, name)
			rel = filepath.ToSlash(rel)
			if err == nil && l.Place(rel).Kind == memory.Session && l.Skip(rel) == "" {
				paths = append(paths, rel)
			}
		}
	}
	slices.SortFunc(paths, func(a, b string) int {
		return cmp.Or(strings.Compare(l.Place(b).Day, l.Place(a).Day), strings.Compare(a, b))
	})
	subject := ""
	for _, p := range paths[:min(len(paths), maxGroupSessions)] {
		front := l.Parse(p, readHead(filepath.Join(dir, filepath.FromSlash(p))), memory.Meta{}).Front
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

// GroupUsers returns a user's directory in dir, which contains MEMORY.md and
// memory/.
func GroupUsers(dir string, l *memory.Layout) GroupSign {
	found, _ := filepath.Glob(filepath.Join(escapeGlob(dir), "*", "MEMORY.md"))
	for _, name := range found {
		user := filepath.Dir(name)
		rel, err := filepath.Rel(dir, user)
		if err != nil || l.Skip(path.Join(rel, "MEMORY.md")) != "" {
			continue
		}
		info, err := os.Lstat(filepath.Join(user, "memory"))
		if err == nil && info.IsDir() {
			return GroupSign{rel, "is the directory of a user"}
		}
	}
	return GroupSign{}
}

// Line returns the reason for a setting as a line.
func (s GroupSign) Line() string { return fmt.Sprintf("%s %s", s.Path, s.Reason) }

// escapeGlob returns a path as a pattern that matches this path only.
func escapeGlob(name string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(name)
}

// readHead returns the beginning of a regular file, or nothing if it cannot be
// read.
func readHead(name string) []byte {
	f, _, err := OpenFile(name, syscall.O_NOFOLLOW)
	if err != nil {
		return nil
	}
	defer f.Close()
	data, _ := io.ReadAll(io.LimitReader(f, maxGroupHead))
	return data
}
