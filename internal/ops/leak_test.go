//go:build unix

package ops

import (
	"os"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/memwatchd/memwatchd/ipc/mcp"
)

// TestMain checks that the tests leave no goroutine behind. Bridges wait for the
// permitted operations also on a busy machine. Files are in main memory where there is
// room: no test needs a disk, which takes most of the time.
func TestMain(m *testing.M) {
	const dir, room = "/dev/shm", 1 << 30
	var disk syscall.Statfs_t
	if err := syscall.Statfs(dir, &disk); err == nil && disk.Bavail > room/uint64(disk.Bsize) {
		os.Setenv("TMPDIR", dir)
	}
	mcp.PermittedTimeout, mcp.LastAnswersTimeout = time.Minute, time.Minute
	goleak.VerifyTestMain(m, goleak.IgnoreCurrent())
}
