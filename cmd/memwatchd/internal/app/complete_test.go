package app

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
)

// TestNoNamesFromASilentDaemon checks that completion does not wait for a
// daemon that does not answer.
func TestNoNamesFromASilentDaemon(t *testing.T) {
	dir, err := os.MkdirTemp("/tmp", "mw") // short: a socket path has at most 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	socket := filepath.Join(dir, "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var out bytes.Buffer
	if code := Run(context.Background(), []string{"__complete", "--socket", socket, "get", ""}, nil, &out, io.Discard); code != 0 || out.String() != ":4\n" {
		t.Errorf("it ends with %d, and says %q", code, out.String())
	}
}
