package config

import (
	"cmp"
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
	"github.com/memwatchd/memwatchd/memory"
)

// A Root is a folder that is searched beside the memory directory and never
// changed.
type Root struct {
	Name       string   `yaml:"name" doc:"Name of the folder: the path of its file notes/a.md is NAME:notes/a.md. Lower-case letters, digits, dashes and underscores"`
	Path       string   `yaml:"path" path:"true" doc:"Directory. It must neither contain nor be inside the memory directory or another of these folders"`
	Kind       string   `yaml:"kind" default:"plain" enum:"plain,obsidian,claude-code" doc:"Program that the folder belongs to: plain (none), obsidian (a vault; its templates are skipped), or claude-code (~/.claude/projects or a directory with projects: only the memory, CLAUDE.md and rules of each project, with the tag project:NAME)"`
	Owner      string   `yaml:"owner" doc:"Subject that reads the folder. If empty: memory.owner"`
	Visibility string   `yaml:"visibility" default:"private_only" enum:"private_only,public_ok" doc:"Visibility of entries that set none themselves: private_only or public_ok"`
	Include    []string `yaml:"include" doc:"Patterns of the files to read, relative to the folder, such as Notes/**. If empty: all Markdown files of the kind"`
	Weight     float64  `yaml:"weight" default:"1" min:"0.1" max:"1" doc:"Factor of the scores of its entries, beside those of the memory directory"`

	// Problem is why the folder cannot be used, or "". It does not keep the daemon
	// from starting, because the memory itself does not depend on the folder.
	Problem string `yaml:"-"`
}

// kindPatterns are the patterns of the files of programs whose folders contain other
// files, too. Those of Claude Code match below ~/.claude/projects, where the
// directories are named after the projects, and below a directory of projects.
var kindPatterns = map[string][]string{
	"claude-code": {"*/memory/*.md", "*/CLAUDE.md", "*/.claude/CLAUDE.md", "*/.claude/rules/*.md"},
}

// finishRoots completes the roots and records why some cannot be used.
func (c *Config) finishRoots() {
	for i := range c.Memory.Roots {
		r := &c.Memory.Roots[i]
		if err := r.finish(c.Memory.Owner); err != nil {
			r.Problem = err.Error()
		} else if slices.ContainsFunc(c.Memory.Roots[:i], func(o Root) bool { return o.Name == r.Name }) {
			r.Problem = "another folder has the same name"
		}
	}
}

func (r *Root) finish(owner string) error {
	r.Kind, r.Owner, r.Weight = cmp.Or(r.Kind, "plain"), cmp.Or(r.Owner, owner), cmp.Or(r.Weight, 1)
	if len(r.Include) == 0 {
		r.Include = kindPatterns[r.Kind]
	}
	if r.Path == "" {
		return errors.New("path is missing")
	}
	for _, pattern := range r.Include {
		if err := checkPattern(pattern); err != nil {
			return err
		}
	}
	return cmp.Or(withKey("name", memory.ValidRoot(r.Name)), withKey("owner", memory.ValidSubject(r.Owner)))
}

// layout returns the rules for reading the files of the root.
func (r *Root) layout() *memory.Root {
	l := &memory.Root{Name: r.Name, Owner: r.Owner, Visibility: memory.ParseVisibility(r.Visibility)}
	if r.Kind == "claude-code" {
		l.Project = claudeProject
	}
	return l
}

// Folders returns the directories of the usable roots by the prefix of the paths of
// their files, such as vault:.
func (c *Config) Folders() map[string]string {
	folders := map[string]string{}
	for _, r := range c.Memory.Roots {
		if r.Problem == "" {
			folders[r.layout().Path("")] = r.Path
		}
	}
	return folders
}

// SkipFile returns the reason why a file of the root is not read, or "".
func (r *Root) SkipFile(file string) string {
	if reason := new(memory.Layout).Skip(path.Base(file)); reason != "" {
		return reason
	}
	if len(r.Include) > 0 && !matchesAny(r.Include, file) {
		return "not in the patterns of the folder"
	}
	return ""
}

// SkipDir returns the reason why no file of a directory of the root is read, or "".
// Directories that can contain no file are not watched.
func (r *Root) SkipDir(dir string) string {
	switch base := path.Base(dir); {
	case base[0] == '.' && !(r.Kind == "claude-code" && base == ".claude"):
		return "hidden directory"
	case len(r.Include) > 0 && !slices.ContainsFunc(r.Include, func(p string) bool { return reaches(p, dir) }):
		return "not in the patterns of the folder"
	}
	return ""
}

func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := doublestar.Match(p, name)
		return ok && err == nil
	})
}

// reaches reports whether a pattern may match a file below a directory.
func reaches(pattern, dir string) bool {
	if strings.Contains(pattern, "{") {
		return true // an alternative can contain a slash
	}
	for {
		p, rest, deeper := strings.Cut(pattern, "/")
		name, below, more := strings.Cut(dir, "/")
		if p == "**" {
			return true
		}
		if ok, err := doublestar.Match(p, name); !ok || err != nil || !deeper {
			return false
		}
		if !more {
			return true
		}
		pattern, dir = rest, below
	}
}

// claudeProjects caches the results of claudeProject, because finding one reads
// directories.
var claudeProjects sync.Map // name of the directory → project

// claudeProject returns the project of a file of Claude Code. In
// ~/.claude/projects, the name of its directory is the path of the project with
// dashes; elsewhere it is the directory of the project.
func claudeProject(file string) string {
	dir, _, _ := strings.Cut(file, "/")
	if known, ok := claudeProjects.Load(dir); ok {
		return known.(string)
	}
	name := dir
	if strings.HasPrefix(dir, "-") {
		if found := findDashed("/", dir); found != "" {
			name = filepath.Base(found)
		}
	}
	name = projectName(name)
	claudeProjects.Store(dir, name)
	return name
}

// findDashed returns the directory below dir whose path, with a dash in place of
// each character that is neither a letter nor a digit, is dashed. The paths of
// several directories can be the same then: findDashed returns the first one, or "".
func findDashed(dir, dashed string) string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return ""
	}
	for _, e := range entries {
		rest, ok := strings.CutPrefix(dashed, "-"+notAlphanumeric().ReplaceAllString(e.Name(), "-"))
		if !ok || !e.IsDir() || rest != "" && rest[0] != '-' {
			continue
		}
		path := filepath.Join(dir, e.Name())
		if rest != "" {
			path = findDashed(path, rest)
		}
		if path != "" {
			return path
		}
	}
	return ""
}

var notAlphanumeric = lazyregexp.New("[^A-Za-z0-9]")
