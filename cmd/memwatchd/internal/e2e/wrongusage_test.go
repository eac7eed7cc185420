package e2e

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// TestWrongUsage runs the wrong commands of testdata/wrongusage.txt beside a
// daemon and checks the exit status, the message with its remedy, and that no
// file in the home directory changes, outside the index and the state of the
// daemon.
func TestWrongUsage(t *testing.T) {
	t.Parallel()
	archive, err := txtar.ParseFile("testdata/wrongusage.txt")
	if err != nil {
		t.Fatal(err)
	}
	s := newFlagHome(t, archive.Files)
	before := readHome(t, s.home)
	n := 0
	for line := range strings.Lines(string(archive.Comment)) {
		line = strings.TrimRight(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		status, rest, _ := strings.Cut(line, " ")
		words, want, ok := strings.Cut(rest, " => ")
		if !ok {
			t.Fatalf("wrongusage.txt: %q is not STATUS COMMAND => PATTERN", line)
		}
		n++
		got := s.outcome(t, "memwatchd "+words)
		if !strings.HasPrefix(got, "exit "+status+"\n") {
			t.Errorf("memwatchd %s: got %q, want status %s", words, got, status)
		}
		if !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("memwatchd %s: got %q, want %s", words, got, want)
		}
		if diff := cmp.Diff(before, readHome(t, s.home)); diff != "" {
			t.Errorf("memwatchd %s changed files (-before +after):\n%s", words, diff)
			before = readHome(t, s.home)
		}
	}
	if n < 40 {
		t.Errorf("%d wrong commands, want at least 40", n)
	}
}

// readHome returns the files below a home directory, except for those that the
// daemon writes for itself.
func readHome(t *testing.T, home string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(home, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(home, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name == ".cache" || name == ".local" || name == "run" {
				return fs.SkipDir
			}
			files[name] = "directory"
			return nil
		}
		data, err := os.ReadFile(path)
		files[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
