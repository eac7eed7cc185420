// Package weaviate stores the objects of package share in a cluster of Weaviate
// (https://weaviate.io), over its REST and GraphQL interfaces.
package weaviate

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/memwatchd/memwatchd/internal/outbound"
	"github.com/memwatchd/memwatchd/internal/share"
)

// The limits of a request. A Client can set another timeout.
const (
	DefaultTimeout = 5 * time.Second
	connectTimeout = time.Second
	maxAnswer      = 32 << 20 // bytes of a whole response; a batch is repeated in its response
)

// A Client is a [share.Store] in a cluster. Its fields must not change while it is
// in use; its methods are safe for concurrent use.
type Client struct {
	URL   string                 // of any node or a load balancer, without a path
	Key   func() (string, error) // returns the API key, called for each request; nil if none is needed
	Roots *x509.CertPool         // authorities of the server's certificate; nil for those of the system

	Timeout time.Duration // of each request; DefaultTimeout if zero

	Prefix   string // of the names of collections, for several memories in one cluster
	Replicas int    // replication factor of collections that Init creates; zero for the default of the cluster

	once   sync.Once
	client *http.Client
}

var _ share.Store = (*Client)(nil)

// CheckPrefix returns an error if names of collections cannot begin with prefix.
func CheckPrefix(prefix string) error {
	for i, r := range prefix {
		letter := 'A' <= r && r <= 'Z' || i > 0 && ('a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '_')
		if !letter || i > 63 {
			return fmt.Errorf("%q is not a prefix: use a capital letter, then letters, digits and underscores", prefix)
		}
	}
	return nil
}

// Ready implements [share.Store].
func (c *Client) Ready(ctx context.Context) error {
	return c.send(ctx, http.MethodGet, "/v1/.well-known/ready", nil, nil)
}

// Close closes idle connections.
func (c *Client) Close() { c.httpClient().CloseIdleConnections() }

var errRedirected = errors.New("store redirects to another address, which is not followed: set share.weaviate.url to " +
	"that address")

func (c *Client) httpClient() *http.Client {
	c.once.Do(func() {
		c.client = outbound.NewClient(outbound.NewTransport(connectTimeout, c.Roots), errRedirected)
	})
	return c.client
}

// send sends a request and decodes the response into answer, unless answer is nil.
// The error is that of the context if the caller canceled it, and otherwise a
// [share.Error].
func (c *Client) send(ctx context.Context, method, path string, body, answer any) error {
	limited, cancel := context.WithTimeout(ctx, cmp.Or(c.Timeout, DefaultTimeout))
	defer cancel()
	err := c.sendOnce(limited, method, path, body, answer)
	switch {
	case err == nil:
		return nil
	case errors.Is(ctx.Err(), context.Canceled):
		return ctx.Err()
	case limited.Err() != nil:
		return &share.Error{Err: errors.New("store did not respond in time")}
	}
	return describeError(err)
}

func (c *Client) sendOnce(ctx context.Context, method, path string, body, answer any) error {
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return &share.Error{Err: fmt.Errorf("encode request: %w", err)}
		}
		content = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimRight(c.URL, "/")+path, content)
	if err != nil {
		return &share.Error{Err: errors.New("share.weaviate.url is not a valid URL"), Permanent: true}
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if c.Key != nil {
		key, err := c.Key()
		if err != nil {
			return &share.Error{Err: fmt.Errorf("share.weaviate.key_file: %w", err)}
		}
		request.Header.Set("Authorization", "Bearer "+key)
	}
	response, err := c.httpClient().Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(http.MaxBytesReader(nil, response.Body, maxAnswer))
	if err != nil {
		return err
	}
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return newStatusError(response, text)
	}
	if answer != nil && json.Unmarshal(text, answer) != nil {
		return &share.Error{Err: errInvalidAnswer}
	}
	return nil
}

var errInvalidAnswer = errors.New("store response is not that of Weaviate: check share.weaviate.url")

// A statusError is a response with a status other than 2xx. Its message is from
// the store and can repeat text of the request.
type statusError struct {
	code    int
	message string
}

// newStatusError returns the error of a response. The reasons for which all
// requests fail, until the configuration changes, are permanent.
func newStatusError(response *http.Response, text []byte) *share.Error {
	e := &statusError{code: response.StatusCode}
	var answer struct {
		Error   []struct{ Message string }
		Message string
	}
	if json.Unmarshal(text, &answer) == nil {
		e.message = answer.Message
		if len(answer.Error) > 0 {
			e.message = answer.Error[0].Message
		}
	}
	permanent := e.code == http.StatusUnauthorized || e.code == http.StatusForbidden
	return &share.Error{Err: e, Permanent: permanent, RetryAfter: outbound.RetryAfter(response.Header)}
}

func (e *statusError) Error() string {
	switch e.code {
	case http.StatusUnauthorized:
		return "store rejects the API key: check share.weaviate.key_file"
	case http.StatusForbidden:
		return "store denies access with the API key: extend its role in the cluster"
	case http.StatusNotFound:
		return "store does not know the request: check share.weaviate.url"
	case http.StatusTooManyRequests:
		return "store receives too many requests"
	case http.StatusServiceUnavailable:
		return "store is not ready"
	}
	return strings.TrimSpace(fmt.Sprintf("store returned %d %s", e.code, http.StatusText(e.code)))
}

func isStatus(err error, codes ...int) bool {
	e, ok := errors.AsType[*statusError](err)
	return ok && slices.Contains(codes, e.code)
}

// isUnknownTenant reports whether an error is that of a tenant without objects.
func isUnknownTenant(err error) bool {
	e, ok := errors.AsType[*statusError](err)
	return ok && e.code == http.StatusUnprocessableEntity && strings.Contains(e.message, unknownTenant)
}

// These texts are parts of messages for which the store has no code, or not always:
// that a tenant has no objects, and that the API key cannot read a tenant.
const (
	unknownTenant = "tenant not found"
	forbidden     = "forbidden action"
)

// describeError converts an error to one with a remedy and without addresses.
func describeError(err error) error {
	if e, ok := errors.AsType[*share.Error](err); ok {
		return e
	}
	tooLarge, isTooLarge := errors.AsType[*http.MaxBytesError](err)
	certificate, isCertificate := errors.AsType[*tls.CertificateVerificationError](err)
	switch {
	case isTooLarge:
		err = fmt.Errorf("store response is larger than %d bytes", tooLarge.Limit)
	case isCertificate:
		err = fmt.Errorf("certificate of the store is rejected (%s): set share.weaviate.ca_file, or the name in the "+
			"certificate as share.weaviate.url", strings.TrimPrefix(certificate.Err.Error(), "x509: "))
	case errors.Is(err, errRedirected):
		err = errRedirected
	case errors.Is(err, http.ErrSchemeMismatch):
		err = errors.New("store does not use TLS: set share.weaviate.url to an http URL, or enable TLS at the store")
	case errors.Is(err, io.ErrUnexpectedEOF):
		err = errors.New("store response is truncated")
	default:
		err = fmt.Errorf("cannot reach the store: %s", outbound.FailureReason(err))
	}
	return &share.Error{Err: err}
}
