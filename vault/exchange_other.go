//go:build unix && !linux && !darwin

package vault

import "golang.org/x/sys/unix"

// exchange would let two names in a directory change places, in one step.
func exchange(int, string, string) error { return unix.ENOSYS }

// renameNew would rename, unless there is something of the new name.
func renameNew(int, string, int, string) error { return unix.ENOSYS }

// copyAttributes would copy extended attributes.
func copyAttributes(int, int) error { return unix.ENOSYS }
