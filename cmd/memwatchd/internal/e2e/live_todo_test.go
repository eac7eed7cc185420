package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

// A chores is a daemon with copies of tasks.
type chores struct {
	*live
	before, now string // sessions of yesterday and of today
}

const oneTask = "---\ntasks: \"0/1\"\n---\n\n## Tasks\n- [ ] Renew the certificate\n"

// startChores starts a daemon that has recorded an open task in two sessions.
func startChores(t *testing.T, config string) *chores {
	t.Helper()
	return startChoresAt(t, t.TempDir(), config)
}

func startChoresAt(t *testing.T, root, config string) *chores {
	t.Helper()
	c := &chores{before: testkit.DaysAgo(1) + "/cli_1.md", now: testkit.DaysAgo(0) + "/cli_2.md"}
	testkit.WriteFile(t, filepath.Join(root, c.before), oneTask)
	testkit.WriteFile(t, filepath.Join(root, c.now), oneTask)
	c.live = startLive(t, root, config)
	c.noted()
	return c
}

// noted waits until reconciliation has seen every file.
func (c *chores) noted() {
	c.t.Helper()
	c.until("the tasks are noted", func() bool {
		s, err := c.status()
		return err == nil && s.Todosync != nil && s.Todosync.Problem == ""
	})
}

// edit replaces a word in a file in place, as some editors do.
func (c *chores) edit(path, from, to string) {
	c.t.Helper()
	text := c.read(path)
	if !strings.Contains(text, from) {
		c.t.Fatalf("%s has no %q:\n%s", path, from, text)
	}
	c.write(path, strings.Replace(text, from, to, 1))
}

// becomes waits until a file has the wanted text.
func (c *chores) becomes(path, want string) {
	c.t.Helper()
	c.until(path+" is written", func() bool { return c.read(path) == want })
}

// sentinel completes a task of its own. When the copy is ticked, everything
// saved before has been decided too.
func (c *chores) sentinel(name string) {
	c.t.Helper()
	older, newer := testkit.DaysAgo(1)+"/sentinel_"+name+".md", testkit.DaysAgo(0)+"/sentinel_"+name+".md"
	c.write(older, "## Tasks\n- [ ] sentinel "+name+"\n")
	c.sync()
	c.until("the sentinel is noted", func() bool { return c.planned() == 0 })
	c.write(newer, "## Tasks\n- [x] sentinel "+name+"\n")
	c.becomes(older, "## Tasks\n- [x] sentinel "+name+"\n")
}

func (c *chores) planned() int { return c.mustStatus().Todosync.Planned }

// writes lists the files that the daemon wrote, except sentinels, by path.
func (c *chores) writes() []string {
	c.t.Helper()
	var a api.JournalAnswer
	c.must("journal", owner.with(fields{"limit": 100}), &a)
	paths := []string{}
	for _, w := range a.Writes {
		if !strings.Contains(w.Path, "sentinel") && w.Cause != "external" {
			paths = append(paths, w.Path)
		}
	}
	slices.Sort(paths)
	return paths
}

func (c *chores) wrote(want ...string) {
	c.t.Helper()
	slices.Sort(want)
	if diff := cmp.Diff(want, c.writes()); diff != "" && len(want)+len(c.writes()) > 0 {
		c.t.Errorf("written (-want +got):\n%s", diff)
	}
}

const quickly = "write: {quiet: 50ms}\n"

// TestRaceTodoTicksOnce checks that one edit by hand causes one write-back of each
// affected file and no further writes, not even after a restart.
func TestRaceTodoTicksOnce(t *testing.T) {
	t.Parallel()
	c := startChores(t, quickly)
	third := testkit.DaysAgo(2) + "/telegram_1.md"
	const crlf = "\ufeff## Follow Ups\r\n- [ ] Renew the certificate\r\n\r\n## Tasks\r\n* [ ]  renew the **certificate**."
	c.write(third, crlf)
	c.sync()
	c.edit(c.now, "[ ]", "[x]")
	c.becomes(c.before, strings.NewReplacer("0/1", "1/1", "[ ]", "[x]").Replace(oneTask))
	c.becomes(third, strings.Replace(crlf, "* [ ]", "* [x]", 1))
	c.sentinel("a")
	c.wrote(c.before, third)
	if got, want := c.read(c.now), strings.Replace(oneTask, "[ ]", "[x]", 1); got != want {
		t.Errorf("the file that was edited is\n%s\nwant it as it was saved:\n%s", got, want)
	}
	testkit.Must(t, c.stop())
	c.start()
	c.noted()
	c.sentinel("b")
	c.wrote(c.before, third)
}

// TestTodoWaitsAcrossKill checks that a pending write-back is not lost when the
// daemon is killed, and is done when possible.
func TestTodoWaitsAcrossKill(t *testing.T) {
	t.Parallel()
	c := startChores(t, "write: {quiet: 1h}\n")
	c.write(c.before, oneTask+"\n")
	c.sync()
	c.edit(c.now, "[ ]", "[x]")
	c.until("the write-back waits", func() bool { return len(c.mustStatus().Todosync.Waiting) == 1 })
	c.cmd.Process.Kill()
	<-c.done
	c.done = nil
	c.configure(quickly)
	c.start()
	c.becomes(c.before, strings.NewReplacer("0/1", "1/1", "[ ]", "[x]").Replace(oneTask)+"\n")
	c.sentinel("a")
	c.wrote(c.before)
}

func (c *chores) remove(path string) {
	c.t.Helper()
	testkit.Must(c.t, os.Remove(c.path(path)))
}
