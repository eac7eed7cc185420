package vault

import (
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// pathOnly opens a directory as a place to start from, which needs no
// permission to list it.
const pathOnly = unix.O_PATH

// noOpenat2 is set once the kernel (before 5.6) or a sandbox has said that it
// does not have openat2.
var noOpenat2 atomic.Bool

// beneath opens path below root, following no symbolic link in any component.
func beneath(root int, path string, flags int) (int, error) {
	if noOpenat2.Load() {
		return stepwise(root, path, flags)
	}
	how := unix.OpenHow{
		// O_NOFOLLOW would have a link at the end refused as "not a directory".
		Flags:   uint64(flags &^ unix.O_NOFOLLOW),
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	}
	fd, err := retry(func() (int, error) { return unix.Openat2(root, path, &how) })
	switch err {
	case unix.ENOSYS, unix.EPERM:
		// Sandboxes answer EPERM for calls they do not know; so do some files.
		if err == unix.ENOSYS {
			noOpenat2.Store(true)
		}
		return stepwise(root, path, flags)
	case unix.EAGAIN:
		// The kernel could not rule out a race with a rename.
		return stepwise(root, path, flags)
	}
	return fd, err
}
