//go:build unix && !linux

package client

import (
	"net"
	"os"
	"syscall"
)

// serverUID returns the owner of the socket file, which only its server and
// root can have created.
func serverUID(conn *net.UnixConn) (uid int, err error) {
	info, err := os.Lstat(conn.RemoteAddr().String())
	if err != nil {
		return 0, err
	}
	return int(info.Sys().(*syscall.Stat_t).Uid), nil
}
