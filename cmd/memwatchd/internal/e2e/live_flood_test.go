package e2e

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/memwatchd/memwatchd/api"
)

// wantShortLog checks that a frequent failure was not logged each time.
func (l *live) wantShortLog(what string) {
	l.t.Helper()
	text := l.log.String()
	l.t.Logf("%s: %d lines of log, %d KiB", what, strings.Count(text, "\n"), len(text)>>10)
	if len(text) > 64<<10 {
		l.t.Errorf("%s: %d KiB were logged: %.2000s", what, len(text)>>10, text)
	}
}

// TestManyBrokenFiles checks that very many unreadable or invalid files are
// counted, but not logged one by one, and not retried without pause.
func TestManyBrokenFiles(t *testing.T) {
	t.Parallel()
	files := 1000
	if os.Getenv("FAULTS") != "" {
		files = 10000
	}
	l := newSomebodys(t, "watch: {reconcile: 1s}\n")
	for n := range files {
		l.write(fmt.Sprintf("closed%d/f%d.md", n%20, n), "- quince\n")
		l.write(fmt.Sprintf("broken%d/f%d.md", n%20, n), "---\nsummary: [\n---\n- medlar\n")
		if err := os.Chmod(l.path(fmt.Sprintf("closed%d/f%d.md", n%20, n)), 0); err != nil {
			t.Fatal(err)
		}
	}
	l.own()
	l.start()
	l.until("all are reported", func() bool { return l.mustStatus().ProblemCount == 2*files })
	s := l.mustStatus()
	if len(s.Problems) > 20 || s.Files != files {
		t.Errorf("status lists %d problems, of %d files", len(s.Problems), s.Files)
	}
	for code, dir := range map[string]string{"unreadable": "closed", "frontmatter_broken": "broken"} {
		if n := len(slices.DeleteFunc(l.check().Problems, func(p api.FileProblem) bool {
			return p.Code != code || !strings.HasPrefix(p.Path, dir)
		})); n != files {
			t.Errorf("check lists %d files as %s, want %d", n, code, files)
		}
	}
	if a := l.search(owner, "medlar", fields{"limit": 1}); a.Total != files {
		t.Errorf("of what can be read %d are found, want %d", a.Total, files)
	}
	l.wantCalm("very many files cannot be read")
	l.write("2026-02-04/new.md", "- loquat\n")
	if l.uid != 0 {
		for _, path := range []string{"2026-02-04", "2026-02-04/new.md"} {
			if err := os.Lchown(l.path(path), l.uid, l.uid); err != nil {
				t.Fatal(err)
			}
		}
	}
	if a := l.search(owner, "loquat", nil); a.Total != 1 || !a.Index.Synced {
		t.Errorf("beside them a save is not found: %+v", a)
	}
	l.wantShortLog("very many files cannot be read")
	// The daemon recovers.
	for n := range files {
		if err := os.Chmod(l.path(fmt.Sprintf("closed%d/f%d.md", n%20, n)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l.until("all is read", func() bool {
		s := l.mustStatus()
		return s.Files == 2*files+1 && s.ProblemCount == files
	})
	if a := l.search(owner, "quince", fields{"limit": 1}); a.Total != files {
		t.Errorf("afterwards %d are found, want %d", a.Total, files)
	}
}
