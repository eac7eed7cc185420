package config

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// Existing is a path if something is there.
func Existing(path string) string {
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// OpenFile opens a file to be read, and nothing else that may be in its place: of
// a pipe or a device nobody knows when it ends, and opening one may wait.
func OpenFile(path string, flags int) (*os.File, fs.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|flags, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a file", path)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}
