package cli

import (
	"os"
	"os/exec"
	"path/filepath"
)

// InvokedPath returns the path of this program by the name under which it was
// called, for starting it later or from other programs. If that is a link, it
// stays a link, which may later lead to a newer version.
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

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}
