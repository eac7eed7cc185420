package daemon

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
)

// TestLogIsMasked checks that no line of the log contains a credential.
func TestLogIsMasked(t *testing.T) {
	credential := "glpat-" + "Zx81Kq" + "mR4vTw" + "9sLh7Bqw"
	var b bytes.Buffer
	s := &reloader{stderr: &b}
	c := &config.Config{}
	c.Log.Level = "debug"
	logger := s.newLogger(c)
	logger.With("path", credential+".md").Warn("a "+credential, "err", errors.New("of "+credential), slog.Group("g", "x", []string{credential}))
	logger.Debug("key", "text", "-----BEGIN PRIVATE "+"KEY-----\n"+strings.Repeat("MIIEvQIBADANBgkq", 4)+"\n-----END PRIVATE "+"KEY-----")
	if out := b.String(); strings.Contains(out, credential) || strings.Contains(out, "MIIEvQIBADANBgkq") || strings.Count(out, "REDAC-TED") != 4 || strings.Count(out, "\n") != 2 {
		t.Error(out)
	}
	if n, err := (maskingWriter{io.Discard}).Write([]byte(credential)); n != len(credential) || err != nil {
		t.Errorf("writing %d bytes: %d, %v", len(credential), n, err)
	}
}
