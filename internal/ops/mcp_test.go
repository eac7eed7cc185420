package ops

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/ipc"
	"github.com/memwatchd/memwatchd/ipc/client"
	"github.com/memwatchd/memwatchd/ipc/mcp"
)

// someMemory returns a memory with public text that belongs to no subject.
func someMemory(t testing.TB, more ...txtar.File) *Memory {
	t.Helper()
	return readOpsCase(t, &txtar.Archive{Files: append([]txtar.File{
		{Name: "2026-02-04/cli.md", Data: []byte("# Day\n\n- words for all\n\n## Tasks\n\n- [ ] a task\n")},
		{Name: "2026-02-05/zoë 你好 #1.md", Data: []byte("- more words for all\n")},
	}, more...)}).start(t).memory
}

var privateFiles = []txtar.File{
	{Name: "2026-02-03/secret.md", Data: []byte("---\nsubject_id: acct:42\nvisibility: private_only\n---\n\n- words that are private\n")},
	{Name: "MEMORY.md", Data: []byte("# Long-Term Memory\n\n- words of the owner\n")},
	{Name: "_longterms/bob/profile.md", Data: []byte("---\nsubject_id: bob\nkind: profile\n---\n\n- **city**: words of bob\n")},
}

type httpAnswer struct {
	status int
	header http.Header
	body   string
}

// post sends a raw message to /mcp.
func post(t testing.TB, socket, query, body string, header http.Header) httpAnswer {
	t.Helper()
	return send(t, socket, http.MethodPost, "/mcp"+query, body, header)
}

func send(t testing.TB, socket, method, path, body string, header http.Header) httpAnswer {
	t.Helper()
	client := &http.Client{Timeout: time.Minute, Transport: socketTransport(socket)}
	req, err := http.NewRequestWithContext(t.Context(), method, "http://memwatchd"+path, strings.NewReader(body))
	checkError(t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for name, values := range header {
		req.Header[name] = values
	}
	res, err := client.Do(req)
	checkError(t, err)
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	checkError(t, err)
	return httpAnswer{res.StatusCode, res.Header, string(got)}
}

func rpc(id any, method string, params any) string {
	text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	if err != nil {
		panic(err)
	}
	return string(text)
}

func call(name string, arguments fields) string {
	return rpc(1, "tools/call", fields{"name": name, "arguments": arguments})
}

// TestHTTP sends the HTTP requests of archives: headers behind >, and a body. Of lists of
// tools the archives contain the names, of initializations the revision and the tools that
// the instructions name.
func TestHTTP(t *testing.T) {
	toolName := regexp.MustCompile(`memory_\w+`)
	runArchives(t, "testdata/http", func(t *testing.T, c *opsCase) func(*opsRequest) (string, string) {
		m, sockets := c.start(t).memory, map[*api.Fixed]string{}
		return func(a *opsRequest) (string, string) {
			if sockets[a.fixed] == "" {
				sockets[a.fixed] = serveAs(t, m, func(e *ipc.Endpoint, s *ipc.Server) { e.Fixed, s.Limits.MaxRequest = a.fixed, 1000 })
			}
			header, body := http.Header{}, string(a.request)
			for strings.HasPrefix(body, "> ") {
				line, rest, _ := strings.Cut(body, "\n")
				name, value, _ := strings.Cut(line[2:], ":")
				header[name], body = append(header[name], strings.TrimSpace(value)), rest
			}
			got := send(t, sockets[a.fixed], a.method, a.target, strings.TrimSuffix(body, "\n"), header)
			text := opsTook.ReplaceAllString(strings.TrimSpace(got.body), `"took_ms":0`)
			if list := decodeAnswer[struct {
				Result struct {
					Tools                                     []sdk.Tool
					ProtocolVersion, CacheScope, Instructions string
				}
			}](text).Result; list.Tools != nil || list.ProtocolVersion != "" {
				named := toolName.FindAllString(list.Instructions, -1)
				slices.Sort(named)
				text = fmt.Sprintln(convertEach(list.Tools, func(t sdk.Tool) string { return t.Name }), list.ProtocolVersion, list.CacheScope,
					slices.Compact(named), got.header.Get("Mcp-Session-Id"))
			}
			return strings.TrimSpace(fmt.Sprint(got.status, " ", got.header.Get("Allow"))) + "\n" + strings.TrimSpace(text) + "\n", text
		}
	})
}

// TestMCPPanic checks that a panic in a tool becomes an error answer and does
// not affect other requests.
func TestMCPPanic(t *testing.T) {
	m := someMemory(t)
	m.Index = nil
	socket := serveOps(t, m)
	for _, message := range []string{call("memory_search", fields{"query": "words"}), rpc(1, "resources/read", fields{"uri": "memory://a.md"}), rpc(1, "resources/list", fields{})} {
		got := post(t, socket, "", message, nil)
		if got.status != 200 || !strings.Contains(got.body, "internal error") || strings.Contains(message, "tools") != strings.Contains(got.body, `"isError":true`) {
			t.Errorf("%s: %v", message, got)
		}
	}
	if got := post(t, socket, "", rpc(1, "ping", fields{}), nil); !strings.Contains(got.body, `"result":{}`) {
		t.Errorf("afterwards: %v", got)
	}
	if got := send(t, socket, "GET", "/metrics", "", nil).body; !strings.Contains(got, "memwatchd_panics_total 3\n") {
		t.Errorf("the panics are not counted:\n%s", got)
	}
}

// A stuckIndexer never completes a sync.
type stuckIndexer struct {
	Indexer
	called, ended chan struct{}
}

func (k *stuckIndexer) Sync(ctx context.Context) error {
	close(k.called)
	<-ctx.Done()
	close(k.ended)
	return ctx.Err()
}

// TestMCPClientGoes checks that work for a client ends when the client
// disconnects.
func TestMCPClientGoes(t *testing.T) {
	m := someMemory(t)
	stuck := &stuckIndexer{m.Indexer, make(chan struct{}), make(chan struct{})}
	m.Indexer, m.SyncTimeout = stuck, time.Hour
	c, err := net.Dial("unix", serveOps(t, m))
	checkError(t, err)
	body := call("memory_todos", fields{})
	fmt.Fprintf(c, "POST /mcp HTTP/1.1\r\nHost: m\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	<-stuck.called
	c.Close()
	select {
	case <-stuck.ended:
	case <-time.After(api.MaxAnswerTime / 2):
		t.Error("it is still worked on")
	}
}

// FuzzMCP checks that any message to /mcp gets an answer without private text, and that the
// next request does too.
func FuzzMCP(f *testing.F) {
	socket := serveOps(f, someMemory(f, privateFiles...))
	for _, message := range []string{
		rpc(1, "ping", nil), rpc(nil, "ping", nil), rpc(1.5, "ping", nil), rpc("", "initialize", nil), rpc(1, "initialize", fields{}), rpc(1, "initialize", fields{"protocolVersion": 1}),
		rpc(1, "tools/list", fields{"cursor": "x"}), rpc(1, "tools/list", fields{"cursor": "/+MDAQ=="}), rpc(1, "resources/list", fields{"cursor": "x"}), rpc(1, "resources/templates/list", fields{"cursor": "x"}),
		call("memory_search", fields{"query": "words"}), rpc(1, "tools/call", fields{"name": "memory_get", "arguments": []int{1}}), rpc(1, "tools/call", fields{"name": 1}), rpc(1, "tools/call", nil), rpc(1, "tools/call", "x"),
		rpc(1, "resources/read", fields{}), rpc(1, "resources/read", nil), rpc(1, "resources/read", fields{"uri": "memory://a\u0000"}), rpc(1, "resources/subscribe", fields{"uri": "memory://a.md"}),
		rpc(1, "completion/complete", fields{}), rpc(1, "completion/complete", fields{"ref": nil}), rpc(1, "completion/complete", fields{"ref": fields{"type": "ref/x"}, "argument": fields{"name": "x"}}),
		rpc(1, "logging/setLevel", fields{"level": "x"}), rpc(1, "prompts/list", nil), rpc(1, "prompts/get", fields{"name": "x"}), rpc(1, "prompts/get", nil), rpc(1, "server/discover", nil),
		rpc(1, "subscriptions/listen", fields{"_meta": fields{"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}), rpc(1, "notifications/cancelled", fields{"requestId": 1}),
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`, `{"jsonrpc":"2.0","method":"notifications/cancelled"}`, `{"jsonrpc":"2.0","method":"notifications/progress","params":{}}`,
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}`, `[]`, `[1]`, `[null]`, `null`, `{}`, "[" + rpc(1, "ping", nil) + "," + rpc(1, "ping", nil) + "]",
	} {
		f.Add(message, "")
		f.Add(message, "2025-11-25")
		f.Add(message, "2026-07-28")
	}
	for _, arguments := range []string{`{}`, `{"query":"words","k":3}`, `{"path":"MEMORY.md"}`, `{"path":"2026-02-04/cli.md","from":2,"lines":1}`,
		`{"subject":"owner","context":"private"}`, `{"query":"owner","scope":{"context":"private"},"Context":"private"}`, `{"namespace":"fact","key":"a"}`,
		`{"draft":{"items":{"A":[{"text":"x"}]}},"session":"s"}`, `{"format":"boot","max_chars":0}`, `[1,2]`, `{"a":{"b":[null,1e400]}}`,
		`{"limit":-1}`, `{"query":"\ud800","tags":["a",null]}`, `{"state":"open","days":3650}`} {
		for _, tool := range mcp.Tools {
			f.Add(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+tool.Name+`","arguments":`+arguments+`}}`, "")
		}
	}
	f.Fuzz(func(t *testing.T, message, version string) {
		header := http.Header{}
		if strings.ContainsFunc(version, func(r rune) bool { return r < ' ' || r > '~' }) {
			return
		}
		if version != "" {
			header["Mcp-Protocol-Version"] = []string{version}
		}
		if got := post(t, socket, "?tools=all", message, header); got.status < 200 || got.status > 415 || bytes.Contains([]byte(got.body), []byte("words of the owner")) {
			t.Errorf("%q: %v", message, got)
		}
		if got := post(t, socket, "", rpc(1, "ping", fields{}), nil); !strings.Contains(got.body, `"result":{}`) {
			t.Errorf("after %q: %v", message, got)
		}
	})
}

// TestMCPResources checks that the files that a caller may read are listed as resources, in
// pages.
func TestMCPResources(t *testing.T) {
	many := privateFiles
	for i := range 1005 {
		many = append(many, txtar.File{Name: fmt.Sprintf("notes/n%04d.md", i), Data: []byte("---\nvisibility: public_ok\n---\n\n- a note\n")})
	}
	m := someMemory(t, many...)
	socket := serveOps(t, m)
	model := newModel(t, m, socket, "")
	model.as("owner", "private")
	var names []string
	for r, err := range model.session.Resources(t.Context(), nil) {
		checkError(t, err)
		names = append(names, r.Name)
		if r.URI != mcp.ResourceURI(r.Name) || r.MIMEType != "text/markdown" {
			t.Errorf("%s is %s, of type %s", r.Name, r.URI, r.MIMEType)
		}
	}
	if !slices.IsSorted(names) || len(slices.Compact(names)) != len(many) || slices.Contains(names, "2026-02-03/secret.md") {
		t.Errorf("%d files are listed: %v", len(names), names[:10])
	}
}

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

// TestBridgeFrozen checks that a session starts although the daemon does not
// answer, and that the agent can give up a request.
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
	if list, err := session.ListTools(t.Context(), nil); err != nil || len(list.Tools) != len(mcp.Tools) {
		t.Errorf("the tools are %v, %v", list, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		c, err := l.Accept() // connection of the list request
		for err == nil {
			defer c.Close() // and the collector does not close it before
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
	checkError(t, session.Ping(t.Context(), nil))
	defer func(d time.Duration) { mcp.AnswerTimeout = d }(mcp.AnswerTimeout)
	mcp.AnswerTimeout = 50 * time.Millisecond // with more, the daemon would be waited for as long
	if got, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "memory_recent"}); err != nil || !got.IsError ||
		!strings.Contains(textIn(got), "timeout waiting for the daemon") {
		t.Errorf("a call of a frozen daemon: %q, %v", textIn(got), err)
	}
}

// TestAgentIsTheSource checks that the source of a note by a model is its agent, and in
// public the listener, whatever name the agent has.
func TestAgentIsTheSource(t *testing.T) {
	for _, name := range []string{"claude-code", "x --> <b>", "public:y\n# z", "日本", "source=\"user\"", strings.Repeat("n", 999)} {
		m := someMemory(t)
		for _, c := range []struct {
			fixed  *api.Fixed
			source string
		}{
			{nil, api.NewProgram("mcp:"+name, "").Name},
			{&api.Fixed{Name: "bot", Subject: "owner", Context: "public"}, "public:bot"},
		} {
			execute := func(r *api.NoteRequest) *api.NoteAnswer {
				answer, err := m.Do(t.Context(), api.Caller{Fixed: c.fixed, AsOwner: c.fixed == nil, Model: true, Program: api.NewProgram("mcp:"+name, "")},
					api.RequestOf(*r).WithDefaults())
				checkError(t, err)
				return answer.(*api.NoteAnswer)
			}
			path := execute(&api.NoteRequest{Text: "a note of the zoo", Visibility: "public_ok"}).Path
			doc, err := m.Files.Load(path)
			checkError(t, err)
			if n := len(doc.Entries); n == 0 || doc.Entries[n-1].Source != c.source || doc.Entries[n-1].Content() != "a note of the zoo" {
				t.Errorf("%q: %s contains %q", name, path, doc.Source)
			}
		}
	}
}

// TestLongFiles checks that the answers about a long file are bounded, and that one after the
// other they contain all its lines.
func TestLongFiles(t *testing.T) {
	long := strings.Repeat("- words of 日本 and "+strings.Repeat("more ", 60)+"\n", 300)
	files := map[string]string{"long.md": long, "lines.md": strings.Repeat("\n", 30_000) + "- end\n", "one.md": "- " + strings.Repeat("x ", 90_000) + "\n- end\n",
		"short.md": "- a\n", "exact.md": strings.Repeat("- 3456789\n", 2000)}
	for name, text := range files {
		m := someMemory(t, txtar.File{Name: name, Data: []byte(text)})
		model := newModel(t, m, serveOps(t, m), "")
		model.as("owner", "private")
		var read strings.Builder
		for from, calls := 1, 1; from > 0; calls++ {
			got, err := model.session.CallTool(t.Context(), &sdk.CallToolParams{Name: "memory_get", Arguments: fields{"path": name, "from": from}})
			checkError(t, err)
			text, next := textIn(got), 0
			if n := len([]rune(text)); n > 20_200 || calls > 20 {
				t.Fatalf("%s: call %d has %d characters", name, calls, n)
			}
			if i := strings.LastIndex(text, "(lines "); i >= 0 {
				_, err := fmt.Sscanf(text[strings.LastIndex(text, "`from` "):], "`from` %d", &next)
				checkError(t, err)
				text = text[:i]
			}
			read.WriteString(text + "\n")
			from = next
		}
		want, got := strings.Fields(text), strings.Fields(read.String())
		if name == "one.md" { // its first line is cut
			got = []string{got[0], got[1], "-", "end"}
			want = []string{"-", "x", "-", "end"}
			if !strings.Contains(read.String(), "x …\n\n- end\n") {
				t.Errorf("the line is not cut: %q", read.String()[19_900:])
			}
		}
		if got = slices.DeleteFunc(got, func(w string) bool { return strings.HasPrefix(w, "(hash") || len(w) == 65 }); !slices.Equal(want, got) {
			t.Errorf("%s: other words are read: %d of %d", name, len(got), len(want))
		}
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
	socketed := socketTransport(socket)
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
