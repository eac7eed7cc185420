package ipc

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// Adopt listens on a Unix socket that a service manager has created and keeps
// open, so that clients can connect while no daemon runs. Adopt returns an
// error if f is another file, if the socket is not at the endpoint's path, if
// its mode or group admits more processes than the endpoint's, or if another
// user can replace it in its directory.
//
// The socket remains the property of its creator: closing the listener neither
// removes nor shuts down the socket, and f stays open, to be adopted again.
func (e Endpoint) Adopt(f *os.File) (*Listener, error) {
	l, err := e.adoptSocket(f)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: inherited socket: %w", e.Name(), err)
	}
	return l, nil
}

func (e Endpoint) adoptSocket(f *os.File) (*Listener, error) {
	path, err := SocketPath(f)
	if err != nil {
		return nil, err
	}
	if path != e.Path {
		return nil, fmt.Errorf("unexpected path %s", path)
	}
	if err := checkDir(filepath.Dir(path)); err != nil {
		return nil, err
	}
	if err := e.checkPermissions(); err != nil {
		return nil, err
	}
	l, err := net.FileListener(f)
	if err != nil {
		return nil, err
	}
	u := l.(*net.UnixListener)
	u.SetUnlinkOnClose(false)
	return &Listener{Endpoint: e, net: u}, nil
}

// checkPermissions returns an error if the mode or the group of the socket file admits
// processes that permit would exclude.
func (e Endpoint) checkPermissions() error {
	info, err := os.Lstat(e.Path)
	if err != nil {
		return err
	}
	if info.Mode().Type() != fs.ModeSocket {
		return errors.New("the file at this path is not a socket")
	}
	mode := info.Mode().Perm()
	if more := mode &^ e.mode(); more != 0 {
		return fmt.Errorf("mode %04o admits more users than the listener's mode %04o: set SocketMode= in the "+
			"socket unit", mode, e.mode())
	}
	if e.Group == "" || mode&0o070 == 0 {
		return nil
	}
	gid, err := groupID(e.Group)
	if err != nil {
		return err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Gid) != gid {
		return fmt.Errorf("group %d is not the listener's group %s: set SocketGroup= in the "+
			"socket unit", st.Gid, e.Group)
	}
	return nil
}

// SocketPath returns the absolute path of a listening Unix stream socket. If f
// is any other file, it returns an error.
func SocketPath(f *os.File) (path string, err error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return "", err
	}
	err = errors.Join(raw.Control(func(fd uintptr) { path, err = listenPath(int(fd)) }), err)
	if err != nil {
		return "", fmt.Errorf("%s: %w", f.Name(), err)
	}
	return path, nil
}

func listenPath(fd int) (string, error) {
	address, err := unix.Getsockname(fd)
	if err != nil {
		return "", fmt.Errorf("not a socket: %w", err)
	}
	local, ok := address.(*unix.SockaddrUnix)
	if !ok || !filepath.IsAbs(local.Name) {
		return "", errors.New("not a Unix socket with a path")
	}
	kind, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	if err != nil {
		return "", err
	}
	listening, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ACCEPTCONN)
	if err != nil {
		return "", err
	}
	if kind != unix.SOCK_STREAM || listening == 0 {
		return "", errors.New("not a listening stream socket")
	}
	return local.Name, nil
}
