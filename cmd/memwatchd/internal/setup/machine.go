package setup

import (
	"os"
	"os/exec"
	"path/filepath"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/agents"
)

// ThisMachine returns the facts needed to find agents: the user's home, and the
// working directory as the directory of a project. It returns an error if
// either is unknown.
func ThisMachine() (agents.Machine, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return agents.Machine{}, err
	}
	dir, err := os.Getwd()
	if err != nil {
		return agents.Machine{}, err
	}
	return agents.Machine{
		Home: home, Dir: dir, Getenv: os.Getenv, Read: readSettings, LookPath: exec.LookPath,
		Exists: func(path string) bool { _, err := os.Stat(path); return err == nil },
	}, nil
}

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
