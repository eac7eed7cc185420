package setup

import (
	"io"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/cli"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
)

// TestLaunchdIsPrintedOnly checks that the errors of the other subcommands name
// the command that prints the agent.
func TestLaunchdIsPrintedOnly(t *testing.T) {
	s := &serviceCommand{launchd: true}
	for _, name := range []string{"install", "uninstall", "status"} {
		err := s.checkManager(name)
		if err == nil || !strings.Contains(err.Error(), "`memwatchd service print`") {
			t.Errorf("service %s: got %v", name, err)
		}
	}
	if err := s.checkManager("print"); err != nil {
		t.Errorf("service print: %v", err)
	}
}

// TestConfigOfSystemService checks that the account of a system service can read
// the configuration, whatever the umask of root is.
func TestConfigOfSystemService(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o077))
	c := config.Default()
	c.File = filepath.Join(t.TempDir(), "memwatchd", "memwatchd.yaml")
	s := &serviceCommand{g: &cli.Globals{Stdout: io.Discard}, system: true}
	if err := s.writeConfig(c); err != nil {
		t.Fatal(err)
	}
	wantMode(t, filepath.Dir(c.File), 0o755)
	wantMode(t, c.File, 0o644)
}
