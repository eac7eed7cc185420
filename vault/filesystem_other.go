//go:build unix && !linux && !darwin

package vault

import (
	"errors"
	"fmt"
)

// FileSystemOf would tell what the directory dir lies on.
func FileSystemOf(dir string) (FileSystem, error) {
	return FileSystem{}, fmt.Errorf("file system of %s: %w", dir, errors.ErrUnsupported)
}
