package ipc

import "golang.org/x/sys/unix"

// peerCredentials returns the peer's uid and pid from the kernel.
func peerCredentials(fd int) (peer, error) {
	c, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return peer{}, err
	}
	pid, err := unix.GetsockoptInt(fd, unix.SOL_LOCAL, unix.LOCAL_PEERPID)
	if err != nil {
		pid = 0 // useful but not required
	}
	return peer{uid: int(c.Uid), pid: pid}, nil
}
