package ipc

import "golang.org/x/sys/unix"

// credentials asks the kernel who connected.
func credentials(fd int) (peer, error) {
	c, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return peer{}, err
	}
	pid, err := unix.GetsockoptInt(fd, unix.SOL_LOCAL, unix.LOCAL_PEERPID)
	if err != nil {
		pid = 0 // good to know, not needed
	}
	return peer{uid: int(c.Uid), pid: pid}, nil
}
