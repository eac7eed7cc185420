package vault

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/internal/disk"
	"github.com/memwatchd/memwatchd/internal/fakes/golden"
)

// ignorePaths are the paths of the table of patterns.
var ignorePaths = []string{"a.md", "ab.md", "d/a.md", "d/b.md", "d/e/a.md", "d/e/[x].md", "sp ace.md", "!x.md", "#y.md"}

func TestIgnore(t *testing.T) {
	golden.Table(t, "ignore", func(t *testing.T, in []string) string {
		v := &Vault{Dir: "/none", Skip: func(string) string { return "" }}
		v.rules.Store(parseRules(nil, in[0]))
		return strings.Join(slices.DeleteFunc(slices.Clone(ignorePaths), func(path string) bool { return v.Skips(path, false) == "" }), " ")
	})
}

// TestIgnoreLikeGit checks that the table agrees with git.
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
	golden.Table(t, "ignore", func(t *testing.T, in []string) string {
		writeFile(t, v, ".gitignore", in[0])
		out := run(strings.Join(ignorePaths, "\x00"), "check-ignore", "-z", "--stdin", "--no-index")
		return strings.TrimRight(strings.ReplaceAll(out, "\x00", " "), " ")
	})
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
	v := newVault(t, map[string]string{disk.IgnoreFile: "drafts/\nsecret/\n", "secret/a.md": "x", "b.md": "y"})
	needLeases(t, v)
	_, err := v.Walk(t.Context(), "", nil)
	must(t, err)
	name := filepath.Join(v.Dir, disk.IgnoreFile)
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
	if tree, err := v.Walk(t.Context(), "", nil); !errors.Is(err, ErrRoot) || !strings.Contains(err.Error(), disk.IgnoreFile) {
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
