package ipc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/internal/peer"
)

// An Endpoint is the address of a listener, the clients that it admits, and the
// scope to which it restricts them.
type Endpoint struct {
	Path      string      // of a Unix socket
	Mode      fs.FileMode // of the socket; zero is 0600
	Group     string      // of the socket; if set, the file mode alone decides who may connect
	AllowUIDs []int       // admitted besides the daemon's own uid and root

	Address string // of a TCP listener instead: a loopback address with a port
	Token   string // required from clients

	Fixed *api.Fixed // nil: no fixed scope, for the owner's own programs
	Rate  float64    // requests a second; zero is no limit
}

// Name returns the address or the path of the endpoint, for messages and
// metrics.
func (e Endpoint) Name() string { return cmp.Or(e.Address, e.Path) }

// maxSocketPath is the length of the longest path of a socket, in bytes: 107 on
// Linux, 103 on macOS. bind(2) rejects longer paths.
const maxSocketPath = len(unix.RawSockaddrUnix{}.Path) - 1

// A Listener is an open endpoint.
type Listener struct {
	Endpoint
	net  deadlineListener
	file fs.FileInfo // of the created socket; nil for TCP
}

type deadlineListener interface {
	net.Listener
	SetDeadline(time.Time) error
}

// Listen starts to listen. It replaces a socket file on which no process
// answers. It returns nil and an error if a process answers there, if the
// endpoint is invalid (see [Endpoint.Check]), or if the system refuses.
func (e Endpoint) Listen() (*Listener, error) {
	if e.Address != "" {
		return e.listenTCP()
	}
	l, err := e.listenUnix()
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", e.Path, err)
	}
	return l, nil
}

// Check returns the error that Listen would return, as far as it can be
// detected without changes, or nil. Missing files and directories are not
// errors, since Listen creates them.
func (e Endpoint) Check() error {
	var err error
	if e.Address != "" {
		err = e.checkAddress()
	} else {
		err = cmp.Or(e.checkPath(), checkDir(filepath.Dir(e.Path)))
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return fmt.Errorf("listen on %s: %w", e.Name(), err)
}

func (e Endpoint) checkAddress() error {
	host, _, err := net.SplitHostPort(e.Address)
	if err != nil {
		return err
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return errors.New("not a loopback address")
	}
	if len(e.Token) < 16 {
		return errors.New("a TCP listener needs a token of at least 16 characters")
	}
	return nil
}

func (e Endpoint) checkPath() error {
	if len(e.Path) > maxSocketPath {
		return fmt.Errorf("socket path has %d bytes, more than %d", len(e.Path), maxSocketPath)
	}
	if !filepath.IsAbs(e.Path) {
		return errors.New("socket path is not absolute")
	}
	return nil
}

func (e Endpoint) listenTCP() (*Listener, error) {
	if err := e.checkAddress(); err != nil {
		return nil, fmt.Errorf("listen on %s: %w", e.Address, err)
	}
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", e.Address)
	if err != nil {
		return nil, err
	}
	tcp := l.(*net.TCPListener)
	if !tcp.Addr().(*net.TCPAddr).IP.IsLoopback() { // regardless of the address that localhost resolves to
		return nil, errors.Join(fmt.Errorf("listen on %s: not a loopback address", e.Address), l.Close())
	}
	return &Listener{Endpoint: e, net: tcp}, nil
}

// listenUnix listens on the socket, which replaces one that no process listens on.
func (e Endpoint) listenUnix() (*Listener, error) {
	if err := e.checkPath(); err != nil {
		return nil, err
	}
	dir := filepath.Dir(e.Path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	// The lock serializes two daemons that start at the same time: otherwise
	// one could find the other's socket bound but not yet listening, and
	// replace it.
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	if err := checkDir(dir); err != nil {
		return nil, err
	}
	if err := unix.Flock(int(d.Fd()), unix.LOCK_EX); err != nil {
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	if err := removeStale(e.Path); err != nil {
		return nil, err
	}
	l, err := e.bindSocket()
	if err != nil {
		return nil, err
	}
	file, err := os.Lstat(e.Path)
	if err != nil {
		l.Close()
		return nil, err
	}
	return &Listener{Endpoint: e, net: l, file: file}, nil
}

// checkDir rejects a directory in which another user could replace the socket.
// The directory must be writable by this user only, and no directory above it
// may be writable by everyone.
func checkDir(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a directory (symbolic links are not allowed)", dir)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	const group, others = 0o020, 0o002
	err = checkUnshared(real, group|others)
	for err == nil && real != filepath.Dir(real) {
		real = filepath.Dir(real)
		err = checkUnshared(real, others)
	}
	return err
}

// checkUnshared returns an error unless a directory belongs to this user or root and
// is not writable for the classes in writers. A directory with the sticky bit
// may be writable, because its users cannot replace each other's files.
func checkUnshared(dir string, writers fs.FileMode) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() && st.Uid != 0 {
		return fmt.Errorf("directory %s belongs to uid %d", dir, st.Uid)
	}
	if info.Mode().Perm()&writers != 0 && info.Mode()&fs.ModeSticky == 0 {
		return fmt.Errorf("other users can write to the directory %s: run `chmod go-w %s`", dir, dir)
	}
	return nil
}

// removeStale removes a socket on which no process answers.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() != fs.ModeSocket {
		return errors.New("a file that is not a socket exists at this path")
	}
	c, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		defer c.Close()
		if _, pid, err := peer.Of(c); err == nil && pid != 0 {
			return fmt.Errorf("process %d already listens on this socket", pid)
		}
		return errors.New("another process already listens on this socket")
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("the existing socket may be in use: %w", err)
	}
	return os.Remove(path)
}

// bindSocket creates the socket. It sets the mode between bind and listen, so that at
// no moment an excluded process can connect.
func (e Endpoint) bindSocket() (*net.UnixListener, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return nil, fmt.Errorf("socket: %w", err)
	}
	unix.CloseOnExec(fd)
	f := os.NewFile(uintptr(fd), e.Path)
	defer f.Close()
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: e.Path}); err != nil {
		return nil, fmt.Errorf("bind: %w", err)
	}
	err = e.setPermissions()
	if err == nil {
		err = unix.Listen(fd, unix.SOMAXCONN)
	}
	var l net.Listener
	if err == nil {
		l, err = net.FileListener(f)
	}
	if err != nil {
		return nil, errors.Join(err, os.Remove(e.Path))
	}
	u := l.(*net.UnixListener)
	u.SetUnlinkOnClose(false) // by then the path may belong to another daemon
	return u, nil
}

// setPermissions sets the group and the mode of the socket file.
func (e Endpoint) setPermissions() error {
	if e.Group != "" {
		gid, err := groupID(e.Group)
		if err != nil {
			return err
		}
		if err := os.Lchown(e.Path, -1, gid); err != nil {
			return err
		}
	}
	return os.Chmod(e.Path, e.mode())
}

func (e Endpoint) mode() fs.FileMode { return cmp.Or(e.Mode, 0o600) }

func groupID(name string) (int, error) {
	if gid, err := strconv.Atoi(name); err == nil {
		return gid, nil
	}
	g, err := user.LookupGroup(name)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(g.Gid)
}

// Close stops listening and removes the socket file if it is still the one that
// Listen created. It removes the file before it closes the socket: while the
// socket is open, no other daemon replaces the file and no other file gets its
// inode number. The error is that of the removal or of the socket; the listener
// is closed in either case.
func (l *Listener) Close() error {
	var err error
	if file, e := os.Lstat(l.Path); e == nil && l.file != nil && os.SameFile(file, l.file) {
		err = os.Remove(l.Path)
	}
	return errors.Join(err, l.net.Close())
}

// checkPeer checks the credentials that the kernel reports for the peer. It is
// called once per connection.
func (e Endpoint) checkPeer(c net.Conn) error {
	if e.Address != "" || e.Group != "" {
		return nil // the token or the file mode decides
	}
	uid, _, err := peer.Of(c)
	if err != nil {
		return api.Errorf(api.Forbidden, "cannot identify the caller: %v", err)
	}
	if uid == 0 || uid == os.Geteuid() || slices.Contains(e.AllowUIDs, uid) {
		return nil
	}
	return api.Errorf(api.Forbidden, "uid %d is not allowed to use this socket", uid).
		WithHint("add the uid to allow_uids of the listener")
}
