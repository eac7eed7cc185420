package vault

import (
	"errors"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// An Ability is whether a file system can do something, as far as its name tells.
type Ability int

// Whether it can, from what is known least to what is certain.
const (
	MaybeAble Ability = iota
	Able
	Unable
)

// A FileSystem is what a directory lies on.
type FileSystem struct {
	Name     string  // such as ext4; its number if it has no name here
	Exchange Ability // whether two files change places there in one step, without which nothing is written
	Free     uint64  // bytes that are left for us
	Total    uint64  // bytes
	Files    uint64  // how many more files there may be; the largest number if that is not limited
}

// TryExchange finds out whether two files in the directory dir can change places
// in one step: it makes two empty ones, with names of drafts, which nobody reads
// and [Writer.Repair] would clear away, and removes them again.
func TryExchange(dir string) (err error) {
	fd, err := retry(func() (int, error) {
		return unix.Open(dir, pathOnly|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return rootError(dir, err)
	}
	defer unix.Close(fd)
	a, b := draftName(), draftName()
	for _, name := range []string{a, b} {
		file, err := retry(func() (int, error) {
			return unix.Openat(fd, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
		})
		if err != nil {
			return pathError("try to write", filepath.Join(dir, name), err)
		}
		defer func() { err = errors.Join(err, unix.Close(file), unix.Unlinkat(fd, name, 0)) }()
	}
	return pathError("try to write", dir, supported(exchange(fd, a, b)))
}
