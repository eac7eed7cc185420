package setup

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// These functions return paths for starting this program later, or from other
// programs. They prefer the name by which it was called to the path of the file
// itself, because an update may replace the file.

// InvokedPath returns the path of this program by the name under which it was
// called. If that is a link, it stays a link, which may later lead to a newer
// version.
func InvokedPath() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	if path, err := exec.LookPath(os.Args[0]); err == nil {
		abs, err := filepath.Abs(path)
		if err == nil && sameFile(abs, self) {
			return abs, nil
		}
	}
	return self, nil
}

// programCommand returns the command that starts this program in a shell: "memwatchd"
// if PATH leads to this program, or else its path.
func programCommand() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find the path of this program (set --program): %w", err)
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
