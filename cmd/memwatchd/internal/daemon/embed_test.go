package daemon

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
	"github.com/memwatchd/memwatchd/index"
)

// newEmbedding returns a daemon with an embeddings endpoint that is not open.
func newEmbedding(t *testing.T, endpoint string) *daemon {
	t.Helper()
	x, err := index.Open(t.TempDir(), index.Options{Texts: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	d := &daemon{config: config.Default(), index: x, logger: slog.New(slog.DiscardHandler)}
	d.pipeline = &pipeline{documents: new(documents)}
	d.config.Index.Dir = t.TempDir()
	d.config.Embed.Endpoint, d.config.Embed.Model = endpoint, "m"
	return d
}

// TestOpenEmbedderFails checks that a key that other users can read keeps the daemon
// from starting, and that vectors that cannot be opened do not.
func TestOpenEmbedderFails(t *testing.T) {
	d := newEmbedding(t, "http://127.0.0.1:1")
	d.config.Embed.KeyFile = filepath.Join(t.TempDir(), "key")
	testkit.Must(t, os.WriteFile(d.config.Embed.KeyFile, []byte("sk-1"), 0o644))
	if err := d.openEmbedder(); err == nil || !strings.HasPrefix(err.Error(), "embed.key_file: ") {
		t.Errorf("starting with a key that others can read: %v", err)
	}
	d = newEmbedding(t, "http://127.0.0.1:1")
	testkit.Must(t, os.WriteFile(d.vectorsDir(), nil, 0o600))
	if err := d.openEmbedder(); err != nil || d.embedder != nil {
		t.Errorf("%v, %v", d.embedder, err)
	}
	if s := d.embedStatus(); s == nil || s.LastError == "" || s.FailedAt.IsZero() {
		t.Errorf("%+v", s)
	}
	if err := d.purgeVectors(); err != nil {
		t.Error(err)
	}
}
