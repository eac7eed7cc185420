// Package client calls the operations of package api on a daemon, over its
// socket. [Call] executes an operation. [Store] and [Resolver] are for programs
// that store items by key and do not use files.
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
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/adrg/xdg"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/internal/peer"
)

// DefaultSocket returns the default socket path of the daemon with the given
// name. An empty name means memwatchd. Without XDG_RUNTIME_DIR, which su and cron do not
// set, the directory of the user's login sessions is used if it exists.
func DefaultSocket(name string) string {
	dir := os.Getenv("XDG_RUNTIME_DIR")
	if dir == "" {
		dir = fmt.Sprintf("/run/user/%d", os.Getuid())
		if _, err := os.Stat(dir); err != nil {
			dir = xdg.StateHome
		}
	}
	return filepath.Join(dir, "memwatchd", cmp.Or(name, "memwatchd")+".sock")
}

// ErrNoDaemon means that no daemon answers on the socket, or only one that the
// client may not use or does not trust.
var ErrNoDaemon = errors.New("no daemon answers")

// ErrOlder means that the daemon does not know a field or an operation that the client
// sent: it is of an earlier version.
var ErrOlder error = api.Errorf(api.Unavailable, "the daemon is older than this program").
	WithHint("run `memwatchd restart`")

// A Client sends requests to a daemon. The zero Client uses the default socket, as
// an anonymous caller in an unknown context. A Client is safe for concurrent use, as
// long as its fields do not change.
type Client struct {
	Socket  string    // of the daemon; empty for the default one
	Scope   api.Scope // default for requests that leave the caller or the context open
	AsOwner bool      // missing scope fields default to the owner and a private context

	Program api.Program // recorded with the changes that the client requests

	// ServerUIDs are the users whose daemons the client trusts, besides its own
	// user and root. The client sends nothing to a daemon of any other user.
	ServerUIDs []int

	// Root is the memory directory that the daemon must serve, an absolute path
	// without symbolic links. If it is empty, any will do.
	Root string

	Starter string // command that starts the daemon, for the error without one; empty: memwatchd serve

	// Older, if not nil, is called with [ErrOlder] before a request that only reads is
	// repeated without a field that the daemon does not know.
	Older func(error)

	// Start starts a daemon. If it is not nil, the client calls it when no daemon
	// answers, possibly several times at once, and sends the request again.
	Start func(context.Context) error
}

// Call executes the operation of a request, such as an [api.SearchRequest], and
// returns its answer. The daemon replaces a zero field of the request by its default; a
// field whose zero value has another meaning is a pointer:
//
//	client.Call(ctx, c, api.SearchRequest{Query: "certificate", Limit: 3, Count: new(false)})
//
// A nil client is the zero one. On failure the answer is nil. The error matches [ErrNoDaemon] if no daemon answers on
// the socket, and is an *[api.Error] if the daemon rejects the request; its Code is the
// kind of the error. Any other error is the context's or that of the connection: a
// change may have been made.
func Call[Request api.RequestFor[Answer], Answer any](ctx context.Context, c *Client, r Request) (*Answer, error) {
	req := api.RequestOf(r)
	raw, err := cmp.Or(c, new(Client)).Do(ctx, req)
	if err != nil {
		return nil, err
	}
	answer := new(Answer)
	if err := json.Unmarshal(raw, answer); err != nil {
		return nil, fmt.Errorf("%s: read the answer: %w", req.Operation().Name, err)
	}
	return answer, nil
}

// Do executes an operation and returns the answer in its wire format, with the errors
// of [Call].
func (c *Client) Do(ctx context.Context, req *api.Request) (json.RawMessage, error) {
	res, err := c.sendRequest(ctx, req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, fmt.Errorf("%s: incomplete answer: %w", req.Operation().Name, err)
	}
	return body, nil
}

// Stream executes an operation with an endless answer and calls f for each part
// of the answer, until the context ends, the daemon ends, or f returns an
// error. It returns the error of f, or nil in the other two cases. If the
// answer does not begin, the error is one of those of [Call].
func (c *Client) Stream(ctx context.Context, req *api.Request, f func(json.RawMessage) error) error {
	res, err := c.sendRequest(ctx, req)
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

// sendRequest sends a request. If an older daemon does not know a field of a request that
// only reads, or a use of the field, sendRequest repeats the request without the field. It
// does not repeat changes or omit the scope: both would then mean something else.
func (c *Client) sendRequest(ctx context.Context, req *api.Request) (*http.Response, error) {
	op, fields := req.Operation(), c.Scope.CompleteFields(req)
	for {
		res, err := c.sendFields(ctx, op, fields)
		name, unknown := findUnknown(req, err)
		if !unknown {
			return res, err
		}
		p, err := op.Param(name)
		if err != nil || p.Scope || !op.ReadOnly || fields[name] == nil {
			return nil, ErrOlder
		}
		delete(fields, name)
		if c.Older != nil {
			c.Older(ErrOlder)
		}
	}
}

// findUnknown reports whether an error means that the daemon does not know a field, a use of
// it, or the operation, and returns the name. Requests contain only those of package api, so a
// daemon of the same version knows all of them. The name is empty for a field of an object.
func findUnknown(req *api.Request, err error) (name string, unknown bool) {
	failure, failed := errors.AsType[*api.Error](err)
	if !failed {
		return "", false
	}
	op := req.Operation()
	object, rest, _ := strings.Cut(failure.Message, ": ")
	if strings.HasPrefix(rest, "no effect with ") && failure.Code == api.Invalid {
		return object, req.WithDefaults().Check() == nil
	}
	if p, err := op.Param(object); err == nil && p.Kind() == "object" && failure.Code == api.Invalid {
		return "", strings.HasPrefix(rest, "unknown field ")
	}
	if n, _ := fmt.Sscanf(failure.Message, "unknown field %q", &name); n == 1 && failure.Code == api.Invalid {
		return name, true
	}
	return "", failure.Code == api.NotFound && failure.Message == fmt.Sprintf("unknown operation %q", op.Name)
}

// sendFields sends the fields of an operation.
func (c *Client) sendFields(ctx context.Context, op *api.Operation, fields map[string]any) (*http.Response, error) {
	body, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://memwatchd/v1/"+op.Name,
		bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", api.OwnerHeader: api.TextIf(c.AsOwner, "1"),
		api.ProgramHeader: c.Program.Name, api.SessionHeader: c.Program.Session,
		api.RootHeader: url.PathEscape(c.Root), // a header cannot contain every path
	} {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	socket := cmp.Or(c.Socket, DefaultSocket(""))
	transport := &http.Transport{
		DisableKeepAlives: true, // one connection per request: cheap, and none is left open
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			conn, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "unix", socket)
			if err != nil {
				return nil, err
			}
			if err := c.checkServer(conn); err != nil {
				conn.Close()
				return nil, err
			}
			return conn, nil
		},
	}
	res, err := transport.RoundTrip(r)
	if isAbsent(err) && c.Start != nil {
		if err := c.Start(ctx); err != nil {
			return nil, fmt.Errorf("%w on %s: %w", ErrNoDaemon, socket, err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		res, err = transport.RoundTrip(r)
	}
	switch {
	case isAbsent(err):
		return nil, fmt.Errorf("%w on %s: run `%s`", ErrNoDaemon, socket,
			cmp.Or(c.Starter, "memwatchd serve"))
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("%w on %s: %w: the socket belongs to "+
			"another user", ErrNoDaemon, socket, fs.ErrPermission)
	case errors.Is(err, errForeign):
		return nil, fmt.Errorf("%w on %s: %w", ErrNoDaemon, socket, errForeign)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", op.Name, err)
	case res.StatusCode == http.StatusOK:
		return res, nil
	}
	defer res.Body.Close()
	var failure api.Failure
	if err := json.NewDecoder(io.LimitReader(res.Body, 1<<20)).Decode(&failure); err != nil || failure.Error == nil {
		return nil, fmt.Errorf("%s: unexpected status: %s", op.Name, res.Status)
	}
	return nil, failure.Error
}

// isAbsent reports whether an error of connecting means that nobody listens.
func isAbsent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED)
}

// errForeign reports a daemon that the client does not trust.
var errForeign = errors.New("another user listens there; if you trust that user's daemon, add the user ID to " +
	"ipc.server_uids")

// checkServer returns an error unless the other end of a connection belongs to
// the caller, to root, or to a user in ServerUIDs.
func (c *Client) checkServer(conn net.Conn) error {
	uid, _, err := peer.Of(conn)
	if err != nil {
		return err
	}
	if uid == os.Getuid() || uid == 0 || slices.Contains(c.ServerUIDs, uid) {
		return nil
	}
	return errForeign
}

// IsServer reports whether a process of this system listens on the socket. The
// process id in a status can be that of another system, as of a container whose
// socket is in a shared directory. On systems other than Linux, which may not report
// it, IsServer returns true.
func (c *Client) IsServer(ctx context.Context, pid int) (bool, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", cmp.Or(c.Socket, DefaultSocket("")))
	if err != nil {
		return false, err
	}
	defer conn.Close()
	_, server, err := peer.Of(conn)
	return server == pid || runtime.GOOS != "linux", err
}
