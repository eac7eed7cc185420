//go:build unix && !linux

package vault

import "golang.org/x/sys/unix"

// pathOnly is O_RDONLY, because there is no better equivalent of O_PATH.
const pathOnly = unix.O_RDONLY
