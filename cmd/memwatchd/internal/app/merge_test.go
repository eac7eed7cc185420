package app

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

// TestMergeFilesMarks checks that the merge driver writes both values of a key of the
// frontmatter, and both versions if the base cannot be read, between conflict markers.
func TestMergeFilesMarks(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct{ base, ours, theirs, want string }{
		{"---\nsummary: old\n---\n- a\n", "---\nsummary: one\n---\n- a\n", "---\nsummary: two\n---\n- a\n",
			"---\n<<<<<<< ours\nsummary: one\n=======\nsummary: two\n>>>>>>> theirs\n---\n- a\n"},
		{"", "- a\n- one\n", "- a\n- two\n", "<<<<<<< ours\n- a\n- one\n=======\n- a\n- two\n>>>>>>> theirs\n"},
		{"", "- a\n", "- a\n", "- a\n"},
	} {
		base := "missing"
		if c.base != "" {
			base = "base"
		}
		for name, text := range map[string]string{"base": c.base, "ours": c.ours, "theirs": c.theirs} {
			testkit.Must(t, os.WriteFile(name, []byte(text), 0o600))
		}
		if err := mergeFiles(base, "ours", "theirs", "notes/a.md"); err == nil {
			t.Error("no error")
		}
		if got, err := os.ReadFile("ours"); err != nil || string(got) != c.want {
			t.Errorf("%q, %v, want %q", got, err, c.want)
		}
	}
}

func TestOverwrite(t *testing.T) {
	if file := os.Getenv(limitedEnv); file != "" {
		overwriteLimited(t, file)
		return
	}
	dir := t.TempDir()
	file, link := filepath.Join(dir, "a.md"), filepath.Join(dir, "link.md")
	testkit.Must(t, os.WriteFile(file, []byte("before"), 0o640))
	testkit.Must(t, os.Symlink("a.md", link))
	testkit.Must(t, overwrite(link, []byte("after")))
	wantOnly := func(want string) {
		t.Helper()
		names, err := filepath.Glob(filepath.Join(dir, "*"))
		hidden, _ := filepath.Glob(filepath.Join(dir, ".*"))
		if err != nil || len(names) != 2 || len(hidden) > 0 {
			t.Errorf("files %q %q, %v", names, hidden, err)
		}
		text, err := os.ReadFile(file)
		info, statErr := os.Lstat(file)
		if string(text) != want || err != nil || statErr != nil || info.Mode() != 0o640 {
			t.Errorf("%q, %v, %v", text, info.Mode(), err)
		}
	}
	wantOnly("after")

	// Like a full disk, a limit of the size of files makes a write fail. It concerns
	// all files of a process, such as the log of the tests.
	cmd := exec.Command(os.Args[0], "-test.run=^TestOverwrite$")
	cmd.Env = append(os.Environ(), limitedEnv+"="+file)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	wantOnly("after")
}

// limitedEnv names the file that a process of TestOverwrite with a limit of the size
// of files overwrites.
const limitedEnv = "MEMWATCHD_TEST_OVERWRITE"

func overwriteLimited(t *testing.T, file string) {
	var limit unix.Rlimit
	testkit.Must(t, unix.Getrlimit(unix.RLIMIT_FSIZE, &limit))
	limit.Cur = 64
	testkit.Must(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &limit))
	if err := overwrite(file, []byte(strings.Repeat("long\n", 100))); err == nil {
		t.Error("no error")
	}
}
