package setup

import (
	"strings"
	"testing"
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
