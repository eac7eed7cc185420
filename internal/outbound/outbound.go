// Package outbound sends requests to services on other machines that the
// configuration names, such as a language model or a shared store.
//
// A client connects to the configured address only: it ignores the proxies of the
// environment and follows no redirects.
package outbound

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// maxHeader bounds the header of a response, in bytes.
const maxHeader = 64 << 10

var errRedirected = errors.New("redirected")

// NewClient returns a client without proxies that follows no redirect. Dial bounds the
// time to connect, and again the time of the TLS handshake. The certificates of servers
// are verified with roots, or with those of the system if roots is nil.
func NewClient(dial time.Duration, roots *x509.CertPool) *http.Client {
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
	return &http.Client{Transport: t, CheckRedirect: func(*http.Request,
		[]*http.Request) error {
		return errRedirected
	}}
}

// A Request is a request to a service.
type Request struct {
	Client  *http.Client           // of [NewClient]
	Service string                 // in errors, such as model
	Setting string                 // key of the URL in the configuration, such as llm.endpoint
	Key     func() (string, error) // returns the API key; nil if none is needed
	Method  string
	URL     string
	Body    []byte        // JSON; nil for none
	Limit   int64         // bytes of the response
	Timeout time.Duration // of the whole request
}

// An Error is a failed request. Its text contains neither addresses nor text of the
// request or the response.
type Error struct {
	Status     int           // of a response other than a success, or 0
	Body       []byte        // of that response
	RetryAfter time.Duration // pause that the response requests
	Text       string
	cause      error
}

func (e *Error) Error() string { return e.Text }

// Unwrap returns the cause, whose text may contain addresses.
func (e *Error) Unwrap() error { return e.cause }

// Send sends the request and returns the body of a response with status 2xx. If the
// context was canceled, the error is that of the context; all others are an [*Error].
func (r *Request) Send(ctx context.Context) ([]byte, error) {
	limited, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	timeout := r.Timeout
	if deadline, ok := ctx.Deadline(); ok {
		timeout = min(timeout, time.Until(deadline).Round(time.Millisecond))
	}
	body, err := r.send(limited)
	e, described := errors.AsType[*Error](err)
	switch {
	case err == nil:
		return body, nil
	case errors.Is(ctx.Err(), context.Canceled):
		return nil, ctx.Err()
	case limited.Err() != nil:
		e = &Error{Text: fmt.Sprintf("no response from the %s within %s", r.Service, timeout)}
	case !described:
		e = &Error{Text: r.describeError(err), cause: err}
	}
	return nil, e
}

// send sends the request once and returns the body of the response. A status other than 2xx is
// an [Error].
func (r *Request) send(ctx context.Context) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, r.Method, r.URL, bytes.NewReader(r.Body))
	if err != nil {
		return nil, &Error{Text: r.Setting + " is not a valid URL"}
	}
	request.Header.Set("Accept", "application/json")
	if r.Body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if r.Key != nil {
		key, err := r.Key()
		if err != nil {
			return nil, &Error{Text: fmt.Sprintf("key of the %s: %v", r.Service, err)}
		}
		if key != "" {
			request.Header.Set("Authorization", "Bearer "+key)
		}
	}
	response, err := r.Client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(http.MaxBytesReader(nil, response.Body, r.Limit))
	if status := response.StatusCode; status < 200 || status > 299 {
		text := strings.TrimSpace(fmt.Sprintf("%s returned %d %s", r.Service, status, http.StatusText(status)))
		return nil, &Error{Status: status, Body: body, RetryAfter: RetryAfter(response.Header), Text: text}
	}
	return body, err
}

// describeError describes why there is no response, or none that can be read.
func (r *Request) describeError(err error) string {
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return fmt.Sprintf("%s response is larger than %d bytes", r.Service, tooLarge.Limit)
	}
	if e, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return fmt.Sprintf("certificate of the %s is rejected (%s)", r.Service,
			strings.TrimPrefix(e.Err.Error(), "x509: "))
	}
	reason := "connection failed"
	errno, isErrno := errors.AsType[syscall.Errno](err)
	dns, isDNS := errors.AsType[*net.DNSError](err)
	e, isNet := errors.AsType[net.Error](err)
	switch {
	case errors.Is(err, errRedirected):
		return fmt.Sprintf("%s redirects to another address, which is not followed: set %s to that address", r.Service,
			r.Setting)
	case errors.Is(err, http.ErrSchemeMismatch):
		return fmt.Sprintf("%s does not use TLS: set %s to an http URL, or enable TLS", r.Service, r.Setting)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return r.Service + " response is truncated"
	case isErrno:
		reason = errno.Error()
	case isDNS:
		reason = dns.Err
	case isNet && e.Timeout():
		reason = "no connection in time"
	}
	return fmt.Sprintf("cannot reach the %s: %s", r.Service, reason)
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
