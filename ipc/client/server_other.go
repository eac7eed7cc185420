//go:build unix && !linux

package client

import (
	"net"
	"os"
	"syscall"
)

// serverOf returns the owner of the socket file, which only its server and root
// can have created. The process is 0: it is unknown.
func serverOf(conn *net.UnixConn) (uid, pid int, err error) {
	info, err := os.Lstat(conn.RemoteAddr().String())
	if err != nil {
		return 0, 0, err
	}
	return int(info.Sys().(*syscall.Stat_t).Uid), 0, nil
}
