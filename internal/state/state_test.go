package state

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestState(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tasks.json")
	if _, err := Read(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before it is written: %v", err)
	}
	must(t, os.WriteFile(path+".new", []byte("what a crash left, longer than what is written"), 0o644))
	for _, text := range []string{"one", "", "two"} {
		must(t, Write(path, []byte(text)))
		if got, err := Read(path); err != nil || string(got) != text {
			t.Errorf("%q, %v, want %q", got, err, text)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if names, _ := os.ReadDir(filepath.Dir(path)); len(names) != 1 {
		t.Errorf("left beside it: %v", names)
	}
	must(t, unix.Mkfifo(path+".fifo", 0o600))
	if _, err := Read(path + ".fifo"); !errors.Is(err, errNotRegular) {
		t.Errorf("a pipe: %v", err)
	}
	if err := Write(filepath.Join(path, "x"), nil); err == nil {
		t.Error("below a file it cannot be written")
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestLoad checks that a file that cannot be decoded, or has another version, is
// kept under another name.
func TestLoad(t *testing.T) {
	type value struct{ Version, Count int }
	path := filepath.Join(t.TempDir(), "uses.json")
	for text, want := range map[string]string{
		`{"version":2,"count":3}`: "",
		`{"version":3}`:           "version 3 instead of 2",
		`{}`:                      "version 0 instead of 2",
		`{"version":2,"count":`:   "unexpected end of JSON input",
	} {
		must(t, Write(path, []byte(text)))
		var v value
		switch err := Load(path, 2, &v); {
		case want == "":
			if err != nil || v.Count != 3 {
				t.Errorf("%s: %v, %v", text, v, err)
			}
		case err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "uses.json.unused"):
			t.Errorf("%s: %v", text, err)
		default:
			if kept, err := os.ReadFile(path + ".unused"); err != nil || string(kept) != text {
				t.Errorf("%s: kept %q, %v", text, kept, err)
			}
			if err := Load(path, 2, &v); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: again: %v", text, err)
			}
		}
	}
}

// TestReplace checks that a file is not replaced if the check fails.
func TestReplace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "settings.json")
	must(t, Replace(path, 0o644, []byte("one"), nil))
	failed := errors.New("changed")
	if err := Replace(path, 0o644, []byte("two"), func(*os.File) error { return failed }); !errors.Is(err, failed) {
		t.Errorf("error is %v", err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "one" {
		t.Errorf("text is %q, %v", text, err)
	}
	if names, _ := os.ReadDir(filepath.Dir(path)); len(names) != 1 {
		t.Errorf("left beside it: %v", names)
	}
}

// TestGlob checks that characters of patterns in the name of a directory stand for
// themselves.
func TestGlob(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a[b*")
	if names, err := Glob(dir, "*"); err != nil || len(names) > 0 {
		t.Errorf("missing directory: %q, %v", names, err)
	}
	must(t, os.Mkdir(dir, 0o700))
	want := filepath.Join(dir, "x.zap")
	must(t, os.WriteFile(want, nil, 0o600))
	if names, err := Glob(dir, "*.zap"); err != nil || len(names) != 1 || names[0] != want {
		t.Errorf("%q, %v", names, err)
	}
}
