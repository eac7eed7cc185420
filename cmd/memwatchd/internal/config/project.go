package config

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"unicode"
)

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

// Project returns the project of a directory in which an agent works: the name of the
// repository's directory. It returns "" for other directories, and for a repository that
// contains the memory or is part of it.
func (c *Config) Project(dir string) string {
	if !filepath.IsAbs(dir) {
		return ""
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
