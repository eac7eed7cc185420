package vault

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// A directory with a tag file is left out by programs that make backups.
const tagName = "CACHEDIR.TAG"

const cacheTag = "Signature: 8a477f597d28d172789f06886806bc55\n" +
	"# Everything here is made by memwatchd.\n"

// PrivateDir makes sure that there is a directory at path which only we can
// read and write, with a CACHEDIR.TAG, and creates it (and, with the same mode,
// what is missing above it) if there is none.
//
// A directory that is a symbolic link, belongs to somebody else, or could be
// written by others is refused, and so is one with such files directly in it:
// what others might have put there cannot be told apart from ours. What others
// could only read is closed to them.
func PrivateDir(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return fmt.Errorf("private directory: %w", err)
	}
	fd, err := retry(func() (int, error) {
		return unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	})
	if err == unix.ELOOP || err == unix.ENOTDIR {
		err = errors.New("is a symbolic link; name the directory itself")
	}
	if err != nil {
		return privateError(path, err)
	}
	dir := os.NewFile(uintptr(fd), path)
	defer dir.Close()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return privateError(path, err)
	}
	if err := private(&st); err != nil {
		return privateError(path, err)
	}
	if st.Mode&0o777 != 0o700 {
		if err := unix.Fchmod(fd, 0o700); err != nil {
			return privateError(path, err)
		}
	}
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return privateError(path, err)
	}
	for _, name := range names {
		if err := privateFile(fd, name); err != nil {
			return privateError(filepath.Join(path, name), err)
		}
	}
	if slices.Contains(names, tagName) {
		return nil
	}
	tag, err := retry(func() (int, error) {
		return unix.Openat(fd, tagName, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o600)
	})
	if err != nil {
		return privateError(filepath.Join(path, tagName), err)
	}
	f := os.NewFile(uintptr(tag), filepath.Join(path, tagName))
	_, err = f.WriteString(cacheTag)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("private directory: %w", err)
	}
	return nil
}

// CheckPrivateDir says why [PrivateDir] would refuse the directory at path, and
// changes nothing. One that is not there yet is not refused.
func CheckPrivateDir(path string) error {
	var st unix.Stat_t
	err := unix.Lstat(path, &st)
	switch {
	case err == unix.ENOENT:
		return nil
	case err == nil && st.Mode&unix.S_IFMT != unix.S_IFDIR:
		err = errors.New("is not a directory of its own (a symbolic link?)")
	case err == nil:
		err = private(&st)
	}
	if err != nil {
		return privateError(path, err)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return fmt.Errorf("private directory: %w", err)
	}
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		name := filepath.Join(path, e.Name())
		if err = unix.Lstat(name, &st); err == nil {
			err = private(&st)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return privateError(name, err)
		}
	}
	return nil
}

// privateFile checks a file in a private directory, and closes it to others.
// What is not a regular file is none of its business.
func privateFile(dir int, name string) error {
	var st unix.Stat_t
	switch err := fstatat(dir, name, &st); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return nil
	}
	if err := private(&st); err != nil {
		return err
	}
	if st.Mode&0o077 == 0 {
		return nil
	}
	// A link that has taken the file's place meanwhile could only be ours.
	err := unix.Fchmodat(dir, name, uint32(st.Mode)&0o700, 0)
	if err == unix.ENOENT {
		return nil
	}
	return err
}

// private says why what looks like st cannot be trusted to be ours alone.
func private(st *unix.Stat_t) error {
	if int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("belongs to user %d, not to user %d who runs this", st.Uid, os.Geteuid())
	}
	if st.Mode&0o022 != 0 {
		return fmt.Errorf("can be written by others (mode %04o); make sure that it is as you left it, then take that away (chmod go-w)", st.Mode&0o777)
	}
	return nil
}

func privateError(path string, err error) error {
	return fmt.Errorf("private directory: %w", &fs.PathError{Op: "open", Path: path, Err: err})
}
