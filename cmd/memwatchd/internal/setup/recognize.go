package setup

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/memory"
)

// A recognized is the layout of an existing directory, with the settings that fit
// it.
type recognized struct {
	layouts  []string // names of the layouts
	settings []setting
}

// A setting is a line of YAML in a section of the configuration.
type setting struct{ section, line string }

// set adds a setting of the section memory, unless it has no value.
func (r *recognized) set(key, value string) {
	if value != "" {
		r.settings = append(r.settings, setting{"memory", fmt.Sprintf("%s: %q", key, value)})
	}
}

// recognizeLayout looks at the names in a memory directory, and at the few files
// that name an owner or a directory of daily notes. host is the name of this machine, or "".
func recognizeLayout(dir string, l *memory.Layout, host string) *recognized {
	r := &recognized{}
	root, err := os.OpenRoot(dir) // links that lead out of it are not followed
	if err != nil {
		r.set("host", host)
		r.layouts = []string{"an empty directory"}
		return r
	}
	defer root.Close()
	t := tree{root, l}
	users, layout := t.users(), ""
	if t.has(".obsidian") {
		r.layouts = append(r.layouts, "an Obsidian vault")
	}
	above, below := t.hasSession(""), t.hasSession("memory/")
	sessions := above || below || t.has("_longterms")
	if sessions {
		r.layouts = append(r.layouts, "sessions by day")
		r.set("owner", t.owner())
		if above != below {
			layout = map[bool]string{true: "root", false: "memory"}[above]
		}
	}
	workspace := t.has("SOUL.md") || t.has("USER.md")
	daily := t.hasDaily("memory") // where memwatchd writes its notes, too
	logs := len(users) > 0 || daily && (workspace || t.has("MEMORY.md"))
	switch {
	case logs:
		r.layouts = append(r.layouts, "daily logs")
		if (!sessions || len(users) > 0) && !t.hasOthers(users) {
			layout = "users"
		}
	case t.has("MEMORY.md") && !sessions:
		r.layouts = append(r.layouts, "one MEMORY.md")
	case daily:
		r.layouts = append(r.layouts, "daily notes")
	case workspace && !sessions:
		r.layouts = append(r.layouts, "a workspace without MEMORY.md")
	}
	r.set("layout", layout)
	if t.has(".obsidian") {
		r.set("daily", t.vaultDaily())
	}
	r.set("host", host)
	if len(users) > 0 {
		quoted, _ := json.Marshal(users) // strings
		r.settings = append(r.settings, setting{"memory",
			"users: " + strings.ReplaceAll(string(quoted), `","`, `", "`)})
	}
	if logs && !sessions {
		r.settings = append(r.settings, setting{"todosync", "append_only: true"})
	}
	if len(t.find("[^.]*", func(string) bool { return true })) == 0 {
		r.layouts = append(r.layouts, "an empty directory")
	} else if r.layouts == nil {
		r.layouts = []string{"notes"}
	}
	return r
}

// A tree is a memory directory.
type tree struct {
	*os.Root
	layout *memory.Layout
}

// find returns the paths that match a pattern and a condition.
func (t tree) find(pattern string, is func(name string) bool) []string {
	found, _ := fs.Glob(t.FS(), pattern)
	return slices.DeleteFunc(found, func(name string) bool { return !is(name) })
}

func (t tree) has(name string) bool { _, err := t.Lstat(name); return err == nil }

// hasDaily reports whether a directory contains a daily note.
func (t tree) hasDaily(dir string) bool {
	return len(t.find(path.Join(dir, "[0-9]*"), func(name string) bool {
		base, md := memory.CutMarkdown(path.Base(name))
		_, ok := memory.DailyName(base)
		return ok && md
	})) > 0
}

// hasSession reports whether the directories of days with a prefix contain a
// session.
func (t tree) hasSession(prefix string) bool {
	return len(t.find(prefix+"[0-9]*/*.md", func(name string) bool {
		return t.layout.Place(name).Kind == memory.Session && t.layout.Skip(name) == ""
	})) > 0
}

// mayBeUser reports whether a directory can be that of a user.
func (t tree) mayBeUser(dir string) bool {
	return memory.ReservedUser(dir) == nil && t.layout.Skip(path.Join(dir, "MEMORY.md")) == ""
}

// users returns the directories of users, sorted. They contain MEMORY.md and memory/. If
// there is one, or the root contains MEMORY.md or a daily note, directories with daily
// notes in memory/ are users' too.
func (t tree) users() (users []string) {
	found := t.find("*/memory", func(name string) bool {
		info, err := t.Lstat(name)
		return err == nil && info.IsDir() && t.mayBeUser(path.Dir(name))
	})
	hasMemory := func(name string) bool { return t.has(path.Join(path.Dir(name), "MEMORY.md")) }
	shared := t.has("MEMORY.md") || t.hasDaily("memory") || slices.ContainsFunc(found, hasMemory)
	for _, name := range found {
		if hasMemory(name) || shared && t.hasDaily(name) {
			users = append(users, path.Dir(name))
		}
	}
	slices.Sort(users)
	return users
}

// hasOthers reports whether the owner has directories that would be users' in the layout
// users, and then no longer the owner's.
func (t tree) hasOthers(users []string) bool {
	other := func(name string) bool { return !slices.Contains(users, path.Dir(name)) && t.mayBeUser(path.Dir(name)) }
	return len(t.find("*/memory", other))+len(t.find("*/MEMORY.md", other)) > 0
}

// vaultDaily returns the directory of the daily notes of an Obsidian vault, or "" if new
// notes go to memory/.
func (t tree) vaultDaily() string {
	var plugin struct{ Folder, Format string }
	text, err := t.ReadFile(".obsidian/daily-notes.json")
	if err == nil {
		err = json.Unmarshal(text, &plugin)
	}
	folder := path.Clean(strings.Trim(plugin.Folder, "/"))
	if err != nil && !t.hasDaily(".") || plugin.Format != "" && plugin.Format != "YYYY-MM-DD" || !fs.ValidPath(folder) {
		return ""
	}
	return folder
}

// owner returns the only subject with long-term memory, or "".
func (t tree) owner() string {
	subjects := map[string]string{} // by directory
	for _, name := range t.find("_longterms/*/*.md", func(name string) bool { return t.layout.Skip(name) == "" }) {
		dir := path.Base(path.Dir(name))
		if strings.HasPrefix(dir, "_") {
			continue
		}
		text, _ := t.ReadFile(name)
		if claim := t.layout.Parse(name, text, memory.Meta{}).Claim; claim != "" || subjects[dir] == "" {
			subjects[dir] = claim
		}
	}
	if len(subjects) == 1 {
		for dir, claim := range subjects {
			return cmp.Or(claim, dir)
		}
	}
	return ""
}
