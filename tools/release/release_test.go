package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/module"
	modzip "golang.org/x/mod/zip"
)

// needsGit returns the path of the repository, or skips the test if the sources
// are not in a git repository.
func needsGit(t *testing.T) string {
	t.Helper()
	top, err := output("../..", nil, "git", "rev-parse", "--show-toplevel")
	if err != nil {
		t.Skipf("these sources are in no repository of git: %v", err)
	}
	return top
}

// TestOnlyCommitsAreReleased checks that uncommitted changes prevent a release.
func TestOnlyCommitsAreReleased(t *testing.T) {
	dir := t.TempDir()
	for _, args := range [][]string{{"init", "--quiet"}, {"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "--allow-empty", "-m", "a"}} {
		if _, err := output(dir, nil, "git", args...); err != nil {
			t.Skipf("git does not make a repository here: %v", err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "new.go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := made(dir, "release-", false); err == nil || !strings.Contains(err.Error(), "not committed") || !strings.Contains(err.Error(), "new.go") {
		t.Errorf("it says %v", err)
	}
}

// TestGoInstall checks that the module as downloaded by go install builds
// unchanged and contains its version: no file is missing, no file has a name
// that modules exclude, and no required module is replaced.
func TestGoInstall(t *testing.T) {
	top := needsGit(t)
	const path, version = "github.com/memwatchd/memwatchd", "v0.99.0"
	dir := t.TempDir()
	proxy := filepath.Join(dir, "proxy", filepath.FromSlash(path), "@v")
	if err := os.MkdirAll(proxy, 0o700); err != nil {
		t.Fatal(err)
	}
	m := maker{source: filepath.Join(dir, "source")} // the clone excludes uncommitted files
	if err := m.clone(top); err != nil {
		t.Fatal(err)
	}
	var zip bytes.Buffer
	if err := modzip.CreateFromVCS(&zip, module.Version{Path: path, Version: version}, m.source, "HEAD", ""); err != nil {
		t.Fatal(err)
	}
	mod, err := output(top, nil, "git", "show", "HEAD:go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"list": version + "\n", version + ".info": `{"Version":"` + version + `"}`, version + ".mod": mod + "\n", version + ".zip": zip.String(),
	} {
		if err := os.WriteFile(filepath.Join(proxy, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// The required modules have already been downloaded. The test keeps only
	// compiled packages, which without -trimpath would be specific to this
	// directory.
	known, err := output("../..", nil, "go", "env", "GOMODCACHE", "GOPROXY")
	if err != nil {
		t.Fatal(err)
	}
	kept, otherwise, _ := strings.Cut(known, "\n")
	env := []string{
		"GOPROXY=file://" + filepath.Join(dir, "proxy") + ",file://" + kept + "/cache/download," + otherwise, "GOSUMDB=off", "GONOSUMDB=*", "GOFLAGS=-modcacherw -trimpath", "GOWORK=off",
		"GOMODCACHE=" + filepath.Join(dir, "mod"), "GOBIN=" + filepath.Join(dir, "bin"), "CGO_ENABLED=0",
	}
	if _, err := output(dir, env, "go", "install", path+"/cmd/memwatchd@latest"); err != nil {
		t.Fatal(err)
	}
	if is := versionOf(t, filepath.Join(dir, "bin", "memwatchd")); is.Version != version {
		t.Errorf("it is installed as %+v", is)
	}
}

// TestSourcesKnowTheirCommit checks that a program built from a git archive,
// which contains no repository, reports its commit.
func TestSourcesKnowTheirCommit(t *testing.T) {
	top := needsGit(t)
	commit, err := output(top, nil, "git", "rev-parse", "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if _, err := output(dir, nil, "sh", "-c", `git -C "$0" archive HEAD | tar -x`, top); err != nil {
		t.Fatal(err)
	}
	built := filepath.Join(t.TempDir(), "memwatchd")
	if _, err := output(dir, []string{"CGO_ENABLED=0", "GOWORK=off"}, "go", "build", "-trimpath", "-o", built, "./cmd/memwatchd"); err != nil {
		t.Fatal(err)
	}
	if is := versionOf(t, built); is.Commit != commit || is.Time.IsZero() {
		t.Errorf("it is of %+v, and should be of %s", is, commit)
	}
}

type told struct {
	Version, Commit string
	Time            time.Time
}

func versionOf(t *testing.T, path string) (is told) {
	t.Helper()
	out, err := output(".", nil, path, "version", "--json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(out), &is); err != nil {
		t.Fatal(err)
	}
	return is
}

// TestInstall checks that make install puts all files into their standard
// directories below any root, and that make uninstall removes all of them.
func TestInstall(t *testing.T) {
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("there is no make here")
	}
	dir := t.TempDir()
	built, root := filepath.Join(dir, "memwatchd"), filepath.Join(dir, "root")
	if _, err := output("../..", []string{"CGO_ENABLED=0"}, "go", "build", "-trimpath", "-o", built, "./cmd/memwatchd"); err != nil {
		t.Fatal(err)
	}
	install := func(target string) {
		t.Helper()
		if _, err := output("../..", nil, "make", target, "BINARY="+built, "DESTDIR="+root, "PREFIX=/opt/memwatchd"); err != nil {
			t.Fatal(err)
		}
	}
	install("man")
	install("install")
	install("install") // replaces an earlier installation
	for _, name := range []string{
		"bin/memwatchd", "share/man/man1/memwatchd-search.1", "share/bash-completion/completions/memwatchd",
		"share/zsh/site-functions/_memwatchd", "share/fish/vendor_completions.d/memwatchd.fish",
	} {
		info, err := os.Stat(filepath.Join(root, "opt/memwatchd", name))
		if err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		} else if executable := info.Mode()&0o111 != 0; executable != (name == "bin/memwatchd") || info.Mode()&0o044 != 0o044 {
			t.Errorf("%s is %s", name, info.Mode())
		}
	}
	install("uninstall")
	files, err := tree(root, "")
	if err != nil || len(files) > 0 {
		t.Errorf("%d files are left, %v", len(files), err)
	}
}
