package ipc

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
	"golang.org/x/time/rate"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/ipc/mcp"
)

// Limits bound the load that one client can put on the others. Zero fields take
// the defaults.
type Limits struct {
	MaxRequest     int64         // bytes of a request body; 1 MiB
	MaxHeader      int           // bytes of a request header; 16 KiB
	ReadHeader     time.Duration // until the header is read; 30s
	ReadBody       time.Duration // until the body is read; 10s
	Write          time.Duration // until the response is written; 10s
	Idle           time.Duration // between requests on one connection; 2m
	MaxConnections int           // open connections per listener; 256
	Drain          time.Duration // for requests in progress at shutdown; 5s
}

func (l Limits) withDefaults() Limits {
	return Limits{
		MaxRequest:     cmp.Or(l.MaxRequest, 1<<20),
		MaxHeader:      cmp.Or(l.MaxHeader, 16<<10),
		ReadHeader:     cmp.Or(l.ReadHeader, 30*time.Second),
		ReadBody:       cmp.Or(l.ReadBody, 10*time.Second),
		Write:          cmp.Or(l.Write, 10*time.Second),
		Idle:           cmp.Or(l.Idle, 2*time.Minute),
		MaxConnections: cmp.Or(l.MaxConnections, 256),
		Drain:          cmp.Or(l.Drain, 5*time.Second),
	}
}

// A Backend executes operations. It must be safe for concurrent use.
type Backend interface {
	// Do executes an operation and returns the answer, to be encoded.
	Do(ctx context.Context, by api.Caller, req *api.Request) (any, error)
	// Stream returns a function that sends the parts of an answer until the
	// context ends or send returns an error. Stream itself returns the errors
	// of the request.
	Stream(ctx context.Context, by api.Caller, req *api.Request) (run func(send func(any) error) error, err error)
	// Status returns the state of the backend.
	Status() api.Status
}

// A Server answers on listeners. Its fields must not change while it runs.
type Server struct {
	Backend Backend
	Root    string // absolute path of the memory directory; requests for another one are refused
	Version string // of the program, reported to models
	Logger  *slog.Logger
	Limits  Limits
}

// Run answers requests on the listeners until the context ends. It then waits
// up to Limits.Drain for the requests in progress, ends the others with an error
// and returns nil. If a listener fails, Run stops answering on all of them and
// returns the error. The listeners stay open: their owner closes them.
func (s *Server) Run(ctx context.Context, listeners ...*Listener) error {
	r := *s
	r.Limits = s.Limits.withDefaults()
	// Three quarters of the file descriptors are for watching and searching.
	var files unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &files) == nil && len(listeners) > 0 {
		share := max(1, files.Cur/4/uint64(len(listeners)))
		r.Limits.MaxConnections = int(min(uint64(r.Limits.MaxConnections), share))
	}
	counters, guests := new(counters), newGuests()
	group, ctx := errgroup.WithContext(ctx)
	for _, l := range listeners {
		g, err := newLimitListener(l, r.Limits.MaxConnections, counters.recordRefused)
		if err != nil {
			return err
		}
		h := &handler{
			Server: &r, endpoint: l.Endpoint, counters: counters, guests: guests, ending: ctx,
			limiter: newLimiter(l.Rate),
		}
		h.mcp = &mcp.Handler{
			Listener: l.Name(), Fixed: l.Fixed, Version: s.Version, MaxRequest: r.Limits.MaxRequest,
			Do:       h.doForModel,
			Panicked: func(v any, stack []byte) { h.recordPanic("mcp", v, stack) },
		}
		group.Go(func() error { return h.serveListener(ctx, g) })
	}
	return group.Wait()
}

// newLimiter returns a token bucket with a rate of perSecond and a burst of one
// second. Without a rate it admits all requests.
func newLimiter(perSecond float64) *rate.Limiter {
	return rate.NewLimiter(cmp.Or(rate.Limit(perSecond), rate.Inf), max(int(perSecond), 1))
}

func (h *handler) serveListener(ctx context.Context, g *limitListener) error {
	// Requests in progress may finish when the daemon ends.
	base, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(nil)
	server := &http.Server{
		Handler:                      h,
		ReadHeaderTimeout:            h.Limits.ReadHeader,
		WriteTimeout:                 h.Limits.Write, // for responses of net/http itself; handlers extend it
		IdleTimeout:                  h.Limits.Idle,
		MaxHeaderBytes:               h.Limits.MaxHeader,
		ConnState:                    g.trackState,
		ConnContext:                  g.storeConn,
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(h.Logger.Handler(), slog.LevelDebug),
		BaseContext:                  func(net.Listener) context.Context { return base },
	}
	stop := context.AfterFunc(ctx, func() { g.Close() })
	err := server.Serve(g)
	if stop() {
		return err // not caused by the shutdown
	}
	// The listener accepts no more connections. Accepted clients may be about to
	// send a request, which a server that is shutting down would not answer.
	g.waitFirstRequests(min(firstRequestWait, h.Limits.Drain))
	shutDown := func(limit time.Duration) error {
		patience, cancel := context.WithTimeout(context.WithoutCancel(base), limit)
		defer cancel()
		return server.Shutdown(patience)
	}
	if shutDown(h.Limits.Drain) != nil { // the drain time is over
		end(errStopping)
		if shutDown(lastAnswerWait) != nil {
			server.Close()
		}
	}
	g.refusals.Wait()
	return nil
}

// errStopping answers requests that have not finished when the drain time is over.
var errStopping = api.Errorf(api.Unavailable, "the daemon stops or is reloaded").
	WithHint("retry")

// lastAnswerWait bounds the time in which requests end with errStopping.
const lastAnswerWait = time.Second

// firstRequestWait bounds how long a server that shuts down waits for connected clients
// that have not sent a request yet. On a busy machine a client may need most of
// a second for that.
const firstRequestWait = 2 * time.Second
