//go:build unix && !linux && !darwin

package vault

import (
	"errors"
	"fmt"
)

// FileSystemOf returns an error, because this system is not supported.
func FileSystemOf(dir string) (FileSystem, error) {
	return FileSystem{}, fmt.Errorf("file system of %s: %w", dir, errors.ErrUnsupported)
}
