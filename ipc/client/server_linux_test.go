package client

import (
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/memwatchd/memwatchd/api"
)

const foreignUser = 65534

// TestMain serves a socket as another user, for TestForeignServer, if
// FOREIGN_SOCKET is set.
func TestMain(m *testing.M) {
	path := os.Getenv("FOREIGN_SOCKET")
	if path == "" {
		os.Exit(m.Run())
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		os.Exit(1)
	}
	os.Chmod(path, 0o666)
	os.Stdout.WriteString("listening\n")
	conn, err := l.Accept()
	if err != nil {
		os.Exit(1)
	}
	n, _ := conn.Read(make([]byte, 1<<10))
	os.Stdout.WriteString(strconv.Itoa(n) + "\n")
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestForeignServer checks that a client sends nothing to a daemon of another
// user, unless it trusts that user.
func TestForeignServer(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, to listen as another user")
	}
	for _, trusted := range []bool{false, true} {
		dir, err := os.MkdirTemp("", "mw") // short and open to the other user
		must(t, err)
		defer os.RemoveAll(dir)
		must(t, os.Chmod(dir, 0o777))
		program := filepath.Join(dir, "server")
		data, err := os.ReadFile("/proc/self/exe")
		must(t, err)
		must(t, os.WriteFile(program, data, 0o755))
		socket := filepath.Join(dir, "s")
		server := exec.Command(program)
		server.Env = []string{"FOREIGN_SOCKET=" + socket}
		server.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: foreignUser, Gid: foreignUser}}
		out, err := server.StdoutPipe()
		must(t, err)
		must(t, server.Start())
		if _, err := io.ReadFull(out, make([]byte, len("listening\n"))); err != nil {
			t.Fatal(err)
		}
		c := Client{Socket: socket}
		if trusted {
			c.ServerUIDs = []int{foreignUser}
		}
		_, err = Call(t.Context(), &c, api.StatusRequest{})
		if refused := errors.Is(err, ErrNoDaemon) && strings.Contains(err.Error(), "another user"); refused == trusted {
			t.Errorf("trusted %v: %v", trusted, err)
		}
		said, err := io.ReadAll(out)
		must(t, err)
		must(t, server.Wait())
		if got := strings.TrimSpace(string(said)); (got == "0") == trusted {
			t.Errorf("trusted %v: the server received %s bytes", trusted, got)
		}
	}
}
