//go:build unix && !linux && !darwin

package vault

import "golang.org/x/sys/unix"

// exchange is not supported on this system.
func exchange(int, string, string) error { return unix.ENOSYS }

// renameNew is not supported on this system.
func renameNew(int, string, int, string) error { return unix.ENOSYS }

// copyAttributes is not supported on this system.
func copyAttributes(int, int) error { return unix.ENOSYS }
