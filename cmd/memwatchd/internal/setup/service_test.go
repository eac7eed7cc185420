package setup

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/cli"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
)

// TestLaunchdIsPrintedOnly checks that the errors of the other subcommands name
// the command that prints the agent.
func TestLaunchdIsPrintedOnly(t *testing.T) {
	s := &serviceCommand{launchd: true}
	for _, name := range []string{"install", "uninstall", "status"} {
		err := s.checkManager(name)
		if err == nil || !strings.Contains(err.Error(), "`memwatchd service print`") {
			t.Errorf("service %s: got %v", name, err)
		}
	}
	if err := s.checkManager("print"); err != nil {
		t.Errorf("service print: %v", err)
	}
}

// TestConfigOfSystemService checks that the account of a system service can read
// the configuration, whatever the umask of root is.
func TestConfigOfSystemService(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o077))
	c := config.Default()
	c.File = filepath.Join(t.TempDir(), "memwatchd", "memwatchd.yaml")
	s := &serviceCommand{g: &cli.Globals{Stdout: io.Discard}, system: true}
	if err := s.writeConfig(c); err != nil {
		t.Fatal(err)
	}
	wantMode(t, filepath.Dir(c.File), 0o755)
	wantMode(t, c.File, 0o644)
}

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
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
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

// TestSecretInUnit checks that other users cannot read a topic in the environment
// of a unit.
func TestSecretInUnit(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o022))
	t.Setenv("MEMWATCHD_CAPTURE_NTFY_TOPIC", "secret")
	for _, system := range []bool{false, true} {
		s := &serviceCommand{g: &cli.Globals{Stdout: io.Discard}, system: system}
		if err := s.checkEnvironment(); (err != nil) != system {
			t.Errorf("system %t: got %v", system, err)
		}
		dir := t.TempDir()
		u := unit{name: "a.service", path: filepath.Join(dir, "a.service"), wanted: "[Service]\n"}
		if err := os.WriteFile(filepath.Join(dir, ".a.service.new"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := s.writeUnits([]unit{u}); err != nil {
			t.Fatal(err)
		}
		wantMode(t, u.path, map[bool]os.FileMode{false: 0o600, true: 0o644}[system])
	}
}
