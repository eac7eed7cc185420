package setup

import (
	"os"
	"os/exec"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/agents"
)

// ThisMachine returns the facts needed to find agents. It returns an error if the user's
// home is unknown.
func ThisMachine() (agents.Machine, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return agents.Machine{}, err
	}
	return agents.Machine{
		Home: home, Getenv: os.Getenv, Read: readSettings, LookPath: exec.LookPath,
		Exists: func(path string) bool { _, err := os.Stat(path); return err == nil },
	}, nil
}
