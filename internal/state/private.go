package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
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
	if err := restrictAll(path); err != nil {
		return err
	}
	tag, err := os.OpenFile(filepath.Join(path, tagName), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err == nil {
		_, err = tag.WriteString(cacheTag)
		err = errors.Join(err, tag.Close())
	}
	if err != nil {
		return fmt.Errorf("private directory: %w", err)
	}
	return nil
}

// restrictAll checks a directory and its regular files, and removes the
// permissions of other users.
func restrictAll(path string) error {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
	case info.Mode()&fs.ModeSymlink != 0:
		err = errors.New("symbolic link; use the path of the directory itself")
	case !info.IsDir():
		err = errors.New("not a directory")
	default:
		err = restrict(path, info)
	}
	if err != nil {
		return privateError(path, err)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return privateError(path, err)
	}
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		name := filepath.Join(path, e.Name())
		info, err := e.Info()
		if err == nil {
			err = restrict(name, info)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return privateError(name, err)
		}
	}
	return nil
}

// restrict removes the permissions of other users, unless one of them may have
// written the file.
func restrict(path string, info fs.FileInfo) error {
	mode := info.Mode().Perm()
	if st := info.Sys().(*syscall.Stat_t); int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("belongs to user %d, but memwatchd runs as user %d", st.Uid, os.Geteuid())
	}
	if mode&0o022 != 0 {
		return fmt.Errorf("writable by other users (mode %04o); check the content, then run `chmod go-w`", mode)
	}
	if private := mode & 0o700; mode != private {
		return os.Chmod(path, private)
	}
	return nil
}

func privateError(path string, err error) error {
	if _, done := errors.AsType[*fs.PathError](err); !done {
		err = &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return fmt.Errorf("private directory: %w", err)
}
