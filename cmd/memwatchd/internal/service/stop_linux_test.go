package service

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/cli"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
	"github.com/memwatchd/memwatchd/ipc/client"
)

// TestStopOfAnotherSystem checks that stop ends no process that has the process id
// of a daemon by chance, as if the daemon is in a container.
func TestStopOfAnotherSystem(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	other := exec.Command("sleep", "60")
	testkit.Must(t, other.Start())
	defer func() {
		other.Process.Kill()
		other.Wait()
	}()
	dir, err := os.MkdirTemp("", "mw") // paths of sockets must be short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	socket := filepath.Join(dir, "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"pid": %d}`, other.Process.Pid)
	}))
	g := &cli.Globals{Stdout: io.Discard, Stderr: io.Discard}
	err = stop(t.Context(), g, &config.Config{}, &client.Client{Socket: socket})
	if err == nil || !strings.Contains(err.Error(), "stop it where it was started") {
		t.Errorf("the error is %v", err)
	}
	if err := syscall.Kill(other.Process.Pid, 0); err != nil || hasEnded(other.Process.Pid) {
		t.Errorf("the other process has ended: %v", err)
	}
}
