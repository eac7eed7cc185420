//go:build !linux

package doctor

import (
	"context"
	"os"

	"golang.org/x/sys/unix"
)

// watchUse is nothing here: each watch is an open file, and counted as one.
func watchUse(context.Context) watches { return watches{} }

// openLimit is how many files a process of ours may have open: another's cannot
// be told, but is most likely the same.
func openLimit(pid int) (uint64, bool) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil || pid != os.Getpid() {
		return 0, false
	}
	return uint64(limit.Cur), true
}
