//go:build unix && !linux

package vault

import "golang.org/x/sys/unix"

// pathOnly has no better equivalent than opening for reading.
const pathOnly = unix.O_RDONLY

// beneath opens path below root, following no symbolic link in any component.
func beneath(root int, path string, flags int) (int, error) {
	return stepwise(root, path, flags)
}
