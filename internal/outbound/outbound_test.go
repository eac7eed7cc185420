package outbound

import (
	"crypto/x509"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// TestClient checks that a client ignores the proxies of the environment, follows
// no redirect and trusts the given certificates only.
func TestClient(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1")
	moved := errors.New("moved")
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

	c := NewClient(NewTransport(time.Minute, roots), moved)
	defer c.CloseIdleConnections()
	res, err := c.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if _, err := c.Get(server.URL + "/moved"); !errors.Is(err, moved) {
		t.Errorf("a redirect results in %v", err)
	}
	if _, err := NewClient(NewTransport(time.Minute, nil), moved).Get(server.URL); err == nil {
		t.Error("an unknown certificate is accepted")
	}
	if _, err := c.Get("http://127.0.0.1:1"); FailureReason(err) != "connection refused" {
		t.Errorf("a closed port results in %q", FailureReason(err))
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
