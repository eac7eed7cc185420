package setup

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/memory"
)

// A recognized is the layout of an existing directory, with the settings that fit
// it. Zero settings keep their defaults.
type recognized struct {
	layouts []string // names of the layouts
	empty   bool     // no Markdown files and no directories
	owner   string
	layout  string
	daily   string
	users   []string
	host    string
	logs    bool // daily notes only grow
	copied  bool // a sync tool left conflict copies of daily notes
	hints   []string
}

// recognizeLayout looks at the names in a memory directory, and at the few files
// that name an owner or a directory of daily notes.
func recognizeLayout(dir string, l *memory.Layout) *recognized {
	r := &recognized{}
	defer func() {
		if r.empty {
			r.layouts = append(r.layouts, "an empty directory")
		} else if len(r.layouts) == 0 {
			r.layouts = append(r.layouts, "notes")
		}
	}()
	root, err := os.OpenRoot(dir) // links that lead out of it are not followed
	if err != nil {
		r.empty = true
		return r
	}
	defer root.Close()
	is := func(name string) bool { _, err := root.Lstat(name); return err == nil }
	logs := hasDailyNote(root, "memory")
	for _, pattern := range []string{"memory/*", "*/memory/*"} {
		found, _ := fs.Glob(root.FS(), pattern)
		r.copied = r.copied || slices.ContainsFunc(found, func(name string) bool {
			_, copied := memory.CopyOf(name)
			return copied
		})
	}
	r.users = findUserDirs(root, l)
	above, below := hasSession(root, "", l), hasSession(root, "memory/", l)
	sessions := above || below || is("_longterms")
	if is(".obsidian") {
		r.layouts = append(r.layouts, "an Obsidian vault")
		r.useVault(root)
	}
	if sessions {
		r.layouts = append(r.layouts, "sessions by day")
		r.useSubjects(root, l)
		if above != below {
			r.layout = map[bool]string{true: "root", false: "memory"}[above]
		}
	}
	switch {
	case logs || len(r.users) > 0:
		r.layouts = append(r.layouts, "daily logs")
		if (!sessions || len(r.users) > 0) && !r.hasOtherDirs(root, l) {
			r.layout = "users"
		}
		r.logs = !sessions
	case is("MEMORY.md") && !sessions:
		r.layouts = append(r.layouts, "one MEMORY.md")
	case (is("SOUL.md") || is("USER.md")) && !sessions:
		r.layouts = append(r.layouts, "a workspace without MEMORY.md")
	}
	entries, _ := fs.ReadDir(root.FS(), ".")
	r.empty = !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return !strings.HasPrefix(e.Name(), ".") })
	return r
}

// hasSession reports whether the directories of days with a prefix contain a
// session.
func hasSession(root *os.Root, prefix string, l *memory.Layout) bool {
	found, _ := fs.Glob(root.FS(), prefix+"[0-9]*/*.md")
	return slices.ContainsFunc(found, func(name string) bool {
		return l.Place(name).Kind == memory.Session && l.Skip(name) == ""
	})
}

// hasOtherDirs reports whether the owner has directories that would be users' in the layout
// users, and then no longer the owner's.
func (r *recognized) hasOtherDirs(root *os.Root, l *memory.Layout) bool {
	for _, pattern := range []string{"*/memory", "*/MEMORY.md"} {
		found, _ := fs.Glob(root.FS(), pattern)
		if slices.ContainsFunc(found, func(name string) bool {
			dir := path.Dir(name)
			return !slices.Contains(r.users, dir) && memory.ReservedUser(dir) == nil && l.Skip(path.Join(dir, "MEMORY.md")) == ""
		}) {
			return true
		}
	}
	return false
}

// useVault sets the directory of the daily notes of an Obsidian vault.
func (r *recognized) useVault(root *os.Root) {
	var plugin struct{ Folder, Format string }
	text, err := root.ReadFile(".obsidian/daily-notes.json")
	if err == nil {
		err = json.Unmarshal(text, &plugin)
	}
	folder := path.Clean(strings.Trim(plugin.Folder, "/"))
	switch {
	case err != nil && !hasDailyNote(root, "."):
	case plugin.Format != "" && plugin.Format != "YYYY-MM-DD": // new notes go to memory/
	case folder == "." || fs.ValidPath(folder):
		r.daily = folder
	}
}

// useSubjects sets the owner to the only subject with long-term memory.
func (r *recognized) useSubjects(root *os.Root, l *memory.Layout) {
	found, _ := fs.Glob(root.FS(), "_longterms/*/*.md")
	var subjects []string
	for _, name := range found {
		dir := path.Base(path.Dir(name))
		subject := dir
		if text, err := root.ReadFile(name); err == nil {
			if doc := l.Parse(name, text, memory.Meta{}); doc.Claim != "" {
				subject = doc.Claim
			}
		}
		at := slices.IndexFunc(subjects, func(s string) bool { return memory.SubjectDir(s) == dir })
		switch {
		case strings.HasPrefix(dir, "_") || l.Skip(name) != "":
		case at < 0:
			subjects = append(subjects, subject)
		case subject != dir:
			subjects[at] = subject
		}
	}
	if len(subjects) == 1 {
		r.owner = subjects[0]
	}
}

// A setting is a line of YAML in a section of the configuration.
type setting struct{ section, line string }

func (r *recognized) settings() (list []setting) {
	for _, s := range [][2]string{{"owner", r.owner}, {"layout", r.layout}, {"daily", r.daily}, {"host", r.host}} {
		if s[1] != "" {
			list = append(list, setting{"memory", fmt.Sprintf("%s: %q", s[0], s[1])})
		}
	}
	if len(r.users) > 0 {
		quoted := make([]string, len(r.users))
		for i, user := range r.users {
			quoted[i] = fmt.Sprintf("%q", user)
		}
		list = append(list, setting{"memory", "users: [" + strings.Join(quoted, ", ") + "]"})
	}
	if r.logs {
		list = append(list, setting{"todosync", "append_only: true"})
	}
	return list
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
