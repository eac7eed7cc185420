package daemon

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
	"github.com/memwatchd/memwatchd/memory"
	"github.com/memwatchd/memwatchd/vault"
)

// TestFileTimes checks the time of the content of files: of its commit, or of the last
// change. Settings of the repository run nothing.
func TestFileTimes(t *testing.T) {
	dir, trap := t.TempDir(), filepath.Join(t.TempDir(), "trap")
	committed, copied := time.Unix(1700000000, 0), time.Now().Truncate(time.Minute)
	f := &files{Vault: &vault.Vault{Dir: dir}, layout: &memory.Layout{}}
	write := func(name, text string, at time.Time) {
		t.Helper()
		name = filepath.Join(dir, name)
		testkit.Must(t, os.WriteFile(name, []byte(text), 0o600))
		testkit.Must(t, os.Chtimes(name, at, at))
	}
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a"}, args...)...)
		cmd.Env = append(os.Environ(), fmt.Sprintf("GIT_AUTHOR_DATE=%d +0000", committed.Unix()))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	check := func(want map[string]time.Time) {
		t.Helper()
		for name, at := range want {
			if file, err := f.Read(name); err != nil || !file.ModTime.Equal(at) {
				t.Errorf("%s: %v, %v, want %v", name, file.ModTime, err, at)
			}
		}
	}
	write("a.md", "text", copied)
	f.times.list(dir, 1)
	check(map[string]time.Time{"a.md": copied})
	git("init", "-q")
	write("b.md", "text", copied)
	write("tést \"quoted\".md", "text", copied)
	write("early.md", "text", committed.Add(-time.Hour))
	git("add", "tést \"quoted\".md", "a.md", "b.md", "early.md")
	git("commit", "-qm", "a")
	write("b.md", "changed later", copied.Add(time.Hour))
	testkit.Must(t, os.WriteFile(trap, []byte("#!/bin/sh\ntouch '"+trap+".ran'\n"), 0o700))
	for _, key := range []string{"core.fsmonitor", "gpg.program", "core.pager", "diff.external"} {
		git("config", key, trap)
	}
	git("config", "log.showSignature", "true")
	write("new.md", "text", copied)
	f.times.list(dir, manyFiles)
	check(map[string]time.Time{"tést \"quoted\".md": committed, "a.md": committed, "b.md": copied.Add(time.Hour),
		"early.md": committed.Add(-time.Hour), "new.md": copied})
	if _, err := os.Stat(trap + ".ran"); err == nil {
		t.Error("git ran a program of the repository")
	}
}

// TestSlowCommits checks that requests do not wait for git, that the index does, and that
// both have the times of commits afterwards.
func TestSlowCommits(t *testing.T) {
	const committed = 1700000000
	defer func(d time.Duration) { gitTime = d }(gitTime)
	gitTime = time.Minute
	bin, root := t.TempDir(), t.TempDir()
	testkit.WriteFile(t, filepath.Join(root, ".git/HEAD"), "ref: refs/heads/main\n")
	testkit.WriteFile(t, filepath.Join(root, "a.md"), "- quince\n")
	blob, err := exec.Command("git", "hash-object", filepath.Join(root, "a.md")).Output()
	if err != nil {
		t.Skip(err)
	}
	testkit.WriteFile(t, filepath.Join(bin, "git"), fmt.Sprintf("#!/bin/sh\nwhile ! test -e %s/go; do sleep 0.01; done\n"+
		"echo %d\nprintf ':000000 100644 0 %s A\\ta.md\\n'\n", bin, committed, strings.TrimSpace(string(blob))))
	testkit.Must(t, os.Chmod(filepath.Join(bin, "git"), 0o700))
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	g := openTarget(t, root, nil)
	at := func() int64 {
		doc, err := g.daemon.pipeline.documents.Load("a.md")
		testkit.Must(t, err)
		return doc.Entries[0].Time.Unix()
	}
	if at() == committed {
		t.Error("the file has the time of its commit while git runs")
	}
	if !g.daemon.Report().Index.Degraded {
		t.Error("the index is complete before git has ended")
	}
	testkit.WriteFile(t, filepath.Join(bin, "go"), "")
	g.waitComplete()
	if info, _ := g.daemon.index.File("a.md"); at() != committed || info.Entries != 1 {
		t.Errorf("the time of the entry is %v", at())
	}
}
