//go:build unix && !linux && !darwin

package vault

import (
	"errors"
	"fmt"
)

// FileSystemOf is not supported on this system.
func FileSystemOf(dir string) (FileSystem, error) {
	return FileSystem{}, fmt.Errorf("file system of %s: %w", dir, errors.ErrUnsupported)
}
