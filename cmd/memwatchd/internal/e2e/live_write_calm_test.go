package e2e

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

// stamps returns the modes, times and contents of all files below the root.
func (l *live) stamps() map[string]string {
	l.t.Helper()
	list := map[string]string{}
	err := filepath.WalkDir(l.root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		var text []byte
		if info.Mode().IsRegular() {
			text, err = os.ReadFile(path)
		}
		list[strings.TrimPrefix(path, l.root)] = fmt.Sprintf("%s %s %s", info.Mode(), info.ModTime(), text)
		return err
	})
	testkit.Must(l.t, err)
	return list
}

// wantStill checks that no temporary files are left and that nothing is written
// for a while.
func (l *live) wantStill(state string) {
	l.t.Helper()
	l.wantSettled()
	watched := 2 * time.Second
	if os.Getenv("FAULTS") != "" {
		watched = 2 * time.Minute
	}
	before, applied := l.stamps(), l.mustStatus().Write.Applied
	time.Sleep(watched) // the interval of the observation
	if diff := cmp.Diff(before, l.stamps()); diff != "" {
		l.t.Errorf("%s, within %s (-before +after):\n%s", state, watched, diff)
	}
	if now := l.mustStatus().Write.Applied; now != applied {
		l.t.Errorf("%s, within %s %d changes were made", state, watched, now-applied)
	}
}

// overdue makes a run of the compactor that was due days ago a missed one. The
// daemon must not run.
func (l *live) overdue(days int) {
	l.t.Helper()
	path := filepath.Join(filepath.Dir(l.config), "state/memwatchd/memwatchd/compactor.json")
	passed := map[string]any{"schedule": "0 3 * * *"}
	if text, err := os.ReadFile(path); err == nil {
		testkit.Must(l.t, json.Unmarshal(text, &passed))
	}
	passed["until"] = time.Now().AddDate(0, 0, -days)
	delete(passed, "meant")
	text, err := json.Marshal(passed)
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	testkit.Must(l.t, err)
}

// ran returns the time of the compactor's last run.
func (l *live) ran() time.Time {
	l.t.Helper()
	s := l.mustStatus().Compactor
	if s.Problem != "" {
		l.t.Errorf("the compactor says: %s", s.Problem)
	}
	return s.LastRun
}

// crowd fills a long-term file over its limit, so that part of it must be
// archived.
func (c *chores) crowd() string {
	c.t.Helper()
	const path = "_longterms/owner/_index.md"
	var text strings.Builder
	for n := range 250 {
		fmt.Fprintf(&text, "- something to remember, number %d\n", n)
	}
	c.write(path, text.String())
	return path
}

// TestWriteSwitches checks that each switch turns off only its own function,
// and with any setting nothing is written at the first start. A missed run of
// the compactor is made up for, once.
func TestWriteSwitches(t *testing.T) {
	t.Parallel()
	for _, s := range []struct {
		name, config    string
		ticks, compacts bool
	}{
		{"all on", "", true, true},
		{"write off", "write: {enabled: false, quiet: 0s}\n", false, false},
		{"todosync off", "todosync: {enabled: false}\n", false, true},
		{"compactor off", "compactor: {enabled: false}\n", true, false},
	} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			config := s.config
			if !strings.Contains(config, "write:") {
				config += "write: {quiet: 0s}\n"
			}
			c := &chores{live: newLive(t, t.TempDir(), config), before: testkit.DaysAgo(1) + "/cli_1.md", now: testkit.DaysAgo(0) + "/cli_2.md"}
			c.write(c.before, oneTask)
			c.write(c.now, oneTask)
			c.write(testkit.DaysAgo(3)+"/done.md", "## Tasks\n- [x] Call Bob\n")
			c.write(testkit.DaysAgo(4)+"/open.md", "## Tasks\n- [ ] Call Bob\n")
			counter := testkit.DaysAgo(5) + "/counter.md"
			c.write(counter, "---\ntasks: \"7/9\"\n---\n## Tasks\n- [ ] Water the plants\n")
			index := c.crowd()
			crowded := c.read(index)

			before := c.stamps()
			c.start()
			c.noted()
			c.wantStill("at the first start")
			if diff := cmp.Diff(before, c.stamps()); diff != "" || !c.ran().IsZero() {
				t.Errorf("the first start writes, or the compactor ran at %s (-before +after):\n%s", c.ran(), diff)
			}
			testkit.Must(t, c.stop())

			c.overdue(3)
			c.start()
			c.noted()
			if s.name != "compactor off" {
				c.until("the compactor has run", func() bool { return !c.ran().IsZero() })
			}
			if s.compacts {
				c.until("it has made room", func() bool { return len(c.read(index)) < len(crowded) && strings.Contains(c.read(counter), "0/1") })
			}
			c.edit(c.now, "[ ]", "[x]")
			if s.ticks {
				c.becomes(c.before, tickedTask)
			}
			c.wantStill("when all is done")
			after := c.stamps()
			before["/"+c.now] = after["/"+c.now]
			for path := range after {
				compacts := strings.HasPrefix(path, "/_longterms") || path == "/"+counter || path == filepath.Dir("/"+counter)
				ticks := path == "/"+c.before || path == filepath.Dir("/"+c.before)
				if s.compacts && compacts || s.ticks && ticks {
					delete(before, path)
					delete(after, path)
				}
			}
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("what was not to be written is (-before +after):\n%s", diff)
			}
			if !s.compacts {
				return
			}
			ran := c.ran() // only once
			testkit.Must(t, c.stop())
			c.start()
			c.noted()
			c.wantStill("when nothing is missing")
			if again := c.ran(); !again.Equal(ran) {
				t.Errorf("it ran at %s, and again at %s", ran, again)
			}
		})
	}
}
