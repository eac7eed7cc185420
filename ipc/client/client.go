// Package client asks a daemon for the operations that package api describes, over
// its socket. [Client] has a method for each; [Store] and [Resolver] are for
// programs that keep items by keys and leave files to others.
package client

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/adrg/xdg"

	"github.com/memwatchd/memwatchd/api"
)

// DefaultSocket is where the daemon of this name listens unless it is told
// otherwise.
func DefaultSocket(name string) string {
	dir := os.Getenv("XDG_RUNTIME_DIR")
	if dir == "" {
		dir = xdg.StateHome
	}
	return filepath.Join(dir, "memwatchd", cmp.Or(name, "memwatchd")+".sock")
}

// ErrNoDaemon means that nobody answers.
var ErrNoDaemon = errors.New("no daemon answers")

// A Client asks a daemon. The zero Client asks the one on the default socket, as
// nobody in an unknown context. It is safe for concurrent use, as long as its
// fields do not change.
type Client struct {
	Socket  string    // of the daemon; empty for the default one
	Scope   api.Scope // of requests that do not say who asks, or where the answer is shown
	AsOwner bool      // a scope that is left out is the owner's, in private
	Starter string    // the command that starts its daemon, as is told when there is none; empty: memwatchd serve
}

// Do asks for an operation and returns the answer as it came over the wire. A
// failure that the daemon reports is an *[api.Error].
func (c *Client) Do(ctx context.Context, req *api.Request) (json.RawMessage, error) {
	res, err := c.send(ctx, req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, fmt.Errorf("%s: the answer broke off: %w", req.Operation().Name, err)
	}
	return body, nil
}

// Stream asks for an operation whose answer has no end, and calls f for each
// part of it until the context ends, the daemon goes, or f returns an error.
func (c *Client) Stream(ctx context.Context, req *api.Request, f func(json.RawMessage) error) error {
	res, err := c.send(ctx, req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		if !ok {
			continue
		}
		if err := f(bytes.Clone(data)); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return lines.Err()
}

func (c *Client) send(ctx context.Context, req *api.Request) (*http.Response, error) {
	body, err := json.Marshal(c.Scope.Complete(req))
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://memwatchd/v1/"+req.Operation().Name, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	if c.AsOwner {
		r.Header.Set(api.OwnerHeader, "1")
	}
	socket := cmp.Or(c.Socket, DefaultSocket(""))
	transport := &http.Transport{
		DisableKeepAlives: true, // a connection a question: they are cheap, and none is left behind
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "unix", socket)
		},
	}
	res, err := transport.RoundTrip(r)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return nil, fmt.Errorf("%w on %s: start it with `%s`", ErrNoDaemon, socket, cmp.Or(c.Starter, "memwatchd serve"))
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("%w on %s: %w, the socket is another user's", ErrNoDaemon, socket, fs.ErrPermission)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", req.Operation().Name, err)
	case res.StatusCode == http.StatusOK:
		return res, nil
	}
	defer res.Body.Close()
	var failure api.Failure
	if err := json.NewDecoder(io.LimitReader(res.Body, 1<<20)).Decode(&failure); err != nil || failure.Error == nil {
		return nil, fmt.Errorf("%s: the daemon answers %s", req.Operation().Name, res.Status)
	}
	return nil, failure.Error
}
