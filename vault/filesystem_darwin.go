package vault

import (
	"strings"

	"golang.org/x/sys/unix"
)

// FileSystemOf describes the file system of the directory dir, or returns the
// error of statfs(2). It may block on a disk that does not respond.
func FileSystemOf(dir string) (FileSystem, error) {
	var st unix.Statfs_t
	if _, err := retry(func() (int, error) { return 0, unix.Statfs(dir, &st) }); err != nil {
		return FileSystem{}, pathError("statfs", dir, err)
	}
	name, _, _ := strings.Cut(string(st.Fstypename[:]), "\x00")
	fs := FileSystem{Name: name}
	if st.Flags&unix.MNT_LOCAL == 0 {
		fs.Remote = "on a network file system without events for remote changes"
	}
	return fs, nil
}
