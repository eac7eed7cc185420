package ipc

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"
)

// Limits keep one client from being a burden to the others. Zero fields take
// the defaults.
type Limits struct {
	MaxRequest     int64         // bytes of a request's body; 1 MiB
	MaxHeader      int           // bytes of its header; 16 KiB
	ReadHeader     time.Duration // for the header to arrive; 5s
	ReadBody       time.Duration // for the body to arrive; 10s
	Write          time.Duration // for the client to take the answer; 10s
	Idle           time.Duration // between requests on one connection; 2m
	MaxConnections int           // open at a time, a listener; 256
	Drain          time.Duration // for requests under way when the server ends; 5s
}

func (l Limits) withDefaults() Limits {
	return Limits{
		MaxRequest:     cmp.Or(l.MaxRequest, 1<<20),
		MaxHeader:      cmp.Or(l.MaxHeader, 16<<10),
		ReadHeader:     cmp.Or(l.ReadHeader, 5*time.Second),
		ReadBody:       cmp.Or(l.ReadBody, 10*time.Second),
		Write:          cmp.Or(l.Write, 10*time.Second),
		Idle:           cmp.Or(l.Idle, 2*time.Minute),
		MaxConnections: cmp.Or(l.MaxConnections, 256),
		Drain:          cmp.Or(l.Drain, 5*time.Second),
	}
}

// A Backend does operations. It must be safe for concurrent use.
type Backend interface {
	// Do does what is asked for, and returns the answer, to be encoded.
	Do(ctx context.Context, by api.Caller, req *api.Request) (any, error)
	// Stream returns a function that sends the parts of an answer until the
	// context ends, or send returns an error. What is wrong with the request is
	// said before.
	Stream(ctx context.Context, by api.Caller, req *api.Request) (run func(send func(any) error) error, err error)
	// Status is how the backend is doing.
	Status() api.Status
}

// A Server answers on listeners. Its fields must not change while it runs.
type Server struct {
	Backend  Backend
	Version  string // of the program, as models are told
	Logger   *slog.Logger
	Limits   Limits
	Registry *prometheus.Registry // served as /metrics; nil for one of its own

	shortage shortage
}

// liveHeap is what the last collection found in use: the one figure of the
// heap that does not swing.
var liveHeap = collectors.GoRuntimeMetricsRule{Matcher: regexp.MustCompile("^/gc/heap/live:bytes$")}

// Run answers until the context ends, then lets the requests under way finish,
// for as long as Limits.Drain. The listeners stay open: their owner closes them.
func (s *Server) Run(ctx context.Context, listeners ...*Listener) error {
	limits := s.Limits.withDefaults()
	registry := s.Registry
	if registry == nil {
		registry = prometheus.NewRegistry()
		// How the process is doing, by the names that dashboards know.
		registry.MustRegister(
			collectors.NewGoCollector(collectors.WithGoCollectorRuntimeMetrics(liveHeap)),
			collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	}
	counters, err := newCounters(registry, s.Backend)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, l := range listeners {
		refused := func(reason string) { counters.refused.WithLabelValues(reason).Inc() }
		g, err := newGate(l, limits.MaxConnections, refused, s.short)
		if err != nil {
			return err
		}
		h := &handler{
			backend: s.Backend, logger: s.Logger, limits: limits, endpoint: l.Endpoint,
			counters: counters, registry: registry, ending: ctx,
			limiter: newLimiter(l.Rate),
		}
		h.mcp = h.speaker(s.Version)
		group.Go(func() error { return s.serve(ctx, g, h, limits) })
	}
	return group.Wait()
}

// newLimiter returns a token bucket of so many requests a second, with room for a
// second's worth. Without a rate it lets everything through.
func newLimiter(perSecond float64) *rate.Limiter {
	if perSecond <= 0 {
		return rate.NewLimiter(rate.Inf, 0)
	}
	return rate.NewLimiter(rate.Limit(perSecond), max(int(perSecond), 1))
}

// short is called when clients have to go because too many files are open.
func (s *Server) short() {
	if s.shortage.begins(time.Now()) {
		s.Logger.Warn("too many files are open, clients have to go", "limit", fileLimit())
	}
}

// Problems lists what a person should know of the listeners.
func (s *Server) Problems() []api.FileProblem {
	if p, ok := s.shortage.problem(time.Now()); ok {
		return []api.FileProblem{p}
	}
	return nil
}

func (s *Server) serve(ctx context.Context, g *gate, h *handler, limits Limits) error {
	server := &http.Server{
		Handler:                      h,
		ReadHeaderTimeout:            limits.ReadHeader,
		WriteTimeout:                 limits.Write, // of what net/http answers by itself; handlers extend it
		IdleTimeout:                  limits.Idle,
		MaxHeaderBytes:               limits.MaxHeader,
		ConnState:                    g.observe,
		ConnContext:                  g.introduce,
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(s.Logger.Handler(), slog.LevelDebug),
		// Requests under way when the daemon ends may finish.
		BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}
	stop := context.AfterFunc(ctx, func() { g.Close() })
	err := server.Serve(g)
	if stop() {
		return err // not our doing
	}
	// Nobody comes in any more. Who has come in is still about to ask, and would
	// get no answer from a server that is shutting down.
	g.hear(min(hearing, limits.Drain))
	patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), limits.Drain)
	defer cancel()
	if server.Shutdown(patience) != nil {
		server.Close() // they had their time
	}
	g.going.Wait()
	return nil
}

// hearing bounds how long a server that ends waits for clients that have connected
// and have not sent a request yet. On a busy machine a client may need most of a
// second for that.
const hearing = 2 * time.Second
