package setup

import (
	"os"
	"os/exec"

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
