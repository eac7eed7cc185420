package e2e

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

// TestHugeFile checks that a file that grows without limit, in a single line,
// needs no memory and does not affect other files.
func TestHugeFile(t *testing.T) {
	t.Parallel()
	l := startLive(t, t.TempDir(), "")
	before := l.peak()
	f, err := os.Create(l.path("huge.md"))
	testkit.Must(t, err)
	defer f.Close()
	line := strings.Repeat("quince and more ", 1<<16)
	for n := range thorough(64, 1024) {
		if _, err := f.WriteString(line); err != nil {
			t.Skipf("there is no room for %d MiB here: %v", n, err)
		}
		if n%32 == 0 {
			l.write("other.md", "- loquat "+letters(n)+"\n")
			if a := l.search(owner, letters(n), nil); a.Total != 1 {
				t.Errorf("beside it a save is not found: %+v", a)
			}
		}
	}
	f.Close()
	l.until("it is listed as too large", func() bool {
		return slices.ContainsFunc(l.mustStatus().Skipped, func(s api.Skipped) bool {
			return s.Path == "huge.md" && strings.Contains(s.Reason, "too large")
		})
	})
	if a := l.search(owner, "quince", nil); a.Total != 0 {
		t.Errorf("%d entries of it are found", a.Total)
	}
	// Below the limit of 4 MiB the file may be read, which needs a few times that much.
	if held := l.peak() - before; held > 150 && !raced() {
		t.Errorf("%d MiB were held for it", held)
	}
}

// TestUnreadable checks that an unreadable file is not empty: the entries last
// read stay, marked as stale.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	l := newSomebodys(t, "")
	l.write("2026-02-04/a.md", "- quince one\n")
	l.write("2026-02-05/b.md", "- quince two\n")
	l.write("never.md", "- quince never\n")
	l.own()
	chmod := func(path string, mode fs.FileMode) {
		t.Helper()
		testkit.Must(t, os.Chmod(l.path(path), mode))
	}
	chmod("never.md", 0)
	l.start()
	if a := l.search(owner, "quince", nil); a.Total != 2 {
		t.Fatalf("at first %q", texts(a))
	}
	unreadable := func() (paths []string) {
		for _, p := range l.mustStatus().Problems {
			if p.Code == "unreadable" {
				paths = append(paths, p.Path)
			}
		}
		return paths
	}
	l.until("the file that could never be read is reported", func() bool { return fmt.Sprint(unreadable()) == "[never.md]" })

	chmod("2026-02-04/a.md", 0)
	l.until("the file is reported", func() bool { return fmt.Sprint(unreadable()) == "[2026-02-04/a.md never.md]" })
	for _, who := range []fields{owner, public} {
		for _, h := range l.search(who, "quince", nil).Hits {
			if want := h.Path == "2026-02-04/a.md"; h.Stale != want {
				t.Errorf("hit in %s: stale is %v, want %v", h.Path, h.Stale, want)
			}
		}
		a := l.search(who, "quince", nil)
		if want := []string{"2026-02-04/a.md:1-1 - quince one", "2026-02-05/b.md:1-1 - quince two"}; fmt.Sprint(texts(a)) != fmt.Sprint(want) {
			t.Errorf("%v finds %q, want %q", who, texts(a), want)
		}
	}
	if file, err := l.get(owner, "2026-02-04/a.md"); err != nil || file.Text != "- quince one\n" || !file.Stale {
		t.Errorf("get answers %+v, %v", file, err)
	}
	if c := l.check(); len(c.Differing) != 2 || !strings.Contains(c.Differing[0].Reason, "cannot be read") {
		t.Errorf("check says %+v", c.Differing)
	}

	// The daemon recovers.
	chmod("never.md", 0o600)
	chmod("2026-02-04/a.md", 0o600)
	l.until("all is found", func() bool {
		a := l.search(owner, "quince", nil)
		return a.Total == 3 && !slices.ContainsFunc(a.Hits, func(h api.Hit) bool { return h.Stale })
	})
	l.until("nothing is reported", func() bool {
		s := l.mustStatus()
		return s.ProblemCount == 0 && s.SkippedFiles == 0 && s.Healthy
	})
	l.write("2026-02-05/b.md", "- quince three\n")
	if a := l.search(owner, "three", nil); a.Total != 1 {
		t.Errorf("afterwards a save is not found: %+v", a)
	}
}
