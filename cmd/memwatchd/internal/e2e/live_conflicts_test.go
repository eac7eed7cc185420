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

// TestMergesAdditions checks that by default only the machine that compactor.host names
// merges a conflict copy to which both versions only added entries, while another
// program writes to the file.
func TestMergesAdditions(t *testing.T) {
	t.Parallel()
	self, err := os.Hostname()
	testkit.Must(t, err)
	const suffix = ".sync-conflict-20260205-120000-ABCDEFG.md"
	gone := func(path string) bool {
		_, err := os.Lstat(path)
		return os.IsNotExist(err)
	}
	stays := ""
	for _, host := range []string{"another", self} {
		l := startLive(t, t.TempDir(), fmt.Sprintf("write: {quiet: 2s}\ncompactor: {host: %q}\n", host))
		var note api.NoteAnswer
		l.must("note", owner.with(fields{"text": "from both machines"}), &note)
		both := l.read(note.Path)
		l.must("note", owner.with(fields{"text": "from this machine"}), &note)
		added := strings.TrimSuffix(note.Path, ".md") + suffix
		l.write(added, l.read(note.Path))
		l.write(note.Path, both+"\n## 11:59 PM\n\n- from another machine\n")
		l.write("notes/a.md", "- unchanged\n- here\n")
		l.write("notes/a"+suffix, "- unchanged\n- there\n")
		if host != self {
			stays = l.path(added)
			continue
		}
		saved := 0
		l.until("the copy is merged", func() bool {
			f, err := os.OpenFile(l.path(note.Path), os.O_APPEND|os.O_WRONLY, 0)
			testkit.Must(t, err)
			_, err = fmt.Fprintf(f, "- saved %d\n", saved)
			testkit.Must(t, errors.Join(err, f.Close()))
			saved++
			time.Sleep(min(time.Duration(saved)*40, 1000) * time.Millisecond) // a slow machine needs longer
			return gone(l.path(added))
		})
		if merged := l.read(note.Path); strings.Count(merged, "this machine") != 1 ||
			strings.Count(merged, "another machine") != 1 || strings.Count(merged, "- saved") != saved {
			t.Errorf("%d lines saved meanwhile: %s", saved, merged)
		}
		if gone(l.path("notes/a" + suffix)) {
			t.Error("a copy without a common version was merged")
		}
	}
	if gone(stays) {
		t.Error("a machine that does not maintain the memory merged a conflict copy")
	}
}
