package setup

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/agents"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

func openTest(t *testing.T, path string) *settingsFile {
	t.Helper()
	s, err := openSettings(path)
	testkit.Must(t, err)
	return s
}

func wantFile(t *testing.T, path, want string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Errorf("%s is %q, %v, want %q", path, got, err, want)
	}
}

// TestSettingsChangedMeanwhile checks that a file that was changed, created or
// removed since it was read is not replaced.
func TestSettingsChangedMeanwhile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "settings.json")
	write := func(text string) {
		testkit.Must(t, os.WriteFile(path, []byte(text), 0o600))
	}
	refused := func(s *settingsFile) {
		t.Helper()
		if err := s.replace([]byte("ours")); err == nil || !strings.Contains(err.Error(), "changed during the operation") {
			t.Errorf("got %v", err)
		}
		if names, _ := filepath.Glob(filepath.Join(dir, ".*")); len(names) > 0 {
			t.Errorf("left behind: %v", names)
		}
	}
	missing := openTest(t, path)
	write("{}")
	refused(missing)
	wantFile(t, path, "{}")
	there := openTest(t, path)
	write("{} ")
	refused(there)
	wantFile(t, path, "{} ")
	testkit.Must(t, os.Remove(path))
	refused(there)
	if _, err := os.Stat(path); err == nil {
		t.Error("it was made again")
	}
}

// TestSettingsKeepTheirMode checks that a replaced file keeps its mode, and a new one is
// private to its owner.
func TestSettingsKeepTheirMode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "settings.json")
	testkit.Must(t, openTest(t, path).replace([]byte("{}")))
	wantMode(t, path, 0o600)
	wantMode(t, filepath.Dir(path), 0o700)
	testkit.Must(t, os.Chmod(path, 0o664))
	testkit.Must(t, openTest(t, path).replace([]byte("{ }")))
	wantFile(t, path, "{ }")
	wantMode(t, path, 0o664)
}

// TestRemoveSkill checks that the removal of a file that an installation created removes
// no link's target or directory, and no file that changed since it was read.
func TestRemoveSkill(t *testing.T) {
	plan := func(path string) *fileChange {
		return &fileChange{File: path, settings: openTest(t, path)}
	}
	create := func() (dir, path string) {
		dir = t.TempDir()
		path = filepath.Join(dir, "memwatchd", "SKILL.md")
		testkit.Must(t, openTest(t, path).replace([]byte("skill")))
		return dir, path
	}
	_, path := create()
	if err := plan(path).writeFile(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(filepath.Dir(path)); err == nil {
		t.Error("the directory was kept")
	}

	_, path = create()
	change := plan(path)
	testkit.Must(t, os.WriteFile(path, []byte("edited"), 0o600))
	if err := change.writeFile(); err == nil || !strings.Contains(err.Error(), "changed during the operation") {
		t.Errorf("got %v", err)
	}
	wantFile(t, path, "edited")
	testkit.Must(t, os.Chmod(path, 0o400))
	if err := plan(path).writeFile(); err == nil || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("got %v", err)
	}
	wantFile(t, path, "edited")

	dir, path := create()
	link := filepath.Join(dir, "link.md")
	testkit.Must(t, os.Symlink(path, link))
	if err := plan(link).writeFile(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(link); err == nil {
		t.Error("the link was kept")
	}
	wantFile(t, path, "skill")

	link = filepath.Join(dir, "links", "memwatchd")
	testkit.Must(t, os.Mkdir(filepath.Dir(link), 0o700))
	testkit.Must(t, os.Symlink("../memwatchd", link))
	if err := plan(filepath.Join(link, "SKILL.md")).writeFile(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(link); err != nil {
		t.Error(err)
	}
}

func wantMode(t *testing.T, path string, want os.FileMode) {
	t.Helper()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
		t.Errorf("%s: %v, %v, want %v", path, info.Mode(), err, want)
	}
}

// TestSettingsOfAnotherSort checks that openSettings does not block on a pipe,
// and does not read a file beyond the size limit.
func TestSettingsOfAnotherSort(t *testing.T) {
	path := filepath.Join(t.TempDir(), "settings.json")
	testkit.Must(t, syscall.Mkfifo(path, 0o600))
	if _, err := openSettings(path); err == nil || !strings.Contains(err.Error(), "is not a regular file") {
		t.Errorf("got %v", err)
	}
	large := filepath.Join(t.TempDir(), "large.json")
	testkit.Must(t, os.WriteFile(large, nil, 0o600))
	testkit.Must(t, os.Truncate(large, agents.MaxSize+10))
	a, _ := agents.Named("gemini")
	if _, err := a.Install(agents.MCP, openTest(t, large).data, agents.Command{"memwatchd", "mcp"}); err == nil || !strings.Contains(err.Error(), "larger than 16 MiB") {
		t.Errorf("got %v", err)
	}
}
