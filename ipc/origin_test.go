package ipc

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
)

// TestOrigin checks the hosts and origins that a TCP listener accepts: requests
// of a page whose domain was rebound to a loopback address have that domain in
// both headers.
func TestOrigin(t *testing.T) {
	const token = "0123456789abcdef"
	const evil = "evil.example.com"
	hosts := []struct {
		host string
		ok   bool
	}{
		{"127.0.0.1", true}, {"127.0.0.1:%s", true}, {"127.0.0.1:9", true}, {"[::1]", true}, {"[::1]:%s", true}, {"localhost", true},
		{"localhost:%s", true}, {"LocalHost:9", true},
		{evil, false}, {evil + ":%s", false}, {"localhost." + evil, false}, {"127.0.0.1." + evil, false}, {evil + ":127.0.0.1", false},
		{"localhost.", false}, {"127.0.0.1.", false}, {"127.1", false}, {"127.0.0.2", false}, {"0.0.0.0", false}, {"2130706433", false},
		{"[::]", false}, {"::1", false}, {"[::ffff:127.0.0.1]", false}, {"[::1].evil", false}, {"me@localhost", false}, {"ai", false},
		{"memwatchd", false}, {"", false}, {"localhost:x", false},
	}
	origins := []struct {
		origin string
		ok     bool
	}{
		{"http://localhost", true}, {"http://localhost:%s", true}, {"https://localhost:3000", true}, {"http://127.0.0.1:%s", true}, {"http://[::1]:%s", true},
		{"http://" + evil, false}, {"https://localhost." + evil, false}, {"http://localhost@" + evil, false}, {"http://" + evil + "/http://localhost", false},
		{"http://localhost/", false}, {"http://localhost#" + evil, false}, {"http://" + evil + "#localhost", false}, {"http://localhost http://" + evil, false},
		{"null", false}, {"", false}, {"localhost", false}, {"file://", false}, {"file://localhost", false}, {"chrome-extension://localhost", false},
		{"http://localhost\r\nOrigin: http://" + evil, false}, {"http://%%6cocalhost", false},
	}
	for _, listen := range []string{"127.0.0.1:0", "[::1]:0"} {
		free, err := net.Listen("tcp", listen)
		if err != nil {
			t.Logf("%s does not exist here: %v", listen, err)
			continue
		}
		address := free.Addr().String()
		_, port, _ := net.SplitHostPort(address)
		free.Close()
		serveOn(t, emptyBackend{}, slog.New(slog.DiscardHandler), Endpoint{Address: address, Token: token})
		check := func(header string, ok bool) {
			t.Helper()
			for _, request := range []string{"GET /healthz", "GET /metrics", "POST /mcp", "POST /v1/status"} {
				header := "Authorization: Bearer " + token + "\r\n" + strings.ReplaceAll(header, "%s", port)
				body := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
				if strings.HasSuffix(request, "status") {
					body = "{}"
				}
				answer := sendRaw(t, "tcp", address, fmt.Sprintf("%s HTTP/1.1\r\n%sConnection: close\r\nContent-Type: application/json\r\n"+
					"Accept: application/json, text/event-stream\r\nContent-Length: %d\r\n\r\n%s", request, header, len(body), body))
				want := "HTTP/1.1 200 "
				if !ok {
					want = "HTTP/1.1 403 "
				}
				if !ok && strings.HasPrefix(answer, "HTTP/1.1 400 ") {
					continue // rejected by net/http
				}
				if !strings.HasPrefix(answer, want) || !ok && strings.Contains(answer, "jsonrpc") {
					t.Errorf("%s at %s with %q: %.200s", request, address, header, answer)
				}
			}
		}
		for _, c := range hosts {
			check("Host: "+c.host+"\r\n", c.ok)
		}
		for _, c := range origins {
			check("Host: localhost\r\nOrigin: "+strings.ReplaceAll(c.origin, "%%", "%")+"\r\n", c.ok)
		}
		check("Host: "+evil+"\r\nOrigin: http://"+evil+"\r\n", false)
		check("Host: "+evil+"\r\nOrigin: http://localhost\r\n", false)
	}
	other := Endpoint{Address: "127.0.0.2:7070"}
	for host, want := range map[string]bool{"127.0.0.2:7070": true, "127.0.0.2": true, "127.0.0.1:7070": true, "127.0.0.3:7070": false} {
		if err := other.checkOrigin(&http.Request{Host: host}); (err == nil) != want {
			t.Errorf("%s: %v", host, err)
		}
	}
}
