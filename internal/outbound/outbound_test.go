package outbound

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestClient checks that a client ignores the proxies of the environment, follows
// no redirect and trusts the given certificates only.
func TestClient(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1")
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") }))
	defer elsewhere.Close()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/moved" {
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		}
	}))
	defer server.Close()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	trusting := NewClient(time.Minute, roots)
	defer trusting.CloseIdleConnections()
	for _, test := range []struct {
		client *http.Client
		url    string
		want   string
	}{
		{trusting, server.URL, ""},
		{trusting, server.URL + "/moved", "store redirects to another address, which is not followed: set store.url to that address"},
		{NewClient(time.Minute, nil), server.URL, "certificate of the store is rejected (certificate signed by unknown authority)"},
		{trusting, "http://127.0.0.1:1", "cannot reach the store: connection refused"},
		{trusting, "http://a b", "store.url is not a valid URL"},
	} {
		r := Request{Client: test.client, Service: "store", Setting: "store.url", Method: http.MethodGet, URL: test.url,
			Limit: 1000, Timeout: time.Minute}
		_, err := r.Send(t.Context())
		if got := fmt.Sprint(err); got != test.want && (err != nil || test.want != "") {
			t.Errorf("%s: %s", test.url, got)
		}
	}
}

// TestFaults checks that, for any behavior of a service, the error contains neither the
// request nor the response nor the address, and nothing is sent without the key.
func TestFaults(t *testing.T) {
	const secret = "secret words"
	begin := func(w http.ResponseWriter, length string) {
		w.Header().Set("Content-Length", length)
		io.WriteString(w, secret)
		w.(http.Flusher).Flush()
	}
	for _, test := range []struct {
		name    string
		service http.HandlerFunc
		key     error
		want    string
		after   time.Duration
	}{
		{"hangs", func(_ http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body) // so that the server detects the disconnect of the client
			<-r.Context().Done()
		}, nil, "no response from the store within 300ms", 0},
		{"hangs within the response", func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			begin(w, "1000")
			<-r.Context().Done()
		}, nil, "no response from the store within 300ms", 0},
		{"hangs up", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, nil,
			"cannot reach the store: connection failed", 0},
		{"hangs up within the response", func(w http.ResponseWriter, _ *http.Request) {
			begin(w, "1000")
			panic(http.ErrAbortHandler)
		}, nil, "store response is truncated", 0},
		{"echoes", func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(401)
			io.Copy(w, r.Body)
		}, nil, "store returned 401 Unauthorized", 0},
		{"busy", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(429)
		}, nil, "store returned 429 Too Many Requests", 7 * time.Second},
		{"unknown status", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(599) }, nil, "store returned 599", 0},
		{"endless", func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, strings.Repeat(" ", 1000)); err != nil {
					return
				}
			}
		}, nil, "store response is larger than 1000 bytes", 0},
		{"without a key", func(http.ResponseWriter, *http.Request) { t.Error("a request without its key") }, errors.New("k: gone"),
			"key of the store: k: gone", 0},
	} {
		server := httptest.NewServer(test.service)
		r := Request{Client: NewClient(time.Minute, nil), Service: "store", Setting: "store.url", Method: http.MethodPost, URL: server.URL,
			Body: []byte(secret), Limit: 1000, Timeout: 20 * time.Second, Key: func() (string, error) { return "", test.key }}
		if strings.HasPrefix(test.want, "no response") {
			r.Timeout = 300 * time.Millisecond
		}
		_, err := r.Send(t.Context())
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Error() != test.want || e.RetryAfter != test.after {
			t.Errorf("%s: %v, want %s", test.name, err, test.want)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := r.Send(ended); test.key == nil && !errors.Is(err, context.Canceled) {
			t.Errorf("%s: canceled: %v", test.name, err)
		}
		r.Client.CloseIdleConnections()
		server.CloseClientConnections()
		server.Close()
	}
}

func TestRetryAfter(t *testing.T) {
	for value, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "-1": 0, "soon": 0, "99999999999": 0, "Fri, 31 Dec 1999 23:59:59 GMT": 0,
	} {
		if got := RetryAfter(http.Header{"Retry-After": {value}}); got != want {
			t.Errorf("RetryAfter(%q) = %v, want %v", value, got, want)
		}
	}
	later := time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
	if got := RetryAfter(http.Header{"Retry-After": {later}}); got < 30*time.Minute || got > time.Hour {
		t.Errorf("RetryAfter of a time in an hour = %v", got)
	}
}
