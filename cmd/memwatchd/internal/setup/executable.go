package setup

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// How this program is started again, by others and later: what it is called
// outlives what it is now, since an update puts another file in its place.

// invoked is the path of this program, by the name under which it was called: a
// link may lead to a newer one some day.
func invoked() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	if path, err := exec.LookPath(os.Args[0]); err == nil {
		if path, err = filepath.Abs(path); err == nil && sameFile(path, self) {
			return path, nil
		}
	}
	return self, nil
}

// callable is what a person types to start this program: its name alone, if that
// is found and is this program.
func callable() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("where this program is cannot be told (say it with --program): %w", err)
	}
	if found, err := exec.LookPath("memwatchd"); err == nil && sameFile(found, path) {
		return "memwatchd", nil
	}
	return path, nil
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}
