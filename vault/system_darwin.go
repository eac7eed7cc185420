package vault

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// pathOnly is O_RDONLY, because there is no better equivalent of O_PATH.
const pathOnly = unix.O_RDONLY

// exchange exchanges two names in a directory atomically.
func exchange(dir int, a, b string) error {
	return unix.RenameatxNp(dir, a, dir, b, unix.RENAME_SWAP)
}

// renameNew renames a file and fails if the new name exists.
func renameNew(fromDir int, from string, toDir int, to string) error {
	return unix.RenameatxNp(fromDir, from, toDir, to, unix.RENAME_EXCL)
}

// ownAttribute reports whether only the system can set an extended attribute,
// such as the one that records the program that created a file.
func ownAttribute(name string) bool { return name == "com.apple.provenance" }

// A lease blocks writers on Linux only.
type lease struct{}

func takeLease(int, time.Duration) (*lease, error) { return nil, errors.ErrUnsupported }

func (*lease) release() bool { return false }

func (*lease) held() bool { return true }

func describeFileSystem(st *unix.Statfs_t) (fs FileSystem) {
	fs.Name = unix.ByteSliceToString(st.Fstypename[:])
	if st.Flags&unix.MNT_LOCAL == 0 {
		fs.Remote = "on a network file system without events for remote changes"
	}
	return fs
}
