package ipc

import (
	"errors"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// newSocketFile creates a socket as a service manager does, and returns the file
// that the daemon inherits.
func newSocketFile(t *testing.T, path string, mode fs.FileMode) *os.File {
	t.Helper()
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	f, err := l.(*net.UnixListener).File()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// TestAdoptedSocketStays checks that an adopted socket survives its listener
// and can be adopted again.
func TestAdoptedSocketStays(t *testing.T) {
	e := Endpoint{Path: filepath.Join(socketDir(t), "s")}
	f := newSocketFile(t, e.Path, 0o600)
	for range 2 {
		l, err := e.Adopt(f)
		if err != nil {
			t.Fatal(err)
		}
		server := &http.Server{Handler: http.NotFoundHandler()}
		ended := make(chan error, 1)
		go func() { ended <- server.Serve(l.net) }()
		if err := l.Ping(t.Context()); err != nil {
			t.Error(err)
		}
		server.Close()
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
		if err := l.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
		if _, err := os.Lstat(e.Path); err != nil {
			t.Fatalf("the socket is gone with the listener: %v", err)
		}
	}
}

// TestAdoptRefuses checks that Adopt rejects a socket that Listen would not
// have created.
func TestAdoptRefuses(t *testing.T) {
	for _, c := range []struct {
		name, want string
		spoil      func(t *testing.T, e *Endpoint, f *os.File) *os.File
	}{
		{"another path", "unexpected path /", func(t *testing.T, e *Endpoint, f *os.File) *os.File {
			e.Path += "2"
			return f
		}},
		{"open to more", "mode 0666 admits more users than the listener's mode 0600", func(t *testing.T, e *Endpoint, f *os.File) *os.File {
			chmod(t, e.Path, 0o666)
			return f
		}},
		{"another group", "not the listener's group " + strconv.Itoa(os.Getegid()+1), func(t *testing.T, e *Endpoint, f *os.File) *os.File {
			chmod(t, e.Path, 0o660)
			e.Mode, e.Group = 0o660, strconv.Itoa(os.Getegid()+1)
			return f
		}},
		{"a group that does not exist", "no-such-group", func(t *testing.T, e *Endpoint, f *os.File) *os.File {
			chmod(t, e.Path, 0o660)
			e.Mode, e.Group = 0o660, "no-such-group"
			return f
		}},
		{"in a directory of others", "other users can write", func(t *testing.T, e *Endpoint, f *os.File) *os.File {
			chmod(t, filepath.Dir(e.Path), 0o777)
			return f
		}},
		{"gone", "no such file", func(t *testing.T, e *Endpoint, f *os.File) *os.File {
			os.Remove(e.Path)
			return f
		}},
		{"something else in its place", "the file at this path is not a socket", func(t *testing.T, e *Endpoint, f *os.File) *os.File {
			os.Remove(e.Path)
			if err := os.WriteFile(e.Path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			return f
		}},
		{"a file", "not a socket", func(t *testing.T, e *Endpoint, _ *os.File) *os.File {
			f, err := os.Create(e.Path + ".file")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { f.Close() })
			return f
		}},
		{"a socket for datagrams", "not a listening stream socket", func(t *testing.T, e *Endpoint, _ *os.File) *os.File {
			os.Remove(e.Path)
			c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: e.Path, Net: "unixgram"})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			f, err := c.File()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { f.Close() })
			return f
		}},
		{"a TCP socket", "not a Unix socket", func(t *testing.T, e *Endpoint, _ *os.File) *os.File {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			f, err := l.(*net.TCPListener).File()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { f.Close() })
			return f
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := &Endpoint{Path: filepath.Join(socketDir(t), "s")}
			f := c.spoil(t, e, newSocketFile(t, e.Path, 0o600))
			l, err := e.Adopt(f)
			if err == nil {
				l.Close()
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "listen on "+e.Path) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}

// TestAdoptTakesWhatIsNarrower checks that Adopt accepts modes and groups that
// admit fewer processes than the listener's.
func TestAdoptTakesWhatIsNarrower(t *testing.T) {
	e := Endpoint{Path: filepath.Join(socketDir(t), "s"), Mode: 0o660, Group: strconv.Itoa(os.Getegid())}
	f := newSocketFile(t, e.Path, 0o660)
	for _, mode := range []fs.FileMode{0o660, 0o600} {
		chmod(t, e.Path, mode)
		l, err := e.Adopt(f)
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
	}
}

func chmod(t *testing.T, path string, mode fs.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}
