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

// A gate stands before a server: it lets in who may come in, as many as there
// is room for, and sends the others away with a word.
type gate struct {
	*Listener
	max     int
	files   uint64 // that we may have open
	refused func(reason string)
	short   func() // called when clients have to go because too many files are open

	closed atomic.Bool
	slots  chan struct{}  // refusals under way
	going  sync.WaitGroup // the same, to wait for
	silent sync.WaitGroup // guests that have not asked anything yet

	mu   sync.Mutex
	open map[*guest]struct{}
}

// A guest is a connection that was let in.
type guest struct {
	net.Conn
	gate *gate
	idle time.Time // since when it waits for its client, or streams; zero while its client waits for us

	once  sync.Once // it closes
	asked sync.Once // it asks for the first time

	streams bool
	scarce  bool // it has one of the files that are not for clients
}

// maxRefusals is how many connections may be sent away at a time with a word;
// more are just closed.
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

// Addr is the address that is listened on.
func (g *gate) Addr() net.Addr { return g.net.Addr() }

// Close ends Accept. The socket itself stays as it is, so that another server
// can go on with it and no client finds it gone.
func (g *gate) Close() error {
	g.closed.Store(true)
	return g.net.SetDeadline(time.Now())
}

// Accept waits for the next connection that may come in.
func (g *gate) Accept() (net.Conn, error) {
	for {
		c, err := g.net.Accept()
		switch {
		case err != nil && g.closed.Load():
			return nil, net.ErrClosed
		case err != nil:
			if errors.Is(err, syscall.EMFILE) {
				g.makeRoom() // who asked is accepted when the server tries again
			}
			return nil, err
		}
		v, refusal := g.admit(c)
		if v != nil {
			return v, nil
		}
		if refusal == nil {
			c.Close() // no time for words
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

// admit decides about a connection. One that is refused without an error is to
// be closed at once.
func (g *gate) admit(c net.Conn) (*guest, *api.Error) {
	if err := g.admits(c); err != nil {
		g.refused("credentials")
		return nil, api.AsError(err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	v := &guest{Conn: c, gate: g, idle: time.Now(), scarce: g.scarce(c)}
	if v.scarce || g.scarceLocked() {
		g.short()
		// Somebody can always ask how we are.
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

func (g *gate) scarceLocked() bool {
	for v := range g.open {
		if v.scarce {
			return true
		}
	}
	return false
}

// makeRoom sends somebody away because too many files are open.
func (g *gate) makeRoom() {
	g.short()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.dismissLocked()
}

// dismissLocked closes the connection that has waited for its client for
// longest, so that those who are silent, or slow to ask or to read, do not keep
// others out. If there is none, the oldest stream has to go.
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

// before reports whether it goes before another when somebody has to.
func (v *guest) before(other *guest) bool {
	if v.streams != other.streams {
		return other.streams
	}
	return v.idle.Before(other.idle)
}

// observe notes which connections are idle. It is the server's ConnState hook.
func (g *gate) observe(c net.Conn, state http.ConnState) {
	if v, ok := c.(*guest); ok && state == http.StateIdle {
		v.serve(false)
	}
}

// hear waits until all guests have asked something, but not for longer than
// that. Nobody else is let in meanwhile.
func (g *gate) hear(limit time.Duration) {
	all := make(chan struct{})
	go func() {
		g.silent.Wait()
		close(all)
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-all:
	case <-timer.C:
	}
}

type guestKey struct{}

// introduce lets a handler find the guest that asks. It is the server's
// ConnContext hook.
func (g *gate) introduce(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, guestKey{}, c)
}

// asked notes that the request of a context is its guest's first.
func asked(ctx context.Context) {
	if v, ok := ctx.Value(guestKey{}).(*guest); ok {
		v.speak()
	}
}

func (v *guest) speak() { v.asked.Do(v.gate.silent.Done) }

// serving notes that the request of a context has arrived and is being worked
// on, until the function that it returns is called.
func serving(ctx context.Context) (done func()) {
	v, ok := ctx.Value(guestKey{}).(*guest)
	if !ok {
		return func() {}
	}
	v.serve(true)
	return func() { v.serve(false) }
}

// listening notes that a guest is told what happens, for as long as there is
// room for that.
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

// Close makes room for another.
func (v *guest) Close() error {
	v.speak()
	v.once.Do(func() {
		v.gate.mu.Lock()
		delete(v.gate.open, v)
		v.gate.mu.Unlock()
	})
	return v.Conn.Close()
}

// refuse tells the other end why it is sent away, and closes. It reads what the
// client has to say for a moment: a connection that is closed on unread bytes
// makes the client see a reset in place of the answer.
func refuse(c net.Conn, e *api.Error) {
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Second))
	body, err := json.Marshal(api.Failure{Error: e})
	if err != nil {
		return
	}
	status := e.Code.Status()
	_, err = fmt.Fprintf(c, "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s\n",
		status, http.StatusText(status), len(body)+1, body)
	if err != nil {
		return
	}
	if half, ok := c.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		io.Copy(io.Discard, io.LimitReader(c, 64<<10))
	}
}
