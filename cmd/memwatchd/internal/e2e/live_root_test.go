package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/cli"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

// quick shortens reconciliation to less than a minute, and leaves enough time
// for requests before it.
const quick = "watch: {reconcile: 5s, poll: 100ms}\n"

// fill creates a memory with a number of files.
func (l *live) fill(files int) {
	l.t.Helper()
	for n := range files {
		l.write(fmt.Sprintf("2026-01-%02d/s%d.md", n%28+1, n), fmt.Sprintf("- quince %d\n", n))
	}
}

// wantWell waits until the daemon is healthy and finds a quince in each file.
func (l *live) wantWell(files int) {
	l.t.Helper()
	l.until("all is well", func() bool {
		s, err := l.status()
		return err == nil && s.Healthy && s.RootState == "watched" && s.Files == files && !s.Index.Degraded && s.Index.Problem == ""
	})
	a := l.search(owner, "quince", nil)
	if a.Total != files || !a.Index.Synced || a.Index.Degraded || a.Index.Problem != "" {
		l.t.Errorf("%d entries are found, want %d; %+v", a.Total, files, a.Index)
	}
	if c := l.check(); len(c.Differing) != 0 || c.Files != files {
		l.t.Errorf("check says %+v", c)
	}
}

// wantTold checks that the status and every answer report the state of the
// root, and that the index keeps all entries.
func (l *live) wantTold(state string, files int) {
	l.t.Helper()
	began := time.Now()
	var s api.Status
	l.until(fmt.Sprintf("the root is %s, with %d files", state, files), func() bool {
		s = l.mustStatus()
		return s.RootState == state && s.Files == files
	})
	var wrong []string
	if s.Healthy || !s.Index.Degraded || s.Index.Problem == "" {
		wrong = append(wrong, fmt.Sprintf("status is %+v", s))
	}
	for _, who := range []fields{owner, public} {
		a := l.search(who, "quince", nil)
		if whole := who["subject"] != nil; !a.Index.Degraded || (a.Index.Problem != "") != whole {
			wrong = append(wrong, fmt.Sprintf("%v is answered %+v", who, a.Index))
		}
	}
	out, err := l.command("status").CombinedOutput()
	if exit, ok := err.(*exec.ExitError); !ok || exit.ExitCode() != cli.ExitUnhealthy || !strings.Contains(string(out), state) {
		wrong = append(wrong, fmt.Sprintf("status ends with %v, and prints:\n%s", err, out))
	}
	out, err = l.command("check").CombinedOutput()
	if want := map[string]string{"missing": "cannot open the memory directory", "holding": "is indexed but missing in the directory"}[state]; !strings.Contains(string(out), want) {
		wrong = append(wrong, fmt.Sprintf("check ends with %v, and prints:\n%s", err, out))
	}
	// The state lasts until the next reconcile, which a busy machine may reach here.
	if now := l.mustStatus(); now.RootState != state || now.Files != files {
		if took := time.Since(began); took < 15*time.Second {
			l.t.Errorf("the root was %s for at most %s, and then %+v", state, took, now)
		}
		return
	}
	for _, w := range wrong {
		l.t.Errorf("while the root is %s, %s", state, w)
	}
}

// command returns a command of the program for this daemon.
func (l *live) command(args ...string) *exec.Cmd {
	cmd := exec.Command("memwatchd", append([]string{"--config", l.config}, args...)...)
	cmd.Env = l.env
	return cmd
}

// TestRootAway checks that the daemon waits for a missing root and keeps all
// entries meanwhile.
func TestRootAway(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	root := filepath.Join(base, "root")
	l := newLive(t, root, quick)
	l.fill(40)
	l.start()
	l.wantWell(40)
	away := filepath.Join(base, "away")
	testkit.Must(t, os.Rename(root, away))
	l.wantTold("missing", 40)
	l.wantCalm("the root is missing")
	testkit.Must(t, os.WriteFile(filepath.Join(away, "meanwhile.md"), []byte("- quince meanwhile\n"), 0o600))
	testkit.Must(t, os.Rename(away, root))
	l.wantWell(41)
	// The root is watched again.
	l.write("2026-01-05/new.md", "- quince new\n")
	l.wantWell(42)
}

// TestRootAwayAtStart checks that a daemon that starts before the disk is
// mounted answers from its index. It keeps all entries while the root is an
// empty mount point.
func TestRootAwayAtStart(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	root, away := filepath.Join(base, "root"), filepath.Join(base, "away")
	l := newLive(t, root, "watch: {reconcile: 5m, poll: 100ms}\n") // the state of an empty directory lasts
	l.fill(40)
	l.start()
	for _, place := range []string{"missing", "holding"} {
		testkit.Must(t, l.stop())
		testkit.Must(t, os.Rename(root, away))
		if place == "holding" {
			testkit.Must(t, os.Mkdir(root, 0o700))
		}
		l.launch()
		l.until("it answers", func() bool { _, err := l.status(); return err == nil })
		l.wantTold(place, 40)
		if place == "holding" {
			testkit.Must(t, os.Remove(root))
		}
		testkit.Must(t, os.Rename(away, root))
		l.wantWell(40)
	}
}
