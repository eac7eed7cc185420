package e2e

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

// eager makes the daemon write without delay and with a high limit of writes.
const eager = "write: {quiet: 0s, fuse: 10000}\nwatch: {vanish: 100ms, reconcile: 2s}\n"

// thorough returns the number of repetitions: usually, or faults with FAULTS=1.
func thorough(usually, faults int) int {
	if os.Getenv("FAULTS") != "" {
		return faults
	}
	return usually
}

// leftovers lists the files below the root that are not Markdown files or the
// filler of a disk, and the journal's unresolved changes.
func (l *live) leftovers() (left []string) {
	l.t.Helper()
	journal := filepath.Join(filepath.Dir(l.config), "state/memwatchd/memwatchd/journal")
	records, err := os.ReadDir(journal)
	testkit.Must(l.t, err)
	for _, r := range records {
		if strings.Contains(r.Name(), "intent") {
			left = append(left, r.Name())
		}
	}
	filepath.WalkDir(l.root, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil // it existed only for a moment
		case e.IsDir() && e.Name() == ".git":
			return fs.SkipDir
		case !e.IsDir() && filepath.Ext(path) != ".md" && e.Name() != "filler":
			left = append(left, path)
		}
		return nil
	})
	return left
}

// wantSettled waits until no temporary files of changes are left.
func (l *live) wantSettled() {
	l.t.Helper()
	var left []string
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		left = l.leftovers()
		if len(left) == 0 {
			return
		}
	}
	l.t.Errorf("left over: %q; status %+v", left, l.mustStatus().Write)
}

var (
	boxes    = regexp.MustCompile(`(?m)^- \[x\]`)
	counters = regexp.MustCompile(`(?m)^tasks: "\d+/`)
)

// unticked returns a text with its boxes unticked and its counters at zero.
func unticked(text string) string {
	return counters.ReplaceAllString(boxes.ReplaceAllString(text, "- [ ]"), `tasks: "0/`)
}

// A saver saves a file as some programs do.
type saver struct {
	name    string
	save    func(path, text string) error
	appends bool // appends a line instead of replacing the file
	torn    bool // a concurrent reader may find a part
}

var savers = []saver{
	{name: "renames over", save: func(path, text string) error {
		return errors.Join(os.WriteFile(path+".new", []byte(text), 0o600), os.Rename(path+".new", path))
	}},
	{name: "in place", torn: true, save: func(path, text string) error { return os.WriteFile(path, []byte(text), 0o600) }},
	{name: "moves away first", torn: true, save: func(path, text string) error {
		return errors.Join(os.Rename(path, path+"~"), os.WriteFile(path, []byte(text), 0o600), os.Remove(path+"~"))
	}},
	{name: "removes first", torn: true, save: func(path, text string) error {
		return errors.Join(os.Remove(path), os.WriteFile(path, []byte(text), 0o600))
	}},
	{name: "appends", appends: true, torn: true, save: func(path, text string) error {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return err
		}
		time.Sleep(time.Duration(rand.IntN(30)) * time.Millisecond) // the file is held open
		_, err = f.WriteString(text)
		return errors.Join(err, f.Close())
	}},
}

// personal returns the n-th version that a person saves.
func personal(n int) string {
	return fmt.Sprintf("%s\n## Words\n%s- version %d\n", oneTask, strings.Repeat("- padding\n", n%50), n)
}

func appended(n int) string { return fmt.Sprintf("- version %d\n", n) }

// TestRaceWrites saves a file while the daemon ticks and opens a task in it on
// request, as fast as it can. No save is ever lost, and no temporary files are
// left.
func TestRaceWrites(t *testing.T) {
	for _, p := range savers {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			p.race(t, thorough(40, 1000))
		})
	}
}

func (p saver) race(t *testing.T, rounds int) {
	c := startChores(t, eager)
	needLeases(t, c.root)
	path := c.path(c.before)
	was := personal(0)
	testkit.Must(t, os.WriteFile(path, []byte(was), 0o600))
	c.sync()
	var over atomic.Bool
	var asked, changed atomic.Int64
	var group sync.WaitGroup
	defer group.Wait()
	defer over.Store(true)
	group.Go(func() {
		for ; !over.Load(); asked.Add(1) {
			var a api.TodoAnswer
			req := fields{"text": "renew the certificate", "state": []string{"done", "open"}[asked.Load()%2], "sync": false}
			if err := c.ask("todo", owner.with(req), &a); err != nil && !strings.Contains(err.Error(), `"busy"`) && !strings.Contains(err.Error(), `"not_found"`) {
				t.Error(err)
				return
			}
			if slices.ContainsFunc(a.Changed, func(p api.TodoPlace) bool { return p.Path == c.before }) {
				changed.Add(1)
			}
		}
	})
	if !p.torn {
		group.Go(func() { // a reader finds a whole version
			for !over.Load() {
				text, err := os.ReadFile(path)
				var n int
				_, version, ok := strings.Cut(string(text), "- version ")
				if _, scanned := fmt.Sscan(version, &n); err != nil || !ok || scanned != nil || unticked(string(text)) != personal(n) {
					t.Errorf("torn, %v:\n%s", err, text)
					return
				}
			}
		})
	}
	want := was
	for n := 1; (n <= rounds || changed.Load() == 0 && n < 20*rounds) && !t.Failed(); n++ { // on a busy machine, changes are rare
		text := personal(n)
		if p.appends {
			text = appended(n)
			want += text
		} else {
			want = text
		}
		time.Sleep(time.Duration(rand.IntN(120)) * time.Millisecond)
		testkit.Must(t, p.save(path, text))
		if n%2 == 0 {
			continue // again at once
		}
		c.until(fmt.Sprintf("version %d is there", n), func() bool {
			got, err := os.ReadFile(path)
			return err == nil && unticked(string(got)) == want
		})
	}
	over.Store(true)
	group.Wait()
	c.wantSettled()
	if got := unticked(c.read(c.before)); got != want {
		t.Errorf("in the end there is\n%s\nwant\n%s", got, want)
	}
	s := c.mustStatus().Write
	if changed.Load() == 0 || s.Applied == 0 {
		t.Errorf("it was changed %d times: %+v", changed.Load(), s)
	}
	t.Logf("%d saves; %d questions, %d changes of the file, %d of all; %d races lost", rounds, asked.Load(), changed.Load(), s.Applied, s.LostRaces)
}
