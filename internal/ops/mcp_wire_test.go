package ops

import (
	"context"
	"encoding/json"
	"maps"
	"net"
	"net/http"
	"slices"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/ipc/mcp"
)

// A model sends requests to /mcp with the protocol's own client.
type model struct {
	session *sdk.ClientSession
	headers http.Header // scope headers
	memory  *Memory
}

// newModel returns a client of a memory that is served on a socket.
func newModel(t testing.TB, m *Memory, socket, query string) *model {
	t.Helper()
	c := &model{headers: http.Header{}, memory: m}
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &sdk.StreamableClientTransport{
		Endpoint: "http://memwatchd/mcp" + query, HTTPClient: &http.Client{Transport: c.over(socket)}, DisableStandaloneSSE: true, MaxRetries: -1,
	}, nil)
	checkError(t, err)
	t.Cleanup(func() { session.Close() })
	c.session = session
	return c
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// over returns a transport to a socket that adds the scope headers.
func (c *model) over(socket string) http.RoundTripper {
	socketed := &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		},
	}
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		maps.Copy(r.Header, c.headers)
		return socketed.RoundTrip(r)
	})
}

// as sets the scope of later requests.
func (c *model) as(subject, context string) {
	c.headers = http.Header{mcp.SubjectHeader: {subject}, mcp.ContextHeader: {context}}
}

// toolOf returns the tool of an operation, or nil.
func toolOf(op *api.Operation) *mcp.Tool {
	if i := slices.IndexFunc(mcp.Tools, func(t *mcp.Tool) bool { return slices.Contains(t.Operations, op) }); i >= 0 {
		return mcp.Tools[i]
	}
	return nil
}

// setScope sets the scope of a request. It returns false if headers cannot
// carry the scope.
func (c *model) setScope(request map[string]json.RawMessage) bool {
	subject, context := c.memory.Owner, "private"
	for name, value := range map[string]*string{"subject": &subject, "context": &context} {
		if raw, ok := request[name]; ok && string(raw) != "null" && json.Unmarshal(raw, value) != nil {
			return false
		}
	}
	if request["external_key"] != nil || context != "private" && context != "public" && context != "unknown" {
		return false
	}
	for _, r := range subject {
		if r < ' ' || r > '~' {
			return false // not valid in a header
		}
	}
	c.as(subject, context)
	return true
}

// toolArguments returns a request as arguments of a tool: without the scope, and
// with the defaults of the operation where the tool presets other values.
func toolArguments(op *api.Operation, request []byte) (json.RawMessage, error) {
	arguments := map[string]any{}
	for _, p := range op.Params() {
		if p.Preset != "" {
			arguments[p.Name] = p.Default
		}
	}
	err := api.EachField(request, func(name string, raw json.RawMessage) error {
		if name != "subject" && name != "context" {
			arguments[name] = raw
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return api.EncodeJSON(arguments)
}

func textIn(r *sdk.CallToolResult) string {
	text := ""
	for _, c := range r.Content {
		if c, ok := c.(*sdk.TextContent); ok {
			text += c.Text
		}
	}
	return text
}
