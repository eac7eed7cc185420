package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

// needLeases skips a test if the file system has no leases. Without them a file
// cannot be locked while it is changed, and a save at that instant may be kept
// under another name.
func needLeases(t *testing.T, dir string) {
	t.Helper()
	name := filepath.Join(dir, "probe")
	testkit.Must(t, os.WriteFile(name, nil, 0o600))
	defer os.Remove(name)
	f, err := os.Open(name)
	testkit.Must(t, err)
	defer f.Close()
	if _, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK); err != nil {
		t.Skipf("no leases here: %v", err)
	}
}
