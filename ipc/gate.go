package ipc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/memwatchd/memwatchd/api"
)

// A gate limits and authorizes the connections of a server. It accepts
// permitted connections up to a maximum and sends an error response to the
// others.
type gate struct {
	*Listener
	max     int
	files   uint64 // limit on open files of the process
	refused func(reason string)
	short   func() // called when connections are closed because too many files are open

	closed atomic.Bool
	slots  chan struct{}  // semaphore of refusals in progress
	going  sync.WaitGroup // refusals in progress, to wait for
	silent sync.WaitGroup // connections without a request so far

	mu   sync.Mutex
	open map[*guest]struct{}
}

// A guest is an accepted connection.
type guest struct {
	net.Conn
	gate *gate
	idle time.Time // start of waiting for the client, or of streaming; zero while a request is served

	once  sync.Once // for closing
	asked sync.Once // for the first request

	streams bool
	scarce  bool // uses a descriptor of the reserve
}

// maxRefusals bounds the number of concurrent error responses to refused
// connections. Further connections are closed without a response.
const maxRefusals = 16

func newGate(l *Listener, limit int, refused func(string), short func()) (*gate, error) {
	if err := l.net.SetDeadline(time.Time{}); err != nil {
		return nil, err
	}
	return &gate{
		Listener: l, max: limit, files: fileLimit(), refused: refused, short: short,
		slots: make(chan struct{}, maxRefusals), open: map[*guest]struct{}{},
	}, nil
}

// Addr returns the address of the listener.
func (g *gate) Addr() net.Addr { return g.net.Addr() }

// Close ends Accept. It leaves the socket open, so that another server can
// continue with it and clients always find it.
func (g *gate) Close() error {
	g.closed.Store(true)
	return g.net.SetDeadline(time.Now())
}

// Accept waits for the next permitted connection.
func (g *gate) Accept() (net.Conn, error) {
	for {
		c, err := g.net.Accept()
		switch {
		case err != nil && g.closed.Load():
			return nil, net.ErrClosed
		case err != nil:
			if errors.Is(err, syscall.EMFILE) {
				g.makeRoom() // the server retries and accepts the pending connection
			}
			return nil, err
		}
		v, refusal := g.admit(c)
		if v != nil {
			return v, nil
		}
		if refusal == nil {
			c.Close() // refused for lack of descriptors: without a response
			continue
		}
		select {
		case g.slots <- struct{}{}:
			g.going.Go(func() { refuse(c, refusal); <-g.slots })
		default:
			c.Close()
		}
	}
}

// admit decides whether to accept a connection. If both results are nil, the
// caller closes the connection without a response.
func (g *gate) admit(c net.Conn) (*guest, *api.Error) {
	if err := g.admits(c); err != nil {
		g.refused("credentials")
		return nil, api.AsError(err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	v := &guest{Conn: c, gate: g, idle: time.Now(), scarce: g.scarce(c)}
	scarce := v.scarce
	for other := range g.open {
		scarce = scarce || other.scarce
	}
	if scarce {
		g.short()
		// Without other connections, one is admitted despite the shortage, so
		// that status stays available.
		if len(g.open) > 0 && !g.dismissLocked() {
			g.refused("files")
			return nil, nil
		}
	}
	if len(g.open) >= g.max && !g.dismissLocked() {
		g.refused("connections")
		return nil, api.Errorf(api.Unavailable, "%d connections are open, and there may be no more", len(g.open))
	}
	g.open[v] = struct{}{}
	g.silent.Add(1)
	return v, nil
}

// makeRoom closes a connection because too many files are open.
func (g *gate) makeRoom() {
	g.short()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.dismissLocked()
}

// dismissLocked closes the connection that has waited longest for its client,
// so that silent or slow clients do not exclude others. If only streams are
// left, it closes the oldest stream. It reports whether it closed a connection.
func (g *gate) dismissLocked() bool {
	var first *guest
	for v := range g.open {
		if !v.idle.IsZero() && (first == nil || v.before(first)) {
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

// before reports whether v is closed in preference to other.
func (v *guest) before(other *guest) bool {
	if v.streams != other.streams {
		return other.streams
	}
	return v.idle.Before(other.idle)
}

// observe records which connections are idle. It is the server's ConnState
// hook.
func (g *gate) observe(c net.Conn, state http.ConnState) {
	if v, ok := c.(*guest); ok && state == http.StateIdle {
		v.serve(false)
	}
}

// hear waits until all connections have sent a request, for at most limit. The
// gate is closed by then and accepts no further connections.
func (g *gate) hear(limit time.Duration) {
	all := make(chan struct{})
	go func() {
		g.silent.Wait()
		close(all)
	}()
	select {
	case <-all:
	case <-time.After(limit):
	}
}

type guestKey struct{}

// introduce stores the connection in the context for handlers. It is the
// server's ConnContext hook.
func (g *gate) introduce(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, guestKey{}, c)
}

// asked records that the connection of a context has sent its first request.
func asked(ctx context.Context) {
	if v, ok := ctx.Value(guestKey{}).(*guest); ok {
		v.speak()
	}
}

func (v *guest) speak() { v.asked.Do(v.gate.silent.Done) }

// serving marks the connection of a context as busy until the returned function
// is called.
func serving(ctx context.Context) (done func()) {
	v, ok := ctx.Value(guestKey{}).(*guest)
	if !ok {
		return func() {}
	}
	v.serve(true)
	return func() { v.serve(false) }
}

// listening marks the connection of a context as a stream, which can be closed
// to make room for others.
func listening(ctx context.Context) {
	if v, ok := ctx.Value(guestKey{}).(*guest); ok {
		v.gate.mu.Lock()
		defer v.gate.mu.Unlock()
		v.idle, v.streams = time.Now(), true
	}
}

func (v *guest) serve(busy bool) {
	v.gate.mu.Lock()
	defer v.gate.mu.Unlock()
	v.idle, v.streams = time.Time{}, false
	if !busy {
		v.idle = time.Now()
	}
}

// Close closes the connection and frees its place in the gate.
func (v *guest) Close() error {
	v.speak()
	v.once.Do(func() {
		v.gate.mu.Lock()
		delete(v.gate.open, v)
		v.gate.mu.Unlock()
	})
	return v.Conn.Close()
}

// refuse sends an error response and closes the connection. It reads the
// request for at most a second: closing a connection with unread bytes resets
// it, and the client would not see the response.
func refuse(c net.Conn, e *api.Error) {
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Second))
	body, err := json.Marshal(api.Failure{Error: e})
	if err != nil {
		return
	}
	status := e.Code.Status()
	_, err = fmt.Fprintf(c,
		"HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s\n",
		status, http.StatusText(status), len(body)+1, body)
	if err != nil {
		return
	}
	if half, ok := c.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		io.Copy(io.Discard, io.LimitReader(c, 64<<10))
	}
}
