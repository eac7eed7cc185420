package config

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// ExistingPath returns path if it exists, else "".
func ExistingPath(path string) string {
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// OpenFile opens a regular file for reading and rejects everything else: a pipe
// or a device may never end, and opening one may block. Hence O_NONBLOCK.
func OpenFile(path string, flags int) (*os.File, fs.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|flags, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", path)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}
