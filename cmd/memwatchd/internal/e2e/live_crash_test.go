package e2e

import (
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

// kill kills the daemon without a shutdown.
func (l *live) kill() {
	l.t.Helper()
	testkit.Must(l.t, l.cmd.Process.Kill())
	<-l.done
	l.done = nil
}

// TestKilled checks that a daemon that is killed at any moment starts again
// with everything that it had acknowledged.
func TestKilled(t *testing.T) {
	t.Parallel()
	rounds := thorough(6, 100)
	const files = 300
	l := newLive(t, t.TempDir(), "")
	l.fill(files)
	want := map[string]string{} // the expected files
	for n := range files {
		path := fmt.Sprintf("2026-01-%02d/s%d.md", n%28+1, n)
		want[path] = fmt.Sprintf("- quince %d\n", n)
	}
	for round := range rounds {
		l.launch()
		end := time.Now().Add(time.Duration(20+rand.IntN(600)) * time.Millisecond)
		// Files are written, and those that a search finds are recorded.
		found := map[string]string{} // by path
		for n := 0; time.Now().Before(end); n++ {
			path := fmt.Sprintf("2026-02-%02d/w%d.md", n%28+1, rand.IntN(200))
			word := letters(round) + "x" + letters(n)
			want[path] = "- medlar\n- " + word + "\n"
			l.write(path, want[path])
			delete(found, path)
			var a api.SyncAnswer
			if n%4 == 0 && l.ask("sync", owner.with(fields{"timeout": "100ms"}), &a) == nil {
				found[path] = word
			}
		}
		l.kill()
		l.wantFirst(files)
		l.sync()
		for _, path := range sorted(found) {
			if got := texts(l.search(owner, found[path], nil)); len(got) != 1 || !strings.HasPrefix(got[0], path+":") {
				t.Errorf("round %d: %s was said to be found in %s, and now is as %q", round, found[path], path, got)
			}
		}
		l.wantTidy()
		if l.aside() > 0 {
			t.Error("a crash damages the index")
		}
		if round%5 == 4 || round == rounds-1 {
			l.sync()
			if c := l.check(); len(c.Differing) != 0 || c.Files != len(want) {
				t.Errorf("round %d: check says %+v", round, c)
			}
			if diff := cmp.Diff(want, l.tree()); diff != "" {
				t.Errorf("round %d: the files are not as they were written (-want +got):\n%s", round, diff)
			}
			testkit.Must(t, l.stop())
		} else {
			l.kill()
		}
		if t.Failed() {
			break
		}
	}
}

func sorted(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// temporary matches names that must not exist after a daemon has started. A
// cookie exists only during a request.
var temporary = regexp.MustCompile(`\.tmp$|^cookie-|^\.memwatchd-`)

// wantTidy checks that a killed daemon left no temporary files.
func (l *live) wantTidy() {
	l.t.Helper()
	left := func() (list []string) {
		base := filepath.Dir(l.config)
		indexes := 0
		err := filepath.WalkDir(base, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil // it existed only for a moment
			}
			if temporary.MatchString(d.Name()) {
				list = append(list, path)
			}
			if strings.HasPrefix(d.Name(), "index-") {
				indexes++
				if indexes > 1 {
					list = append(list, path)
				}
			}
			return nil
		})
		testkit.Must(l.t, err)
		return list
	}
	l.until("nothing is left of the one that was killed", func() bool { return len(left()) == 0 })
}

// tree returns the contents of the files by path.
func (l *live) tree() map[string]string {
	l.t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(l.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(l.root, path)
		files[rel] = string(text)
		return err
	})
	testkit.Must(l.t, err)
	return files
}
