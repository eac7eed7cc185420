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

// Backup programs skip a directory that contains this tag file.
const tagName = "CACHEDIR.TAG"

const cacheTag = "Signature: 8a477f597d28d172789f06886806bc55\n" +
	"# This directory was created by memwatchd.\n"

// PrivateDir ensures that the directory at path exists, is readable and
// writable by this user only, and contains a CACHEDIR.TAG. It creates a missing
// directory and its missing parents with the same mode.
//
// PrivateDir refuses a directory that is a symbolic link, belongs to another
// user, or is writable by others, or that directly contains such files: foreign
// content could not be distinguished from the daemon's. It removes the
// permissions of other users to read.
func PrivateDir(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return fmt.Errorf("private directory: %w", err)
	}
	fd, err := openAt(unix.AT_FDCWD, path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW)
	if err == unix.ELOOP || err == unix.ENOTDIR {
		err = errors.New("symbolic link; use the path of the directory itself")
	}
	if err != nil {
		return privateError(path, err)
	}
	dir := os.NewFile(uintptr(fd), path)
	defer dir.Close()
	var st unix.Stat_t
	err = unix.Fstat(fd, &st)
	if err == nil {
		err = checkPrivate(&st)
	}
	if err == nil && st.Mode&0o777 != 0o700 {
		err = unix.Fchmod(fd, 0o700)
	}
	if err != nil {
		return privateError(path, err)
	}
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return privateError(path, err)
	}
	for _, name := range names {
		if err := restrictFile(fd, name); err != nil {
			return privateError(filepath.Join(path, name), err)
		}
	}
	if slices.Contains(names, tagName) {
		return nil
	}
	tag, err := openAt(fd, tagName, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL)
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

// restrictFile checks a file in a private directory and removes the permissions
// of other users. It ignores everything but regular files.
func restrictFile(dir int, name string) error {
	var st unix.Stat_t
	switch err := fstatat(dir, name, &st); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return nil
	}
	if err := checkPrivate(&st); err != nil {
		return err
	}
	if st.Mode&0o077 == 0 {
		return nil
	}
	// A link that has replaced the file meanwhile could only be the user's own.
	err := unix.Fchmodat(dir, name, uint32(st.Mode)&0o700, 0)
	if err == unix.ENOENT {
		return nil
	}
	return err
}

// checkPrivate returns why a file with the attributes st may have been written by
// another user, or nil.
func checkPrivate(st *unix.Stat_t) error {
	if int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("belongs to user %d, but memwatchd runs as user %d", st.Uid, os.Geteuid())
	}
	if st.Mode&0o022 != 0 {
		return fmt.Errorf("writable by other users (mode %04o); check the content, then run `chmod go-w`", st.Mode&0o777)
	}
	return nil
}

func privateError(path string, err error) error {
	return fmt.Errorf("private directory: %w", &fs.PathError{Op: "open", Path: path, Err: err})
}
