package hook

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/adrg/xdg"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/cli"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/ipc/client"
	"github.com/memwatchd/memwatchd/transcript"
)

// TestSessionDay checks that a daemon that answers chooses the day of a session, as
// it does for captures, and that a session that waits for the daemon keeps its day.
func TestSessionDay(t *testing.T) {
	state := xdg.StateHome
	t.Cleanup(func() { xdg.StateHome = state })
	xdg.StateHome = t.TempDir()
	var got []string
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request api.SessionRequest
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
			t.Error(err)
		}
		got = append(got, request.Day)
		io.WriteString(w, "{}")
	})}
	t.Cleanup(func() { server.Close() })
	c := config.Default()
	c.Location = time.UTC
	h := &hook{
		g: &cli.Globals{Stderr: io.Discard}, agentName: "codex", config: c, input: hookInput{Session: "s"},
		client: &client.Client{Socket: filepath.Join(t.TempDir(), "socket")},
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	save := func() {
		t.Helper()
		conversation := transcript.Conversation{Messages: []transcript.Message{{Text: "hello"}}}
		if err := h.saveSession(ctx, "A summary.", conversation, nil); err != nil {
			t.Fatal(err)
		}
	}

	before := h.today()
	save()
	after := h.today()
	listener, err := net.Listen("unix", h.client.Socket)
	if err != nil {
		t.Fatal(err)
	}
	go server.Serve(listener)
	h.away = nil // of the first save
	save()
	if len(got) != 2 || got[0] != before && got[0] != after || got[1] != "" {
		t.Errorf("the days are %q, want that of the first call and none", got)
	}
}
