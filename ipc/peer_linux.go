package ipc

import "golang.org/x/sys/unix"

// peerCredentials returns the peer's uid and pid from the kernel.
func peerCredentials(fd int) (peer, error) {
	c, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return peer{}, err
	}
	return peer{uid: int(c.Uid), pid: int(c.Pid)}, nil
}
