package vault

import "golang.org/x/sys/unix"

// pathOnly opens a directory as a starting point, which needs no permission to
// list it.
const pathOnly = unix.O_PATH
