package vault

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestState(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tasks.json")
	if _, err := ReadState(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before it is written: %v", err)
	}
	must(t, os.WriteFile(path+".new", []byte("what a crash left, longer than what is written"), 0o644))
	for _, text := range []string{"one", "", "two"} {
		must(t, WriteState(path, []byte(text)))
		if got, err := ReadState(path); err != nil || string(got) != text {
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
	if _, err := ReadState(path + ".fifo"); !errors.Is(err, ErrNotRegular) {
		t.Errorf("a pipe: %v", err)
	}
	if err := WriteState(filepath.Join(path, "x"), nil); err == nil {
		t.Error("below a file it cannot be written")
	}
}
