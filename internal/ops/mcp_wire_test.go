package ops

import (
	"context"
	"encoding/json"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/ipc/mcp"
)

// A model sends requests to /mcp with the protocol's own client.
type model struct {
	session *sdk.ClientSession
	headers http.Header // scope headers
	memory  *Memory
	tally   *comparisonCount
}

// A comparisonCount counts the requests that were compared and all requests that have a
// tool.
type comparisonCount struct{ compared, all atomic.Int64 }

// requireMost fails the test at its end if fewer than 80 % of the requests were
// compared.
func (n *comparisonCount) requireMost(t *testing.T) {
	t.Cleanup(func() {
		if compared, all := n.compared.Load(), n.all.Load(); compared*10 < all*8 && !t.Failed() {
			t.Errorf("of %d requests, models have asked %d", all, compared)
		}
	})
}

// newModel returns a client of a memory that is served on a socket.
func newModel(t testing.TB, m *Memory, socket, query string, n *comparisonCount) *model {
	t.Helper()
	c := &model{headers: http.Header{}, memory: m, tally: n}
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &sdk.StreamableClientTransport{
		Endpoint: "http://memwatchd/mcp" + query, HTTPClient: &http.Client{Transport: c.over(socket)}, DisableStandaloneSSE: true, MaxRetries: -1,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
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

// sameOver sends an HTTP request as a tool call, if possible, and reports
// unexpected differences between the answers. It returns false if it sent
// nothing.
func (c *model) sameOver(t *testing.T, a *opsRequest, wire []byte) bool {
	t.Helper()
	tool := toolOf(a.op)
	if tool == nil {
		return false
	}
	c.tally.all.Add(1)
	var request map[string]json.RawMessage
	if json.Unmarshal(a.request, &request) != nil && len(a.request) > 0 || !c.setScope(request) {
		return false
	}
	if a.op != tool.Operations[0] && isBlank(orNull(request["namespace"])) && isBlank(orNull(request["key"])) {
		return false // the tool would run another operation
	}
	arguments, err := toolArguments(a.op, a.request)
	if err != nil {
		return false // a duplicate field cannot be split
	}
	c.tally.compared.Add(1)
	got, err := c.session.CallTool(t.Context(), &sdk.CallToolParams{Name: tool.Name, Arguments: arguments})
	if err != nil {
		t.Errorf("%s: %v", a.name, err)
		return true
	}
	fields, err := json.Marshal(got.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	is, want := jsonOf(t, fields), jsonOf(t, wire)
	failure, failed := want["error"].(map[string]any)
	switch {
	case failed != got.IsError:
		t.Errorf("%s: a model is answered %s, where HTTP says %s", a.name, fields, wire)
		return true
	case failed:
		told, _ := is["error"].(map[string]any)
		if told["code"] != failure["code"] || told["message"] != failure["message"] {
			t.Errorf("%s: a model is told %s, where HTTP says %s", a.name, fields, wire)
		}
		if want := failureText(told); textIn(got) != want {
			t.Errorf("%s: the text is %q, not %q", a.name, textIn(got), want)
		}
		return true
	}
	hits, _ := is["hits"].([]any)
	for _, h := range hits {
		hit := h.(map[string]any)
		if hit["startLine"] != hit["line"] || hit["endLine"] != hit["end_line"] {
			t.Errorf("%s: the lines are not those of the hit: %v", a.name, hit)
		}
		delete(hit, "startLine")
		delete(hit, "endLine")
	}
	delete(is, "took_ms")
	delete(want, "took_ms")
	if diff := cmp.Diff(want, is); diff != "" {
		t.Errorf("%s: HTTP and MCP differ (-HTTP +MCP):\n%s", a.name, diff)
	}
	return true
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

// isBlank reports whether a value is null or empty.
func isBlank(raw json.RawMessage) bool {
	return slices.Contains([]string{"null", `""`, "[]", "{}"}, string(raw))
}

func orNull(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return json.RawMessage("null")
	}
	return raw
}

func jsonOf(t *testing.T, raw []byte) (v map[string]any) {
	t.Helper()
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	return v
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

func failureText(e map[string]any) string {
	text := e["code"].(string) + ": " + e["message"].(string)
	if hint, ok := e["hint"].(string); ok {
		text += "\n" + hint
	}
	return text
}
