package outbound

import (
	"crypto/x509"
	"fmt"
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
	} {
		r := Request{Client: test.client, Service: "store", Setting: "store.url", Method: http.MethodGet, URL: test.url,
			Limit: 1000, Timeout: time.Minute}
		_, err := r.Send(t.Context())
		if got := fmt.Sprint(err); got != test.want && (err != nil || test.want != "") {
			t.Errorf("%s: %s", test.url, got)
		}
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
