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

	Prefix string // of the names of collections; set by tests that share a cluster

	once   sync.Once
	client *http.Client
}

var _ share.Store = (*Client)(nil)

// Ready implements [share.Store].
func (c *Client) Ready(ctx context.Context) error {
	return c.send(ctx, http.MethodGet, "/v1/.well-known/ready", nil, nil)
}

// Close closes idle connections.
func (c *Client) Close() { c.httpClient().CloseIdleConnections() }

func (c *Client) httpClient() *http.Client {
	c.once.Do(func() { c.client = outbound.NewClient(connectTimeout, c.Roots) })
	return c.client
}

// send sends a request and decodes the response into answer, unless answer is nil.
func (c *Client) send(ctx context.Context, method, path string, body, answer any) error {
	request := outbound.Request{
		Client: c.httpClient(), Service: "store", Setting: "share.weaviate.url", Key: c.Key, Method: method,
		URL: strings.TrimRight(c.URL, "/") + path, Limit: maxAnswer, Timeout: cmp.Or(c.Timeout, DefaultTimeout),
	}
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return &share.Error{Err: fmt.Errorf("encode request: %w", err)}
		}
		request.Body = text
	}
	text, err := request.Send(ctx)
	if e, ok := errors.AsType[*outbound.Error](err); ok {
		return newError(e)
	}
	if err == nil && answer != nil && json.Unmarshal(text, answer) != nil {
		return &share.Error{Err: errInvalidAnswer}
	}
	return err
}

var errInvalidAnswer = errors.New("store response is not that of Weaviate: check share.weaviate.url")

// newError returns the error of a failed request with its consequences. The reasons for
// which all requests fail until a user acts are permanent.
func newError(e *outbound.Error) *share.Error {
	failed := &share.Error{Err: e, RetryAfter: e.RetryAfter}
	switch e.Status {
	case 0:
		if _, ok := errors.AsType[*tls.CertificateVerificationError](e); ok {
			failed.Err = fmt.Errorf("%w: set SSL_CERT_FILE for the daemon, or the name in the certificate as share.weaviate.url", e)
		}
	case http.StatusUnauthorized:
		e.Text, failed.Permanent = "store rejects the API key: check share.weaviate.key_file", true
	case http.StatusForbidden:
		e.Text, failed.Permanent = "store denies access with the API key: extend its role in the cluster", true
	case http.StatusNotFound:
		e.Text = "store does not know the request: check share.weaviate.url"
	}
	return failed
}

func isStatus(err error, codes ...int) bool {
	e, ok := errors.AsType[*outbound.Error](err)
	return ok && slices.Contains(codes, e.Status)
}

// isUnknownTenant reports whether an error is that of a tenant without objects.
func isUnknownTenant(err error) bool {
	e, ok := errors.AsType[*outbound.Error](err)
	return ok && e.Status == http.StatusUnprocessableEntity && bytes.Contains(e.Body, []byte(unknownTenant))
}

// These texts are parts of messages for which the store has no code, or not always:
// that a tenant has no objects, and that the API key cannot read a tenant.
const (
	unknownTenant = "tenant not found"
	forbidden     = "forbidden action"
)
