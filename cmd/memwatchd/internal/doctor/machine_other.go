//go:build !linux

package doctor

import (
	"os"

	"golang.org/x/sys/unix"
)

// readWatches returns no limits: here each watch is an open file.
func readWatches() watches { return watches{} }

// openLimit returns the number of files that this process can have open. It returns
// false for other processes.
func openLimit(pid int) (uint64, bool) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil || pid != os.Getpid() {
		return 0, false
	}
	return uint64(limit.Cur), true
}

// openPorts returns none: here no process can be inspected.
func openPorts(int) []string { return nil }
