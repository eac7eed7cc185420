package e2e

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/memory"
)

// TestGitMachines writes to one memory on two machines that exchange it with git and
// the merge driver, by turns, while one is offline, and at the same time. Both find
// all entries.
func TestGitMachines(t *testing.T) {
	t.Parallel()
	needs(t, "git")
	runGitMachines(t, false)
	if os.Getenv("FAULTS") != "" {
		runGitMachines(t, true)
	}
}

func runGitMachines(t *testing.T, hosts bool) {
	origin := filepath.Join(t.TempDir(), "origin.git")
	runGit(t, "/", "init", "-q", "--bare", "-b", "main", origin)
	var machines [2]*live
	for i, name := range []string{"desk", "laptop"} {
		root := filepath.Join(t.TempDir(), "memory")
		runGit(t, "/", "clone", "-q", origin, root)
		l := newLive(t, root, "")
		if hosts {
			l.env = append(l.env, "MEMWATCHD_MEMORY_HOST="+name)
		}
		machines[i] = l
		if i == 0 {
			l.write(".gitattributes", "*.md merge=memwatchd\n")
			l.write(".gitignore", ".memwatchd-*\n")
			l.syncGit()
		}
		l.start()
	}
	a, b := machines[0], machines[1]
	note := func(l *live, word string, n int) {
		l.must("note", owner.with(fields{"text": fmt.Sprintf("%s %s number%d", word, l.root, n)}), new(api.NoteAnswer))
	}
	found := func(word string, want int) {
		t.Helper()
		for _, l := range []*live{a, b, a} {
			l.syncGit()
		}
		for _, l := range machines {
			if n := l.count(word); n != want {
				t.Fatalf("%d entries with %s are found, not %d; files: %q", n, word, want, l.contents())
			}
		}
	}

	// Facts in one file with a generated summary, which is new on both machines at first.
	for n := range 3 {
		for i, l := range machines {
			l.must("remember", owner.with(fields{"title": fmt.Sprintf("Title %d of %d", n, i), "explicit": true,
				"text": fmt.Sprintf("remembered %d on %d", n, i)}), new(api.RememberAnswer))
		}
		found("remembered", 2*(n+1))
	}

	for n := range 4 {
		l := machines[n%2]
		note(l, "turnabout", n)
		l.syncGit()
		machines[1-n%2].syncGit()
	}
	found("turnabout", 4)

	for n := range 5 {
		note(a, "offline", n)
		note(b, "offline", n)
	}
	found("offline", 10)

	each := thorough(6, 12)
	var group sync.WaitGroup
	for i, l := range machines {
		group.Go(func() {
			for n := range each {
				note(l, "simultaneous", n)
				if n%(2+i) == 0 {
					l.syncGit()
				}
			}
		})
	}
	group.Wait()
	found("simultaneous", 2*each)

	for i, l := range machines {
		group.Go(func() {
			for n := range 6 {
				l.must("session", owner.with(fields{"session": fmt.Sprintf("cli_%d", i), "draft": fields{
					"tasks": []fields{{"text": fmt.Sprintf("sessionword %d number%d", i, n)}}}}), new(api.SessionAnswer))
			}
		})
	}
	group.Wait()
	for word, want := range map[string]int{"turnabout": 4, "offline": 10, "simultaneous": 2 * each, "sessionword": 12} {
		found(word, want)
	}
	if diff := cmp.Diff(a.contents(), b.contents()); diff != "" || len(a.copies()) > 0 {
		t.Errorf("the machines differ, or have conflict copies %q:\n%s", a.copies(), diff)
	}
}

// syncGit commits what is new, and exchanges it with the other machine.
func (l *live) syncGit() {
	l.t.Helper()
	runGit(l.t, l.root, "add", "-A")
	runGit(l.t, l.root, "commit", "-q", "--allow-empty", "-m", "notes")
	for {
		if runGit(l.t, l.root, "ls-remote", "origin", "main") != "" {
			runGit(l.t, l.root, "pull", "-q", "--no-rebase", "--no-edit", "origin", "main")
		}
		push := gitCommand(l.root, "push", "-q", "origin", "main")
		out, err := push.CombinedOutput()
		if err == nil {
			return
		}
		if l.t.Context().Err() != nil || !strings.Contains(string(out), "rejected") {
			l.t.Fatalf("git push: %v: %s", err, out)
		}
	}
}

func gitCommand(dir string, args ...string) *exec.Cmd {
	cmd := exec.Command("git", append([]string{"-c", "user.name=test", "-c", "user.email=test@example.com",
		"-c", "merge.memwatchd.driver=memwatchd merge -- %O %A %B %P"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0")
	return cmd
}

func runGit(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := gitCommand(dir, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v: %s", args, err, out)
	}
	return string(out)
}

// count returns the number of entries with a word.
func (l *live) count(word string) int {
	l.t.Helper()
	var a api.SearchAnswer
	l.must("search", owner.with(fields{"query": word, "typos": "keep", "limit": 1}), &a)
	return a.Total
}

// contents returns the content of each Markdown file.
func (l *live) contents() map[string]string {
	files := map[string]string{}
	filepath.WalkDir(l.root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".md" && !strings.Contains(path, "/.") {
			text, _ := os.ReadFile(path)
			rel, _ := filepath.Rel(l.root, path)
			files[rel] = string(text)
		}
		return nil
	})
	return files
}

func (l *live) copies() []string {
	return slices.DeleteFunc(slices.Collect(maps.Keys(l.contents())), func(path string) bool {
		_, copied := memory.CopyOf(path)
		return !copied
	})
}
