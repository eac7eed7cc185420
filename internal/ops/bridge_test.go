package ops

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/memwatchd/memwatchd/ipc/client"
	"github.com/memwatchd/memwatchd/ipc/mcp"
)

func connectBridge(t *testing.T, b *mcp.Bridge) *sdk.ClientSession {
	t.Helper()
	in, toBridge := io.Pipe()
	fromBridge, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- b.Run(t.Context(), in, out)
		out.Close()
	}()
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &sdk.IOTransport{Reader: fromBridge, Writer: toBridge}, nil)
	checkError(t, err)
	t.Cleanup(func() {
		session.Close()
		toBridge.Close()
		if err := <-ended; err != nil {
			t.Errorf("the bridge ended with %v", err)
		}
	})
	return session
}

func namesOf(t *testing.T, session *sdk.ClientSession) (names []string) {
	t.Helper()
	list, err := session.ListTools(t.Context(), nil)
	checkError(t, err)
	for _, tool := range list.Tools {
		names = append(names, strings.TrimPrefix(tool.Name, "memory_"))
	}
	slices.Sort(names)
	return names
}

var coreNames = []string{"context", "edit", "forget", "get", "note", "recent", "remember", "search", "session", "todo", "todos"}

// TestBridgeWithoutDaemon checks that tools are listed without a daemon, that
// their errors contain the start command, and that they work once the daemon
// runs.
func TestBridgeWithoutDaemon(t *testing.T) {
	dir, err := os.MkdirTemp("/tmp", "mw")
	checkError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, "later")
	session := connectBridge(t, &mcp.Bridge{Client: &client.Client{Socket: socket, AsOwner: true}, ToolSet: mcp.CoreTools})
	if session.InitializeResult().Instructions == "" {
		t.Error("there are no instructions")
	}
	if diff := cmp.Diff(coreNames, namesOf(t, session)); diff != "" {
		t.Errorf("the tools (-want +got):\n%s", diff)
	}
	got, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "memory_search", Arguments: fields{"query": "words"}})
	if want := "unavailable: no daemon answers on " + socket + ": run `memwatchd serve`"; err != nil || !got.IsError || textIn(got) != want {
		t.Errorf("%v, %v", got, err)
	}
	for _, err := range session.Resources(t.Context(), nil) {
		if err == nil || !strings.Contains(err.Error(), "run `memwatchd serve`") {
			t.Errorf("the files: %v", err)
		}
	}
	_, err = session.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "memory://a.md"})
	if err == nil || !strings.Contains(err.Error(), "run `memwatchd serve`") {
		t.Errorf("a file: %v", err)
	}

	checkError(t, os.Symlink(serveOps(t, someMemory(t, privateFiles...)), socket))
	got, err = session.CallTool(t.Context(), &sdk.CallToolParams{Name: "memory_search", Arguments: fields{"query": "words"}})
	if err != nil || got.IsError || !strings.Contains(textIn(got), "words of the owner") {
		t.Errorf("%v, %v", got, err)
	}
}

// TestBridgeOffWithoutDaemon checks that no tools are listed without a daemon
// if memory is known to be disabled.
func TestBridgeOffWithoutDaemon(t *testing.T) {
	session := connectBridge(t, &mcp.Bridge{Client: &client.Client{Socket: filepath.Join(t.TempDir(), "none")}, Off: true})
	if got := session.InitializeResult().Instructions; got != "" {
		t.Errorf("the instructions are %q", got)
	}
	if names := namesOf(t, session); names != nil {
		t.Errorf("the tools are %v", names)
	}
}

// TestBridgeFrozen checks that a session starts although the daemon does not
// answer.
func TestBridgeFrozen(t *testing.T) {
	defer func(d time.Duration) { mcp.PermittedTimeout = d }(mcp.PermittedTimeout)
	mcp.PermittedTimeout = time.Second
	dir, err := os.MkdirTemp("/tmp", "mw")
	checkError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	checkError(t, err)
	defer l.Close()
	session := connectBridge(t, &mcp.Bridge{Client: &client.Client{Socket: filepath.Join(dir, "s")}, ToolSet: mcp.AllTools})
	if names := namesOf(t, session); len(names) != len(mcp.Tools) {
		t.Errorf("the tools are %v", names)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		c, err := l.Accept() // connection of the list request
		for err == nil {
			b := make([]byte, 4096)
			if n, _ := c.Read(b); bytes.Contains(b[:n], []byte("/v1/search")) {
				cancel() // the client gives up
			}
			c, err = l.Accept()
		}
	}()
	if _, err := session.CallTool(ctx, &sdk.CallToolParams{Name: "memory_search", Arguments: fields{"query": "words"}}); err == nil {
		t.Error("a search is answered")
	}
	if err := session.Ping(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

// TestBridgeLines checks that invalid lines are answered and do not end the
// session, and that pending requests are answered after the agent closes its
// side.
func TestBridgeLines(t *testing.T) {
	const hello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"%","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
	ping := rpc(1, "ping", nil)
	socket := serveOps(t, someMemory(t))
	for _, c := range []struct {
		name, version, line string
		want                []string // expected parts of the answers
	}{
		{"noise", "2025-11-25", "\x00\xff{[", []string{`"code":-32700`}},
		{"half a message", "2025-11-25", `{"jsonrpc":"2.0",`, []string{`"code":-32700`}},
		{"no message", "2025-11-25", `{"a":1}`, []string{`"code":-32600`}},
		{"a number", "2025-11-25", `1`, []string{`"code":-32600`}},
		{"null", "2025-11-25", `null`, []string{`"code":-32600`}},
		{"too long", "2025-11-25", `{"jsonrpc":"2.0","id":5,"method":"ping","params":{"a":"` + strings.Repeat("x", 15<<20) + `"}}`, []string{`"code":-32600`, "bytes"}},
		{"two messages", "2025-11-25", ping + ping, []string{`"code":-32700`}},
		{"blank lines", "2025-11-25", "\r\n  \n" + rpc(7, "ping", nil), []string{`"id":7`}},
		{"a batch", "2025-03-26", "[" + rpc(7, "ping", nil) + "]", []string{`"code":-32600`, "batches are not supported"}},
		{"an unknown method", "2024-11-05", rpc(7, "nope", nil), []string{`"code":-32601`}},
		{"an answer to nothing", "2025-11-25", `{"jsonrpc":"2.0","id":4,"result":{}}`, nil},
		{"a second beginning", "2025-11-25", strings.NewReplacer("%", "2025-11-25", `"id":0`, `"id":5`).Replace(hello), []string{`"id":5,"error"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			// The last call is pending when the agent closes its side.
			last := rpc("last", "tools/call", fields{"name": "memory_search", "arguments": fields{"query": "words"}})
			in := strings.Join([]string{strings.ReplaceAll(hello, "%", c.version), `{"jsonrpc":"2.0","method":"notifications/initialized"}`, c.line, last}, "\n")
			var out bytes.Buffer
			b := &mcp.Bridge{Client: &client.Client{Socket: socket}}
			if err := b.Run(t.Context(), strings.NewReader(in), &out); err != nil {
				t.Errorf("it ended with %v", err)
			}
			for line := range strings.Lines(out.String()) {
				if !json.Valid([]byte(line)) {
					t.Errorf("invalid message: %s", line)
				}
			}
			for _, want := range append(c.want, `"protocolVersion":"`+c.version+`"`, `"id":"last"`, "words for all") {
				if !strings.Contains(out.String(), want) {
					t.Errorf("no %s in %.3000s", want, out.String())
				}
			}
		})
	}
}
