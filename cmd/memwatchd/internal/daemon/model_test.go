package daemon

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

// TestModelInTheClear checks that the daemon warns if text for the model
// crosses the network unencrypted.
func TestModelInTheClear(t *testing.T) {
	for endpoint, warns := range map[string]bool{"http://10.0.0.7/v1": true, "http://[::ffff:127.0.0.1]/v1": false, "https://10.0.0.7/v1": false} {
		var log testkit.Output
		d := &daemon{config: config.Default(), logger: slog.New(slog.NewTextHandler(&log, nil))}
		d.config.LLM.Endpoint, d.config.LLM.Model = endpoint, "m"
		if client, err := d.openModel(); err != nil || client.Endpoint != endpoint {
			t.Errorf("%s: %v", endpoint, err)
		}
		if got := strings.Contains(log.String(), "not encrypted"); got != warns {
			t.Errorf("%s: the log says %q", endpoint, log.String())
		}
	}
}

// TestOpenModelWithOpenKey checks that a key that other users can read keeps
// the daemon from starting.
func TestOpenModelWithOpenKey(t *testing.T) {
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte("sk-1"), 0o644); err != nil {
		t.Fatal(err)
	}
	d := &daemon{config: config.Default(), logger: slog.New(slog.DiscardHandler)}
	d.config.LLM.Endpoint, d.config.LLM.KeyFile = "http://127.0.0.1:1", key
	if _, err := d.openModel(); err == nil || !strings.HasPrefix(err.Error(), "llm.key_file: ") {
		t.Errorf("starting with a key that others can read: %v", err)
	}
}
