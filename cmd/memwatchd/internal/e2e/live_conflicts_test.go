package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/api"
)

// TestMergesAdditions checks that the machine that compactor.host names merges a
// conflict copy to which both versions only added entries, and no other copy.
func TestMergesAdditions(t *testing.T) {
	t.Parallel()
	self, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{self, "another"} {
		l := startLive(t, t.TempDir(), fmt.Sprintf("write: {quiet: 1s}\ncompactor: {host: %q}\nconflicts: {auto: additions}\n", host))
		var note api.NoteAnswer
		for n := range 2 {
			l.must("note", owner.with(fields{"text": fmt.Sprintf("from both machines %d", n)}), &note)
		}
		text, err := os.ReadFile(l.path(note.Path))
		if err != nil {
			t.Fatal(err)
		}
		l.must("note", owner.with(fields{"text": "from this machine"}), &note)
		added, edited := strings.TrimSuffix(note.Path, ".md")+".sync-conflict-20260205-120000-ABCDEFG.md", "notes/a.sync-conflict-20260205-120000-ABCDEFG.md"
		l.write("notes/a.md", "- unchanged\n- here\n")
		l.write(edited, "- unchanged\n- there\n")
		l.write(added, string(text)+"\n## 11:59 PM\n\n- from another machine\n")
		gone := func() bool {
			_, err := os.Lstat(l.path(added))
			return os.IsNotExist(err)
		}
		if host != self {
			if time.Sleep(8 * time.Second); gone() {
				t.Error("a machine that does not maintain the memory merged a conflict copy")
			}
			continue
		}
		l.until("the copy is merged", gone)
		merged, err := os.ReadFile(l.path(note.Path))
		if err != nil || !strings.Contains(string(merged), "this machine") || strings.Count(string(merged), "another machine") != 1 {
			t.Errorf("%s, %v", merged, err)
		}
		if _, err := os.Lstat(l.path(edited)); err != nil {
			t.Errorf("a copy without a common version was merged: %v", err)
		}
	}
}
