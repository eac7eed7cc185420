package config

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/bmatcuk/doublestar/v4"
)

type projectConfig struct {
	Dir  string `yaml:"dir" path:"true" doc:"Directory of the project. Of several directories that contain the agent's, the longest applies"`
	Name string `yaml:"name" doc:"Name of the project, whose texts have the tag project:NAME. If empty: the name of the directory"`
	Path string `yaml:"path" doc:"Pattern of files that belong to the project, too, such as notes/shop/**"`
}

func (p *projectConfig) finish() error {
	name := cmp.Or(p.Name, filepath.Base(p.Dir))
	p.Name = projectName(name)
	switch {
	case p.Dir == "":
		return errors.New("dir is missing")
	case p.Name == "":
		return fmt.Errorf("%q has no letter: set name", name)
	case p.Path != "":
		return checkPattern(p.Path)
	}
	return nil
}

// projectName returns a name as part of a tag, or "" for a name without letters.
func projectName(s string) string {
	fields := strings.FieldsFunc(strings.ToLower(s), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_.", r)
	})
	name := strings.Trim(strings.Join(fields, "-"), "-_.")
	if !strings.ContainsFunc(name, unicode.IsLetter) {
		return ""
	}
	return name
}

// Project returns the project of a directory in which an agent works: the one
// that the configuration gives, else the name of the repository's directory. It
// returns "" for other directories, and for a repository that contains the
// memory or is part of it.
func (c *Config) Project(dir string) string {
	if !filepath.IsAbs(dir) {
		return ""
	}
	var found projectConfig
	for _, p := range c.Projects {
		if IsWithin(dir, p.Dir) && len(p.Dir) > len(found.Dir) {
			found = p
		}
	}
	if found.Name != "" {
		return found.Name
	}
	tree, repository := repositoryOf(filepath.Clean(dir))
	for _, d := range []string{tree, repository} {
		if d == "" || IsWithin(c.Memory.Dir, d) || IsWithin(d, c.Memory.Dir) {
			return ""
		}
	}
	return projectName(strings.TrimSuffix(filepath.Base(repository), ".git"))
}

// Worktree returns the Git worktree that contains a directory, or the directory
// itself outside of worktrees.
func Worktree(dir string) string {
	tree, _ := repositoryOf(filepath.Clean(dir))
	return cmp.Or(tree, dir)
}

// repositoryOf returns the worktree that contains dir, and the directory of its
// repository: for a linked worktree, that of the main worktree or the bare
// repository. Both are "" outside of repositories.
func repositoryOf(dir string) (tree, repository string) {
	for {
		git := filepath.Join(dir, ".git")
		if info, err := os.Lstat(git); err == nil {
			if info.Mode().IsRegular() && info.Size() < 4096 {
				repository = mainRepository(git)
			}
			return dir, cmp.Or(repository, dir)
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", ""
		}
		dir = parent
	}
}

// mainRepository returns the directory of the repository of a linked worktree with
// the given .git file, or "" for another .git file. The file names the directory
// worktrees/NAME in the shared git directory. That of a submodule is
// modules/NAME, where NAME may be worktrees/x. A hidden git directory, such as
// .git or .bare, is part of the directory around it.
func mainRepository(file string) string {
	text, _ := os.ReadFile(file)
	to, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
	if !filepath.IsAbs(to) {
		to = filepath.Join(filepath.Dir(file), to)
	}
	main, worktrees := filepath.Split(filepath.Dir(to))
	main = filepath.Clean(main)
	if !ok || worktrees != "worktrees" || filepath.Base(main) == "modules" {
		return ""
	}
	if strings.HasPrefix(filepath.Base(main), ".") {
		return filepath.Dir(main)
	}
	return main
}

// ProjectsOf returns the projects to which a file of the memory belongs by its
// path.
func (c *Config) ProjectsOf(path string) (names []string) {
	for _, p := range c.Projects {
		if ok, err := doublestar.Match(p.Path, path); ok && err == nil && p.Path != "" {
			names = append(names, p.Name)
		}
	}
	return names
}
