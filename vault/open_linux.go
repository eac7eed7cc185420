package vault

import (
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// pathOnly opens a directory as a starting point, which needs no permission to
// list it.
const pathOnly = unix.O_PATH

// noOpenat2 is set when the kernel (before 5.6) or a sandbox reports that
// openat2 is missing.
var noOpenat2 atomic.Bool

// beneath opens path below root. It follows no symbolic link in any component.
func beneath(root int, path string, flags int) (int, error) {
	if noOpenat2.Load() {
		return stepwise(root, path, flags)
	}
	how := unix.OpenHow{
		// With O_NOFOLLOW, the kernel would refuse a link at the end as "not a
		// directory".
		Flags:   uint64(flags &^ unix.O_NOFOLLOW),
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	}
	fd, err := retry(func() (int, error) { return unix.Openat2(root, path, &how) })
	switch err {
	case unix.ENOSYS, unix.EPERM:
		// Sandboxes return EPERM for unknown calls, but some files do too.
		if err == unix.ENOSYS {
			noOpenat2.Store(true)
		}
		return stepwise(root, path, flags)
	case unix.EAGAIN:
		// The kernel could not exclude a race with a rename.
		return stepwise(root, path, flags)
	}
	return fd, err
}
