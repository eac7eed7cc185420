package cli

import (
	"os"
	"os/exec"
	"path/filepath"
)

// InvokedPath returns the path of this program by the name under which it was
// called, for starting it later or from other programs. If that is a link, it
// stays a link, which may later lead to a newer version. Where there is no /proc, only
// the name is known.
func InvokedPath() (string, error) {
	path, err := exec.LookPath(os.Args[0])
	if err == nil {
		path, err = filepath.Abs(path)
	}
	self, selfErr := os.Executable()
	if err == nil && (selfErr != nil || sameFile(path, self)) {
		return path, nil
	}
	return self, selfErr
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}
