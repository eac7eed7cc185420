// Package peer identifies the process at the other end of a Unix socket.
package peer

import (
	"cmp"
	"errors"
	"net"
)

// Of returns the user and the process at the other end of a connection, as the kernel
// reports them. The process is 0 if the kernel does not report it.
func Of(c net.Conn) (uid, pid int, err error) {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return 0, 0, errors.New("not a Unix socket")
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return 0, 0, err
	}
	failed := raw.Control(func(fd uintptr) { uid, pid, err = credentials(int(fd)) })
	return uid, pid, cmp.Or(failed, err)
}
