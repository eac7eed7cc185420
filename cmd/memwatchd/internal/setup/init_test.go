package setup

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

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
		if got := machineZone(); got != want {
			t.Errorf("TZ=%s: got %s, want %s", zone, got, want)
		}
	}
}
