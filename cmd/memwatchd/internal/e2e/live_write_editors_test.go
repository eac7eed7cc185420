package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

// A sitting is an editor with an open file.
type sitting struct {
	name    string
	program string
	needs   []string
	keys    func(*screen) // adds a line without saving
	save    func(*screen) // saves and ends
	reason  string        // why the write-back waits
}

const ownLine = "- a line of mine"

var sittings = []sitting{
	{
		name: "vim", program: "vim -u DEFAULTS", needs: []string{"vim", "tmux"}, reason: "the file is open in vim",
		keys: func(s *screen) { s.send("G", "o"); s.send("-l", "--", ownLine); s.send("Escape") },
		save: func(s *screen) { s.send("-l", ":wq"); s.send("Enter") },
	},
	{
		name: "emacs", program: "emacs -nw -q", needs: []string{"emacs", "tmux"}, reason: "the file has unsaved changes in Emacs",
		keys: func(s *screen) { s.send("M->"); s.send("-l", "--", ownLine); s.send("Enter") },
		save: func(s *screen) { s.send("C-x", "C-s"); s.wait("Wrote "); s.send("C-x", "C-c") },
	},
}

// sit opens a file of a new memory in an editor and changes it there, without
// saving.
func (e sitting) sit(t *testing.T) (*chores, *screen) {
	t.Helper()
	needs(t, e.needs...)
	c := startChoresAt(t, filepath.Join(homeDir(t), "root"), eager)
	s := newScreen(t, e.program+" "+c.path(c.before), 100)
	s.wait("Renew the certificate")
	e.keys(s)
	s.wait(ownLine)
	return c, s
}

// waitsFor waits until the status reports that a file is not written for a
// reason.
func (c *chores) waitsFor(path, reason string) {
	c.t.Helper()
	c.until(path+" waits: "+reason, func() bool {
		return slices.ContainsFunc(c.mustStatus().Todosync.Waiting, func(w api.Skipped) bool {
			return w.Path == path && strings.Contains(w.Reason, reason)
		})
	})
}

var tickedTask = strings.NewReplacer("0/1", "1/1", "[ ]", "[x]").Replace(oneTask)

// TestWriteWaitsForEditor checks that the daemon does not write a file with
// unsaved changes in an editor. It ticks the box after the file is saved.
func TestWriteWaitsForEditor(t *testing.T) {
	t.Parallel()
	for _, e := range sittings {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			c, s := e.sit(t)
			c.edit(c.now, "[ ]", "[x]")
			c.waitsFor(c.before, e.reason)
			others := c.wave("letter", 3) // need not wait
			c.until("others are written", func() bool { return others.done() == others.files })
			if text := c.read(c.before); text != oneTask {
				t.Errorf("it was not left alone:\n%s", text)
			}
			e.save(s)
			s.end()
			c.becomes(c.before, tickedTask+ownLine+"\n")
			os.Remove(c.path(c.before) + "~") // Emacs keeps a backup
			others.wantOnce()
		})
	}
}

// TestWriteWaitsForGit checks that while a git operation is in progress, the
// daemon writes nothing to the repository.
func TestWriteWaitsForGit(t *testing.T) {
	t.Parallel()
	needs(t, "git")
	c := startChores(t, eager)
	git := func(args ...string) error {
		cmd := exec.Command("git", append([]string{"-C", c.root, "-c", "user.name=x", "-c", "user.email=x@x"}, args...)...)
		cmd.Env = append(os.Environ(), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1", "GIT_EDITOR=true")
		return cmd.Run()
	}
	commit := func(branch, text string) {
		t.Helper()
		c.write("notes.md", text)
		for _, args := range [][]string{{"add", "notes.md"}, {"commit", "-q", "-m", branch}, {"branch", "-f", branch}} {
			if err := git(args...); err != nil {
				t.Fatalf("git %q: %v", args, err)
			}
		}
	}
	testkit.Must(t, git("init", "-q", "-b", "main"))
	commit("base", "- a\n")
	commit("theirs", "- b\n")
	testkit.Must(t, git("checkout", "-q", "-b", "ours", "base"))
	commit("other", "- c\n")

	lock := filepath.Join(c.root, ".git/index.lock")
	testkit.Must(t, os.WriteFile(lock, nil, 0o600))
	c.edit(c.now, "[ ]", "[x]")
	c.waitsFor(c.before, "git is running")
	if text := c.read(c.before); text != oneTask {
		t.Errorf("it was not left alone:\n%s", text)
	}
	testkit.Must(t, os.Remove(lock))
	c.becomes(c.before, tickedTask)

	third := testkit.DaysAgo(2) + "/cli_3.md"
	c.write(third, "## Tasks\n- [ ] Call Bob\n")
	c.sync()
	for _, doing := range []string{"rebase", "merge"} {
		if err := git(doing, "theirs"); err == nil {
			t.Fatalf("git %s finds nothing to ask a person about", doing)
		}
		c.write(testkit.DaysAgo(0)+"/"+doing+".md", strings.ReplaceAll("## Tasks\n- [x] Call Bob\n", "Bob", map[string]string{"rebase": "Bob", "merge": "Eve"}[doing]))
		c.waitsFor(third, "a git "+doing+" is in progress")
		testkit.Must(t, git(doing, "--abort"))
		c.until("it is written", func() bool { return strings.Contains(c.read(third), "[x]") })
		c.write(third, "## Tasks\n- [ ] Call Eve\n")
		c.sync()
	}
}
