package daemon

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

// startSmall serves a small memory under small limits.
func startSmall(t *testing.T, more func(*config.Config, string)) *target {
	t.Helper()
	return serveTree(t, map[string]string{
		"MEMORY.md": "- tea\n", "2026-02-04/long.md": strings.Repeat("- tea "+strings.Repeat("x", 190)+"\n", 5000),
	}, func(c *config.Config, base string) {
		c.IPC.Listeners = append(c.IPC.Listeners, config.Listener{Path: filepath.Join(base, "other")})
		c.Tuning.Limits.MaxRequest, c.Tuning.Limits.MaxHeader, c.Tuning.Limits.MaxConnections = 64<<10, 4<<10, 8
		c.Tuning.Limits.ReadBody, c.Tuning.Limits.Idle, c.Tuning.Limits.Drain = 400*time.Millisecond, time.Second, time.Second
		if more != nil {
			more(c, base)
		}
	})
}

// measureAnswer returns how long an honest client waits on a socket. While all
// admitted connections are busy, the daemon answers 503 or closes the
// connection, and the client retries.
func (g *target) measureAnswer(t *testing.T, socket string) time.Duration {
	t.Helper()
	start := time.Now()
	const request = "POST /v1/search HTTP/1.1\r\nHost: memwatchd\r\nContent-Length: 31\r\nConnection: close\r\n\r\n" + `{"query":"tea","subject":"own"}`
	status, body := g.sendRaw(t, socket, request)
	for (status == http.StatusServiceUnavailable || status == 0) && time.Since(start) < 2*time.Minute { // eight connections may be busy, and not slow
		status, body = g.sendRaw(t, socket, request)
	}
	if status != http.StatusOK {
		t.Errorf("an honest client of %q is answered %.200q", socket, body)
	}
	return time.Since(start)
}

// TestMalformedRequests checks that malformed and oversized requests are
// answered or cut off, and the next client is served.
func TestMalformedRequests(t *testing.T) {
	g := startSmall(t, func(c *config.Config, _ string) {
		c.Tuning.Limits.ReadHeader, c.Tuning.Limits.ReadBody = 10*time.Second, 3*time.Second
	})
	for name, c := range map[string]struct {
		request string
		status  int // 0 for any failure
		code    api.Code
	}{
		"nothing":             {"\r\n\r\n\r\n", 0, ""},
		"noise":               {string(bytes.Repeat([]byte{0, 0xff, '\n', 0x16, 3, 1}, 2000)), 0, ""},
		"TLS":                 {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + strings.Repeat("a", 500), 0, ""},
		"a long URL":          {"GET /" + strings.Repeat("a", 10<<10) + " HTTP/1.1\r\nHost: m\r\n\r\n", http.StatusRequestHeaderFieldsTooLarge, ""},
		"a long header":       {"GET /v1/status HTTP/1.1\r\nHost: m\r\nX: " + strings.Repeat("a", 10<<10) + "\r\n\r\n", http.StatusRequestHeaderFieldsTooLarge, ""},
		"many headers":        {"GET /v1/status HTTP/1.1\r\nHost: m\r\n" + strings.Repeat("X: y\r\n", 5<<10) + "\r\n", http.StatusRequestHeaderFieldsTooLarge, ""},
		"a long body":         {"POST /v1/search HTTP/1.1\r\nHost: m\r\nContent-Length: 100000\r\n\r\n" + `{"query":"` + strings.Repeat("a", 100000-12) + `"}`, http.StatusRequestEntityTooLarge, api.TooLarge},
		"an endless body":     {"POST /v1/search HTTP/1.1\r\nHost: m\r\nTransfer-Encoding: chunked\r\n\r\n" + strings.Repeat("1000\r\n"+strings.Repeat(" ", 4096)+"\r\n", 40), http.StatusRequestEntityTooLarge, api.TooLarge},
		"a huge length":       {"POST /v1/search HTTP/1.1\r\nHost: m\r\nContent-Length: 99999999999999\r\n\r\n{", 0, api.Invalid},
		"a wrong length":      {"POST /v1/search HTTP/1.1\r\nHost: m\r\nContent-Length: -1\r\n\r\n{}", http.StatusBadRequest, ""},
		"a broken chunk":      {"POST /v1/search HTTP/1.1\r\nHost: m\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n", http.StatusBadRequest, api.Invalid},
		"half a body":         {"POST /v1/search HTTP/1.1\r\nHost: m\r\nContent-Length: 20\r\n\r\n{", http.StatusBadRequest, api.Invalid},
		"deep JSON":           {"POST /v1/search HTTP/1.1\r\nHost: m\r\nContent-Length: 60000\r\n\r\n" + strings.Repeat("[", 60000), http.StatusBadRequest, api.Invalid},
		"a deep message":      {mcpHead + "Content-Length: 60000\r\n\r\n" + strings.Repeat("[", 60000), http.StatusBadRequest, ""},
		"deep arguments":      {mcpHead + "Content-Length: 60001\r\n\r\n" + `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + strings.Repeat(`{"a":`, 11989) + "\n", http.StatusBadRequest, ""},
		"a long message":      {mcpHead + "Content-Length: 100000\r\n\r\n" + strings.Repeat(" ", 100000), http.StatusRequestEntityTooLarge, api.TooLarge},
		"an endless message":  {mcpHead + "Transfer-Encoding: chunked\r\n\r\n" + strings.Repeat("1000\r\n"+strings.Repeat(" ", 4096)+"\r\n", 40), http.StatusRequestEntityTooLarge, api.TooLarge},
		"half a message":      {mcpHead + "Content-Length: 20\r\n\r\n{", http.StatusBadRequest, api.Invalid},
		"a message of a page": {strings.Replace(mcpHead, "Host: m", "Host: m\r\nOrigin: null", 1) + "Content-Length: 2\r\n\r\n{}", http.StatusForbidden, api.Forbidden},
		"a web page":          {"POST /v1/search HTTP/1.1\r\nHost: m\r\nOrigin: http://evil.example\r\nContent-Length: 2\r\n\r\n{}", http.StatusForbidden, api.Forbidden},
		"a local web page":    {"POST /v1/search HTTP/1.1\r\nHost: m\r\nOrigin: null\r\nContent-Length: 2\r\n\r\n{}", http.StatusForbidden, api.Forbidden},
		"an empty origin":     {"POST /v1/search HTTP/1.1\r\nHost: m\r\nOrigin:\r\nContent-Length: 2\r\n\r\n{}", http.StatusForbidden, api.Forbidden},
		"a rebound name":      {"POST /v1/search HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 2\r\n\r\n{}", http.StatusForbidden, api.Forbidden},
		"an address":          {"GET /v1/status HTTP/1.1\r\nHost: 127.0.0.1:80\r\n\r\n", http.StatusForbidden, api.Forbidden},
		"an unknown path":     {"GET /v2/status HTTP/1.1\r\nHost: m\r\n\r\n", http.StatusNotFound, api.NotFound},
		"a wrong method":      {"GET /v1/search HTTP/1.1\r\nHost: m\r\n\r\n", http.StatusBadRequest, api.Invalid},
		"two subjects":        {"GET /v1/status?subject=a&subject=b HTTP/1.1\r\nHost: m\r\n\r\n", http.StatusBadRequest, api.Invalid},
		"a broken query":      {"GET /v1/status?subject=%zz HTTP/1.1\r\nHost: m\r\n\r\n", http.StatusBadRequest, api.Invalid},
		"a POST with both":    {"POST /v1/search?subject=a HTTP/1.1\r\nHost: m\r\nContent-Length: 2\r\n\r\n{}", http.StatusBadRequest, api.Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			status, answer := g.sendRaw(t, "s", strings.Replace(c.request, "Host: m\r\n", "Host: m\r\nConnection: close\r\n", 1))
			if status == http.StatusOK || c.status != 0 && status != c.status && (status != 0 || c.status != http.StatusRequestHeaderFieldsTooLarge && c.status != http.StatusRequestEntityTooLarge) {
				t.Errorf("%d %.300q, want %d", status, answer, c.status)
			}
			if _, body, ok := strings.Cut(answer, "\r\n\r\n"); ok && c.code != "" && status != 0 {
				if got := errorCode(t, strings.TrimSpace(body)); got != c.code {
					t.Errorf("%s, want %s", got, c.code)
				}
			}
			if took := time.Since(start); took > time.Minute {
				t.Errorf("it took %v", took)
			}
			g.measureAnswer(t, "s")
		})
	}
}

// Beginnings of requests to /mcp, and messages: the answer to one exceeds a
// socket's buffer, another subscribes to changes.
const (
	mcpHead   = "POST /mcp HTTP/1.1\r\nHost: m\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
	readLong  = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"memory_get","arguments":{"path":"2026-02-04/long.md"}}}`
	subscribe = `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["memory://MEMORY.md"]},` +
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
)

// TestSlowClients checks that slow or silent clients are cut off in time. Until
// then, others are served on the same socket.
func TestSlowClients(t *testing.T) {
	for name, dawdle := range map[string]func(net.Conn, <-chan struct{}){
		"say nothing":          func(net.Conn, <-chan struct{}) {},
		"never end a header":   drip("GET /v1/status HTTP/1.1\r\nX-A: ", "a"),
		"never end a body":     drip("POST /v1/search HTTP/1.1\r\nHost: m\r\nContent-Length: 1000\r\n\r\n{", " "),
		"never end a chunk":    drip("POST /v1/search HTTP/1.1\r\nHost: m\r\nTransfer-Encoding: chunked\r\n\r\n3e8\r\n", " "),
		"never read":           drip("POST /v1/get HTTP/1.1\r\nHost: m\r\nContent-Length: 29\r\n\r\n"+`{"path":"2026-02-04/long.md"}`, ""),
		"never end a message":  drip(mcpHead+"Content-Length: 1000\r\n\r\n{", " "),
		"never read tools":     drip(mcpHead+fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(readLong), readLong), ""),
		"subscribe":            drip(mcpHead+fmt.Sprintf("Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\nContent-Length: %d\r\n\r\n%s", len(subscribe), subscribe), ""),
		"open an event stream": drip("GET /mcp HTTP/1.1\r\nHost: m\r\nAccept: text/event-stream\r\n\r\n", ""),
		"stay for ever":        drip("GET /healthz HTTP/1.1\r\nHost: m\r\n\r\n", ""),
	} {
		t.Run(name, func(t *testing.T) {
			g := startSmall(t, func(c *config.Config, _ string) {
				c.Tuning.Limits.ReadHeader, c.Tuning.Limits.Write = 400*time.Millisecond, 400*time.Millisecond
			})
			usual := g.measureAnswer(t, "s")
			over := make(chan struct{})
			var group sync.WaitGroup
			defer group.Wait()
			defer close(over)
			var slow []net.Conn
			for range 30 { // of which the daemon admits eight at a time
				c, err := net.Dial("unix", g.socket("s"))
				testkit.Must(t, err)
				defer c.Close()
				slow = append(slow, c)
				group.Go(func() { dawdle(c, over) })
			}
			for range 10 {
				if took := g.measureAnswer(t, "s"); took > 20*usual+30*time.Second {
					t.Errorf("another client waits %v, alone it waited %v", took, usual)
				}
				if took := g.measureAnswer(t, "other"); took > 20*usual+30*time.Second {
					t.Errorf("a client of another socket waits %v, alone it waited %v", took, usual)
				}
			}
			for _, c := range slow {
				c.SetReadDeadline(time.Now().Add(2 * time.Minute))
				if _, err := io.Copy(io.Discard, c); os.IsTimeout(err) {
					t.Fatal("a client that dawdles is not cut off")
				}
			}
		})
	}
}

// drip sends a beginning, and then a little at a time until over is closed.
func drip(beginning, more string) func(net.Conn, <-chan struct{}) {
	return func(c net.Conn, over <-chan struct{}) {
		_, err := io.WriteString(c, beginning)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for err == nil {
			select {
			case <-over:
				return
			case <-tick.C:
				if more != "" {
					_, err = io.WriteString(c, more)
				}
			}
		}
	}
}

// otherUserEnv is the environment variable that makes the test binary a client of
// another user.
const otherUserEnv = "TEST_ASKS_SOCKET"

func init() {
	socket := os.Getenv(otherUserEnv)
	if socket == "" {
		return
	}
	c, err := net.Dial("unix", socket)
	if err != nil {
		fmt.Println("dial:", err)
		os.Exit(0)
	}
	c.SetDeadline(time.Now().Add(2 * time.Minute))
	io.WriteString(c, "POST /v1/search HTTP/1.1\r\nHost: m\r\nContent-Length: 15\r\nConnection: close\r\n\r\n"+`{"query":"tea"}`)
	answer, err := io.ReadAll(c)
	fmt.Printf("%s\n%v\n", answer, err)
	os.Exit(0)
}

// TestOtherUsers checks that the daemon takes the identity of the client from
// the kernel.
func TestOtherUsers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can be somebody else: run the tests as root to see that other users are refused")
	}
	g := startSmall(t, func(c *config.Config, base string) {
		c.IPC.Listeners[1].AllowUIDs = []int{4711}
		c.IPC.Listeners = append(c.IPC.Listeners,
			config.Listener{Path: filepath.Join(base, "wide"), AllowUIDs: []int{4799}},
			config.Listener{Path: filepath.Join(base, "group"), Group: "4713"})
	})
	if err := os.Chmod(g.base, 0o711); err != nil { // the path to the sockets does not keep other users out
		t.Fatal(err)
	}
	self, err := os.Executable()
	testkit.Must(t, err)
	binary := filepath.Join(g.base, "client") // in a directory that other users may enter
	if err := os.Link(self, binary); err != nil {
		data, err := os.ReadFile(self)
		testkit.Must(t, err)
		testkit.Must(t, os.WriteFile(binary, data, 0o755))
	}
	as := func(uid, gid uint32, socket string) string {
		cmd := exec.Command(binary)
		cmd.Env = []string{otherUserEnv + "=" + g.socket(socket)}
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: gid}}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("as uid %d: %v %s", uid, err, out)
		}
		return string(out)
	}
	for _, c := range []struct {
		uid, gid uint32
		socket   string
		want     string
	}{
		{0, 0, "s", "200 OK"},
		{4711, 4711, "s", "permission denied"},          // by the mode
		{4711, 4711, "other", "200 OK"},                 // allowed by its uid
		{4712, 4712, "other", "403 Forbidden"},          // although the mode permits it
		{4712, 4712, "wide", "uid 4712 is not allowed"}, //
		{4712, 0, "wide", "403 Forbidden"},              // root's group is not root
		{4714, 4713, "group", "200 OK"},                 // the mode decides
		{4714, 4714, "group", "permission denied"},      //
	} {
		if got := as(c.uid, c.gid, c.socket); !strings.Contains(got, c.want) {
			t.Errorf("uid %d gid %d on %q: %.300s, want %s", c.uid, c.gid, c.socket, got, c.want)
		}
	}
}

// TestDrain checks that clients that never read, that stay, or that follow events do not
// keep the daemon from ending, and that no socket is left.
func TestDrain(t *testing.T) {
	g := startSmall(t, nil)
	for _, request := range []string{
		"POST /v1/get HTTP/1.1\r\nHost: m\r\nContent-Length: 29\r\n\r\n" + `{"path":"2026-02-04/long.md"}`, "",
		"GET /v1/events?subject=owner&context=private HTTP/1.1\r\nHost: m\r\n\r\n",
	} {
		c, err := net.Dial("unix", g.socket("s"))
		testkit.Must(t, err)
		defer c.Close()
		io.WriteString(c, request)
		if request != "" {
			_, err = c.Read(make([]byte, 1)) // the answer has begun
			testkit.Must(t, err)
		}
	}
	start := time.Now()
	if err := g.stop(); err != nil || time.Since(start) > time.Minute {
		t.Errorf("it ended after %v with %v", time.Since(start), err)
	}
	if _, err := os.Lstat(g.socket("s")); !os.IsNotExist(err) {
		t.Errorf("the socket is left behind: %v", err)
	}
}

// TestQueriesOfDeath checks that no single request occupies a processor or
// memory for long.
func TestQueriesOfDeath(t *testing.T) {
	root := filepath.Join(t.TempDir(), "m")
	files := map[string]string{
		// One entry, and a path that globs can match in many ways.
		"notes/" + strings.Repeat("a", 200) + ".md": strings.Repeat("tea coffee the x1 ", 20000) + " <!-- visibility=public_ok -->\n",
	}
	for i := range 400 {
		var b strings.Builder
		fmt.Fprintf(&b, "## Tasks\n\n")
		for j := range 20 {
			fmt.Fprintf(&b, "- [ ] tea coffee the same #tag #t%d word%d of %d\n", j, i*20+j, i)
		}
		files[fmt.Sprintf("2026-02-%02d/s%d.md", 1+i%28, i)] = b.String()
	}
	writeTree(t, root, files, time.Now().Add(-time.Hour))
	g := startTarget(t, root, nil)
	c := g.dial("s")
	many := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	list := func(n int, format string) []string {
		out := make([]string, n)
		for i := range out {
			out[i] = fmt.Sprintf(format, i%40)
		}
		return out
	}
	const limit = 4 * time.Minute // other tests and a slow machine slow this one down
	size := 1
	if testing.Short() {
		size = 20
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for name, request := range map[string]object{
		"a large query":          {"query": many(60000/size, "w%d tea ")},
		"one long word":          {"query": strings.Repeat("x", 500000/size)},
		"many quotes":            {"query": strings.Repeat(`"`, 500000/size)},
		"many equal phrases":     {"query": strings.Repeat(`"tea coffee" `, 40000/size)},
		"many phrases":           {"query": many(31, `"tea coffee" "same %d" `)},
		"a long phrase":          {"query": `"` + strings.Repeat("tea coffee the ", 30000/size) + `"`},
		"phrases of stop words":  {"query": `"the" "of" "the x1"`, "limit": 100, "explain": true},
		"only an exclusion":      {"exclude": "nothing", "limit": 100, "offset": 100000},
		"many exclusions":        {"query": "tea", "exclude": many(60, "word%d ")},
		"many characters":        {"query": strings.Repeat("茶水", 100000/size)},
		"equal tags":             {"query": "tea", "tags": list(100, "tag")},
		"many tags":              {"tags": list(100, "t%d"), "any_tag": true},
		"equal sections":         {"query": "tea", "sections": list(100, "Tasks")},
		"equal kinds":            {"query": "tea", "kinds": strings.Split(strings.TrimSuffix(strings.Repeat("session,", 100), ","), ",")},
		"a glob with choices":    {"query": "tea", "path": "notes/" + strings.Repeat("{a,a}", 8) + "x"},
		"a glob with stars":      {"query": "tea", "path": strings.Repeat("*a", 60) + "*x"},
		"a glob of directories":  {"query": "tea", "path": strings.Repeat("**/", 1000) + "x"},
		"nested choices":         {"query": "tea", "path": strings.Repeat("{a,", 200) + "b" + strings.Repeat("}", 200)},
		"a glob of classes":      {"query": "tea", "path": strings.Repeat("[a-z]", 800)},
		"a deep page":            {"query": "tea coffee the", "offset": 100000, "limit": 100, "explain": true},
		"everything, explained":  {"query": "tea coffee the same of tag", "limit": 100, "explain": true, "mode": "overlap", "all": true},
		"the far future":         {"query": "tea", "as_of": "9999-12-31T23:59:59Z", "since": "0001-01-01", "until": "9999-12-31", "mode": "overlap"},
		"combining characters":   {"query": "a" + strings.Repeat("\u0301", 300000/size)},
		"what becomes much more": {"query": strings.Repeat("\ufdfa", 100000/size)},
	} {
		start := time.Now()
		status, body := g.sendRequest(t, c, "search", request)
		if took := time.Since(start); took > limit {
			t.Errorf("%s takes %v", name, took)
		} else {
			t.Logf("%s: %d after %v", name, status, took)
		}
		if status != http.StatusOK && status != http.StatusBadRequest {
			t.Errorf("%s: %d %.200s", name, status, body)
		}
	}
	for name, choices := range map[string]string{"choices without end": strings.Repeat("{a,a,a}", 40), "nested without end": strings.Repeat("{{a,a},{a,a}}", 40), "a glob without end": strings.Repeat("a", 5000)} {
		if status, body := g.sendRequest(t, c, "search", object{"query": "tea", "path": "notes/" + choices}); status != http.StatusBadRequest {
			t.Errorf("%s: %d %.200s", name, status, body)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if kept := int64(after.HeapAlloc) - int64(before.HeapAlloc); kept > 100<<20 {
		t.Errorf("%d MiB are kept of questions that were answered", kept>>20)
	}
}
