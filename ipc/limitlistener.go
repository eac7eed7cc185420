package ipc

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/memwatchd/memwatchd/api"
)

// A limitListener limits and authorizes the connections of a server. It accepts
// permitted connections up to a maximum and sends an error response to the
// others.
type limitListener struct {
	*Listener
	max       int
	onRefused func(reason string)

	closed         atomic.Bool
	slots          chan struct{}  // semaphore of refusals in progress
	refusals       sync.WaitGroup // refusals in progress, to wait for
	withoutRequest sync.WaitGroup // connections without a request so far

	mu   sync.Mutex
	open map[*trackedConn]struct{}
}

type trackedConn struct {
	net.Conn
	listener *limitListener
	idle     time.Time // start of waiting for the client, or of streaming; zero while a request is served

	requested sync.Once // for the first request

	streams bool
}

// maxRefusals bounds the number of concurrent error responses to refused
// connections. Further connections are closed without a response.
const maxRefusals = 16

func newLimitListener(l *Listener, limit int, refused func(string)) (*limitListener, error) {
	if err := l.net.SetDeadline(time.Time{}); err != nil {
		return nil, err
	}
	return &limitListener{
		Listener: l, max: limit, onRefused: refused, slots: make(chan struct{}, maxRefusals),
		open: map[*trackedConn]struct{}{},
	}, nil
}

// Addr returns the address of the listener.
func (g *limitListener) Addr() net.Addr { return g.net.Addr() }

// Close ends Accept. It leaves the socket open, so that another server can
// continue with it and clients always find it.
func (g *limitListener) Close() error {
	g.closed.Store(true)
	return g.net.SetDeadline(time.Now())
}

// Accept waits for the next permitted connection.
func (g *limitListener) Accept() (net.Conn, error) {
	for {
		c, err := g.net.Accept()
		switch {
		case err != nil && g.closed.Load():
			return nil, net.ErrClosed
		case err != nil:
			if errors.Is(err, syscall.EMFILE) {
				g.mu.Lock()
				g.evictLocked() // the server retries and accepts the pending connection
				g.mu.Unlock()
			}
			return nil, err
		}
		v, refusal := g.admitConn(c)
		if v != nil {
			return v, nil
		}
		select {
		case g.slots <- struct{}{}:
			g.refusals.Go(func() { sendRefusal(c, refusal); <-g.slots })
		default:
			c.Close()
		}
	}
}

// admitConn returns an accepted connection, or the reason to refuse it.
func (g *limitListener) admitConn(c net.Conn) (*trackedConn, *api.Error) {
	if err := g.checkPeer(c); err != nil {
		g.onRefused("credentials")
		return nil, api.AsError(err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	v := &trackedConn{Conn: c, listener: g, idle: time.Now()}
	if len(g.open) >= g.max && !g.evictLocked() {
		g.onRefused("connections")
		return nil, api.Errorf(api.Unavailable, "too many connections: %d are open", len(g.open))
	}
	g.open[v] = struct{}{}
	g.withoutRequest.Add(1)
	return v, nil
}

// evictLocked closes the connection that has waited longest for its client,
// so that silent or slow clients do not exclude others. If only streams are
// left, it closes the oldest stream. It reports whether it closed a connection.
func (g *limitListener) evictLocked() bool {
	var first *trackedConn
	for v := range g.open {
		if !v.idle.IsZero() && (first == nil || v.evictedBefore(first)) {
			first = v
		}
	}
	if first == nil {
		return false
	}
	delete(g.open, first)
	first.Conn.Close()
	return true
}

// evictedBefore reports whether v is closed in preference to other.
func (v *trackedConn) evictedBefore(other *trackedConn) bool {
	if v.streams != other.streams {
		return other.streams
	}
	return v.idle.Before(other.idle)
}

// trackState records which connections are idle. It is the server's ConnState
// hook.
func (g *limitListener) trackState(c net.Conn, state http.ConnState) {
	if v, ok := c.(*trackedConn); ok && state == http.StateIdle {
		v.setState(time.Now(), false)
	}
}

// waitFirstRequests waits until all connections have sent a request, for at most limit. The
// gate is closed by then and accepts no further connections.
func (g *limitListener) waitFirstRequests(limit time.Duration) {
	all := make(chan struct{})
	go func() {
		g.withoutRequest.Wait()
		close(all)
	}()
	select {
	case <-all:
	case <-time.After(limit):
	}
}

type connKey struct{}

// storeConn stores the connection in the context for handlers. It is the
// server's ConnContext hook.
func (g *limitListener) storeConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// connOf returns the connection in a context, or nil if there is none.
func connOf(ctx context.Context) *trackedConn {
	v, _ := ctx.Value(connKey{}).(*trackedConn)
	return v
}

// recordRequest records that the connection has sent its first request.
func (v *trackedConn) recordRequest() {
	if v != nil {
		v.requested.Do(v.listener.withoutRequest.Done)
	}
}

// markBusy marks the connection of a context as busy until the returned function
// is called.
func markBusy(ctx context.Context) (done func()) {
	v := connOf(ctx)
	v.setState(time.Time{}, false)
	return func() { v.setState(time.Now(), false) }
}

// setState records since when the connection waits for its client, if it does, and
// whether it is a stream, which can be closed to make room for others.
func (v *trackedConn) setState(idle time.Time, streams bool) {
	if v != nil {
		v.listener.mu.Lock()
		defer v.listener.mu.Unlock()
		v.idle, v.streams = idle, streams
	}
}

// Close closes the connection and frees its place in the listener.
func (v *trackedConn) Close() error {
	v.recordRequest()
	v.listener.mu.Lock()
	delete(v.listener.open, v)
	v.listener.mu.Unlock()
	return v.Conn.Close()
}

// sendRefusal sends an error response and closes the connection. It reads the
// request for at most a second: closing a connection with unread bytes resets
// it, and the client would not see the response.
func sendRefusal(c net.Conn, e *api.Error) {
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Second))
	body, _ := api.EncodeJSON(api.Failure{Error: e}) // texts can be encoded
	response := http.Response{StatusCode: e.Code.Status(), ProtoMajor: 1, ProtoMinor: 1, Close: true,
		ContentLength: int64(len(body)),
		Header:        http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(body))}
	if response.Write(c) != nil {
		return
	}
	if half, ok := c.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		io.Copy(io.Discard, io.LimitReader(c, 64<<10))
	}
}
