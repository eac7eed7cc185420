package e2e

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

// TestMergesAdditions checks that by default the machine that compactor.host names
// merges a conflict copy to which both versions only added entries, while another
// program writes to the file, and no other copy. Many copies of one file are merged
// without a common version.
func TestMergesAdditions(t *testing.T) {
	t.Parallel()
	self, err := os.Hostname()
	testkit.Must(t, err)
	const suffix = ".sync-conflict-20260205-12000%d-ABCDEFG.md"
	var stay func() // checks the machine that does not maintain the memory
	for _, host := range []string{"another", self} {
		l := startLive(t, t.TempDir(), fmt.Sprintf("write: {quiet: 2s}\ncompactor: {host: %q}\n", host))
		var note api.NoteAnswer
		for n := range 2 {
			l.must("note", owner.with(fields{"text": fmt.Sprintf("from both machines %d", n)}), &note)
		}
		both := l.read(note.Path)
		l.must("note", owner.with(fields{"text": "from this machine"}), &note)
		added, edited := strings.TrimSuffix(note.Path, ".md")+fmt.Sprintf(suffix, 0), "notes/a"+fmt.Sprintf(suffix, 0)
		l.write(added, l.read(note.Path))
		l.write(note.Path, both+"\n## 11:59 PM\n\n- from another machine\n")
		l.write("notes/a.md", "- unchanged\n- here\n")
		l.write(edited, "- unchanged\n- there\n")
		l.write("notes/crowd.md", "- in the file\n")
		for n := range 6 {
			l.write("notes/crowd"+fmt.Sprintf(suffix, n), fmt.Sprintf("- in the copy %d\n", n))
		}
		gone := func(path string) bool {
			_, err := os.Lstat(l.path(path))
			return os.IsNotExist(err)
		}
		if host != self {
			stay = func() {
				if gone(added) || gone("notes/crowd"+fmt.Sprintf(suffix, 0)) {
					t.Error("a machine that does not maintain the memory merged a conflict copy")
				}
			}
			continue
		}
		saved := 0
		l.until("the copy is merged", func() bool {
			f, err := os.OpenFile(l.path(note.Path), os.O_APPEND|os.O_WRONLY, 0)
			if err == nil {
				_, err = fmt.Fprintf(f, "- saved %d\n", saved)
				err = errors.Join(err, f.Close())
			}
			testkit.Must(t, err)
			saved++
			time.Sleep(min(time.Duration(saved)*40, 1000) * time.Millisecond) // a slow machine needs longer
			return gone(added)
		})
		if merged := l.read(note.Path); strings.Count(merged, "this machine") != 1 ||
			strings.Count(merged, "another machine") != 1 || strings.Count(merged, "- saved") != saved {
			t.Errorf("%d lines saved meanwhile: %s", saved, merged)
		}
		l.until("the many copies are merged", func() bool { return strings.Count(l.read("notes/crowd.md"), "in the") == 7 })
		if gone(edited) {
			t.Error("a copy without a common version was merged")
		}
	}
	stay()
}
