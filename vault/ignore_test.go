package vault

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/memory"
)

// ignoreTests are patterns with the ignorePaths that they match.
// TestIgnoreLikeGit compares them with git if git is installed.
var (
	ignoreTests = []struct {
		patterns string
		ignored  string // the matching ignorePaths
	}{
		{"", ""},
		{"# a comment\n\n   \n", ""},
		{"a.md", "a.md d/a.md d/e/a.md"},
		{"/a.md", "a.md"},
		{"d/a.md", "d/a.md"},
		{"/d/a.md\r\n", "d/a.md"},
		{"*.md", "a.md ab.md d/a.md d/b.md d/e/a.md d/e/[x].md sp ace.md !x.md #y.md"},
		{"*.md\n!a.md", "ab.md d/b.md d/e/[x].md sp ace.md !x.md #y.md"},
		{"d", "d/a.md d/b.md d/e/a.md d/e/[x].md"},
		{"d/\n!d/a.md", "d/a.md d/b.md d/e/a.md d/e/[x].md"},
		{"d/*\n!d/e", "d/a.md d/b.md"},
		{"e/", "d/e/a.md d/e/[x].md"},
		{"a.md/", ""},
		{"d/*", "d/a.md d/b.md d/e/a.md d/e/[x].md"},
		{"d/*.md", "d/a.md d/b.md"},
		{"d/**", "d/a.md d/b.md d/e/a.md d/e/[x].md"},
		{"d/**/a.md", "d/a.md d/e/a.md"},
		{"**/e/a.md", "d/e/a.md"},
		{"**/d/**/*.md", "d/a.md d/b.md d/e/a.md d/e/[x].md"},
		{"**", "a.md ab.md d/a.md d/b.md d/e/a.md d/e/[x].md sp ace.md !x.md #y.md"},
		{"/", ""},
		{"?.md", "a.md d/a.md d/b.md d/e/a.md"},
		{"[ab].md", "a.md d/a.md d/b.md d/e/a.md"},
		{"[!a].md", "d/b.md"},
		{"[^a].md", "d/b.md"},
		{"[a-c]*.md", "a.md ab.md d/a.md d/b.md d/e/a.md"},
		{"[]x[].md", ""},
		{"\\[x\\].md", "d/e/[x].md"},
		{"[[]x[]].md", "d/e/[x].md"},
		{"[a", ""},
		{"sp ace.md   ", "sp ace.md"},
		{"sp\\ ace.md", "sp ace.md"},
		{"\\!x.md", "!x.md"},
		{"\\#y.md", "#y.md"},
		{"#y.md", ""},
		{"a*b.md", "ab.md"},
		{"*a*.md", "a.md ab.md d/a.md d/e/a.md sp ace.md"},
		{"a.md\\", ""},
		{"A.md", ""},
	}
	ignorePaths = []string{"a.md", "ab.md", "d/a.md", "d/b.md", "d/e/a.md", "d/e/[x].md", "sp ace.md", "!x.md", "#y.md"}
)

func TestIgnore(t *testing.T) {
	for _, tt := range ignoreTests {
		v := &Vault{Dir: "/none", Skip: func(string) string { return "" }}
		v.rules.Store(parseRules(nil, tt.patterns))
		var got []string
		for _, path := range ignorePaths {
			if v.Skips(path, false) != "" {
				got = append(got, path)
			}
		}
		if got := strings.Join(got, " "); got != tt.ignored {
			t.Errorf("patterns %q ignore\n%s, want\n%s", tt.patterns, got, tt.ignored)
		}
	}
}

// TestIgnoreLikeGit checks that the table above agrees with git.
func TestIgnoreLikeGit(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("no git here to compare with")
	}
	v := newVault(t, nil)
	run := func(stdin string, args ...string) string {
		cmd := exec.Command(git, append([]string{"-C", v.Dir, "-c", "core.excludesFile="}, args...)...)
		cmd.Stdin = strings.NewReader(stdin)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1")
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if exit, ok := err.(*exec.ExitError); err != nil && (!ok || exit.ExitCode() != 1) {
			t.Fatalf("git %v: %v: %s", args, err, stderr.Bytes())
		}
		return string(out)
	}
	run("", "init", "-q")
	for _, path := range ignorePaths {
		writeFile(t, v, path, "")
	}
	for _, tt := range ignoreTests {
		writeFile(t, v, ".gitignore", tt.patterns)
		out := run(strings.Join(ignorePaths, "\x00"), "check-ignore", "-z", "--stdin", "--no-index")
		got := strings.TrimRight(strings.ReplaceAll(out, "\x00", " "), " ")
		if got != tt.ignored {
			t.Errorf("patterns %q: git ignores\n%s, want\n%s", tt.patterns, got, tt.ignored)
		}
	}
}

// TestIgnoreListBeforeFile checks that the file follows the list and can
// readmit paths that the list excludes.
func TestIgnoreListBeforeFile(t *testing.T) {
	r := parseRules([]string{"*.md", "# not a pattern"}, "\ufeff!a.md\n")
	if r.ignored("a.md", false) || !r.ignored("b.md", false) || len(r.patterns) != 2 {
		t.Errorf("rules %+v", r)
	}
}

// FuzzIgnore checks that matching terminates, in time that depends only on the
// lengths, and that a name matches itself with all characters quoted.
func FuzzIgnore(f *testing.F) {
	f.Add("a*b?[c-e]\\*", "axxb1d*")
	f.Add(strings.Repeat("*a", 50)+"b", strings.Repeat("a", 200))
	f.Add(strings.Repeat("**/a/", 20)+"b", strings.Repeat("a/", 200)+"a")
	f.Add("{a,b}", "{a,b}")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		parseRules(nil, pattern).ignored(name, false)
		if name == "" || !utf8.ValidString(name) || strings.ContainsAny(name, "/\n\r") {
			return
		}
		var quoted strings.Builder
		for _, c := range name {
			quoted.WriteByte('\\')
			quoted.WriteRune(c)
		}
		if !parseRules([]string{quoted.String()}, "").ignored(name, false) {
			t.Errorf("%q is not matched by itself, quoted", name)
		}
	})
}

// TestIgnoreFileBeingSaved checks that no excluded file is found while the
// ignore file is half written, whether or not it was read before.
func TestIgnoreFileBeingSaved(t *testing.T) {
	v := newVault(t, map[string]string{memory.IgnoreFile: "drafts/\nsecret/\n", "secret/a.md": "x", "b.md": "y"})
	needLeases(t, v)
	_, err := v.Walk(t.Context(), "", nil)
	must(t, err)
	name := filepath.Join(v.Dir, memory.IgnoreFile)
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_TRUNC, 0)
	must(t, err)
	defer f.Close()
	_, err = f.WriteString("drafts/\n") // the first of two writes
	must(t, err)
	tree, err := v.Walk(t.Context(), "", nil)
	must(t, err)
	if v.Skips("secret/a.md", false) == "" || len(tree.Files) != 1 || !tree.Failed {
		t.Errorf("half written: %+v", tree)
	}
	v.rules.Store(nil)
	if tree, err := v.Walk(t.Context(), "", nil); !errors.Is(err, ErrRoot) || !strings.Contains(err.Error(), memory.IgnoreFile) {
		t.Errorf("at the first walk: %+v, %v", tree, err)
	}
	_, err = f.WriteString("secret/\n")
	must(t, errors.Join(err, f.Close()))
	tree, err = v.Walk(t.Context(), "", nil)
	must(t, err)
	if v.Skips("secret/a.md", false) == "" || v.Skips("b.md", false) != "" || len(tree.Files) != 1 || tree.Failed {
		t.Errorf("saved: %+v", tree)
	}
}
