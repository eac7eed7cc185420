package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// maxClientSize bounds a program that embeds the client, in bytes and with its
// symbols. A program that embedded the daemon had 30.8 MB.
const maxClientSize = 12_000_000

// TestClientSize checks the size of a program that only sends requests to a
// daemon.
func TestClientSize(t *testing.T) {
	program := filepath.Join(t.TempDir(), "program")
	cmd := exec.Command("go", "build", "-o", program, "./testdata/client")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	info, err := os.Stat(program)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > maxClientSize {
		t.Errorf("the program has %d bytes and may have %d", info.Size(), maxClientSize)
	}
	t.Logf("%d bytes", info.Size())
}
