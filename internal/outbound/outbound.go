// Package outbound makes the HTTP clients for services on other machines that the
// configuration names, such as a language model or a shared store.
//
// A client connects to the configured address only: it ignores the proxies of the
// environment and follows no redirects.
package outbound

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"
)

// maxHeader bounds the header of a response, in bytes.
const maxHeader = 64 << 10

// NewTransport returns a transport without proxies. Dial bounds the time to
// connect, and again the time of the TLS handshake. The certificates of servers
// are verified with roots, or with those of the system if roots is nil.
func NewTransport(dial time.Duration, roots *x509.CertPool) *http.Transport {
	t := &http.Transport{
		DialContext:            (&net.Dialer{Timeout: dial}).DialContext,
		TLSHandshakeTimeout:    dial,
		MaxResponseHeaderBytes: maxHeader,
		MaxIdleConnsPerHost:    4,
		IdleConnTimeout:        time.Minute,
	}
	if roots != nil {
		t.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	return t
}

// NewClient returns a client that fails with redirected instead of following a
// redirect.
func NewClient(t *http.Transport, redirected error) *http.Client {
	return &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return redirected }}
}

// FailureReason describes why no connection was made or why it failed, without
// addresses.
func FailureReason(err error) string {
	if cause, ok := errors.AsType[syscall.Errno](err); ok {
		return cause.Error()
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return dns.Err
	}
	if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
		return "no connection in time"
	}
	return "connection failed"
}

// RetryAfter returns the delay in a Retry-After header, or 0 if the header is
// missing or invalid.
func RetryAfter(h http.Header) time.Duration {
	value := h.Get("Retry-After")
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if t, err := http.ParseTime(value); err == nil {
		return max(0, time.Until(t))
	}
	return 0
}
