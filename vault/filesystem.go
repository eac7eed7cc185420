package vault

import (
	"errors"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// An Ability is a file system's support for an operation, as far as its name
// determines it.
type Ability int

// The abilities.
const (
	MaybeAble Ability = iota
	Able
	Unable
)

// A FileSystem describes the file system of a directory.
type FileSystem struct {
	Name     string  // such as ext4; its number if it has no known name
	Exchange Ability // support for the atomic exchange of two files, which writing requires
	Remote   string  // why events do not report the changes of other machines; empty if they do
	Free     uint64  // bytes available to this user
	Total    uint64  // bytes
	Files    uint64  // available inodes; the largest number if unlimited
}

// TryExchange tests whether the file system of the directory dir can exchange
// two files atomically, and returns nil if it can. It creates two empty files
// with names of drafts, which are not memory and which [Writer.Repair] would
// remove, and removes them again. If the directory cannot be opened, the error
// is an [ErrRoot].
func TryExchange(dir string) (err error) {
	fd, err := openAt(unix.AT_FDCWD, dir, pathOnly|unix.O_DIRECTORY)
	if err != nil {
		return rootError(dir, err)
	}
	defer unix.Close(fd)
	a, b := newStagingName(), newStagingName()
	for _, name := range []string{a, b} {
		file, err := openAt(fd, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW)
		if err != nil {
			return pathError("test atomic exchange in", filepath.Join(dir, name), err)
		}
		defer func() { err = errors.Join(err, unix.Close(file), unix.Unlinkat(fd, name, 0)) }()
	}
	return pathError("test atomic exchange in", dir, exchangeError(exchange(fd, a, b)))
}
