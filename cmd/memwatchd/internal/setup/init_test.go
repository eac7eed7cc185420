package setup

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/cli"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

// TestMemoryPathEncoding checks that init rejects a path that the configuration
// cannot contain, before it creates the directory.
func TestMemoryPathEncoding(t *testing.T) {
	dir := t.TempDir()
	c := filepath.Join(dir, "memwatchd.yaml")
	memory := filepath.Join(dir, "m\xe4r")
	g := &cli.Globals{Stdout: io.Discard, Config: config.Flags{File: c, Dir: memory}}
	if err := createMemory(g, false, false, "", ""); err == nil || !strings.Contains(err.Error(), "not valid UTF-8") {
		t.Errorf("got %v", err)
	}
	for _, path := range []string{c, memory} {
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%q was created", path)
		}
	}
}

// TestMachineZone checks that the variable TZ may name a zone or a file, and is UTC
// if it is empty.
func TestMachineZone(t *testing.T) {
	if _, err := time.LoadLocation("Asia/Tokyo"); err != nil {
		t.Skip(err)
	}
	file := filepath.Join(t.TempDir(), "zoneinfo", "Asia", "Tokyo")
	testkit.Must(t, os.MkdirAll(filepath.Dir(file), 0o700))
	testkit.Must(t, os.WriteFile(file, nil, 0o600))
	for zone, want := range map[string]string{
		"Asia/Tokyo": "Asia/Tokyo", ":Asia/Tokyo": "Asia/Tokyo", file: "Asia/Tokyo", ":" + file: "Asia/Tokyo",
		"": "UTC", ":": "UTC", "UTC": "UTC",
	} {
		t.Setenv("TZ", zone)
		if got := MachineZone(); got != want {
			t.Errorf("TZ=%s: got %s, want %s", zone, got, want)
		}
	}
}
