package config

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

func TestRootFiles(t *testing.T) {
	for _, c := range []struct {
		root       Root
		read       string
		notRead    string
		notWatched string
	}{
		{Root{}, "a.md a/b/c.MD", "a.txt .a.md", ".git a/.obsidian .claude"},
		{Root{Kind: "obsidian"}, "a.md b/Clips/x.md", ".trash/a.md", ".trash"},
		{Root{Include: []string{"Notes/**", "{a,b/c}/*.md", "*.md"}}, "Notes/x/y.md b/c/d.md x.md", "Other/x.md b/d.md", ""},
		{Root{Include: []string{"Notes/**", "a/*.md"}}, "Notes/x.md a/b.md", "x.md a/b/c.md", "Other a/b Not"},
		{Root{Kind: "claude-code"}, "-home-me-shop/memory/MEMORY.md shop/CLAUDE.md shop/.claude/rules/go.md", "shop/README.md shop/src/CLAUDE.md shop/.claude/agents/x.md",
			"shop/src shop/.git shop/memory/x shop/.claude/agents"},
	} {
		c.root.Name, c.root.Path = "x", "/x"
		testkit.Must(t, c.root.finish("owner"))
		skipped := func(file string) bool {
			for i := range file {
				if file[i] == '/' && c.root.SkipDir(file[:i]) != "" {
					return true
				}
			}
			return c.root.SkipFile(file) != ""
		}
		for _, file := range strings.Fields(c.read) {
			if skipped(file) {
				t.Errorf("%+v does not read %s", c.root, file)
			}
		}
		for _, file := range strings.Fields(c.notRead) {
			if !skipped(file) {
				t.Errorf("%+v reads %s", c.root, file)
			}
		}
		for _, dir := range strings.Fields(c.notWatched) {
			if c.root.SkipDir(dir) == "" {
				t.Errorf("%+v watches %s", c.root, dir)
			}
		}
	}
}

// TestClaudeProject checks that the project of a directory of Claude Code is found
// by the directories on the disk.
func TestClaudeProject(t *testing.T) {
	base := t.TempDir()
	for _, dir := range []string{"src/web-shop", "src/web", "src/my.blog"} {
		testkit.Must(t, os.MkdirAll(filepath.Join(base, dir), 0o700))
	}
	slug := regexp.MustCompile("[^A-Za-z0-9]").ReplaceAllString(base, "-")
	for dir, want := range map[string]string{
		slug + "-src-web-shop": "web-shop", slug + "-src-web": "web", slug + "-src-my-blog": "my.blog",
		"-no-such-dir": "no-such-dir", "shop": "shop", "My Shop": "my-shop",
	} {
		if got := claudeProject(dir + "/memory/MEMORY.md"); got != want {
			t.Errorf("%s is the project %q, want %q", dir, got, want)
		}
	}
}
