package mcp

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/ipc/client"
)

// Limits of the subscriptions of a session.
const (
	maxSubscriptions = 100
	maxURI           = 4096 // bytes
)

// eventsRetry is the time between attempts to receive events of the daemon, which
// may not be running.
const eventsRetry = 2 * time.Second

// subscriptions are the resources of which an agent receives updates. Events of
// the daemon are hints to read a resource again, with the scope of the agent: an
// update means that the text which the agent can read has changed. Thus updates
// cannot depend on text that the agent may not read, and changes made while the
// daemon was away are not missed.
type subscriptions struct {
	client  *client.Client
	execute ExecuteFunc
	// permitted returns the operations permitted to the caller, or false if
	// they are unknown.
	permitted func(context.Context) (*api.OperationsAnswer, bool)
	// update notifies the agent.
	update func(ctx context.Context, uri string)

	mu      sync.Mutex
	digests map[string]digest // of the readable texts, by URI
	stop    func()            // ends the stream of events; nil without one
	started chan struct{}     // receives if there is a first subscription
}

// A digest identifies a text; absent is that of a file that does not exist or
// is not readable, and unknown that of a text that was not read yet.
type digest [sha256.Size]byte

var unknown, absent = digest{}, digest{1}

// subscribe adds a subscription. A file that does not exist, or is not readable,
// is treated as any other, because it may become readable.
func (s *subscriptions) subscribe(ctx context.Context, req *mcp.SubscribeRequest) error {
	uri := req.Params.URI
	if _, ok := resourcePath(uri); !ok || len(uri) > maxURI {
		return noResource(uri)
	}
	if answer, ok := s.permitted(ctx); ok && !slices.Contains(answer.Operations, "events") {
		return rpcError(api.Errorf(api.Forbidden, "subscriptions need the owner in a private context").
			WithHint("read the resource again instead"))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.digests[uri]; !ok && len(s.digests) >= maxSubscriptions {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest,
			Message: "too many subscriptions: unsubscribe from others first"}
	}
	s.digests[uri] = unknown
	select {
	case s.started <- struct{}{}:
	default:
	}
	return nil
}

// unsubscribe removes a subscription.
func (s *subscriptions) unsubscribe(_ context.Context, req *mcp.UnsubscribeRequest) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.digests, req.Params.URI)
	if len(s.digests) == 0 && s.stop != nil {
		s.stop()
	}
	return nil
}

// run receives events while there are subscriptions, until the context ends.
func (s *subscriptions) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.started:
		}
		for s.receive(ctx) {
			select {
			case <-ctx.Done():
				return
			case <-time.After(eventsRetry):
			}
		}
	}
}

// receive receives events until the stream ends, or the last subscription does.
// It reports whether to try again: there are subscriptions, and the daemon does
// not refuse events to the caller.
func (s *subscriptions) receive(ctx context.Context) bool {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	s.mu.Lock()
	s.stop = stop
	needed := len(s.digests) > 0
	s.mu.Unlock()
	var err error
	if needed {
		err = s.client.Events(ctx, api.EventsRequest{}, func(e *api.Event) error {
			s.check(ctx, e.Path)
			return nil
		})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop = nil
	refusal, refused := errors.AsType[*api.Error](err)
	return len(s.digests) > 0 && !(refused && refusal.Code == api.Forbidden)
}

// check reads the resource with a path, or all of them if the path is empty, and
// notifies the agent of those that have changed.
func (s *subscriptions) check(ctx context.Context, changed string) {
	s.mu.Lock()
	var uris []string
	for uri := range s.digests {
		if path, _ := resourcePath(uri); changed == "" || path == changed {
			uris = append(uris, uri)
		}
	}
	s.mu.Unlock()
	slices.Sort(uris)
	for _, uri := range uris {
		before, now := s.read(ctx, uri)
		if before != unknown && before != now {
			s.update(ctx, uri)
		}
	}
}

// read returns the recorded digest of a resource and the present one, which it
// records.
func (s *subscriptions) read(ctx context.Context, uri string) (before, now digest) {
	path, _ := resourcePath(uri)
	answer, err := executeTyped[api.GetAnswer](ctx, s.execute, api.GetRequest{Path: path})
	switch {
	case err == nil:
		now = sha256.Sum256([]byte(answer.Text))
	case api.AsError(err).Code == api.NotFound, api.AsError(err).Code == api.Invalid:
		now = absent
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	before, subscribed := s.digests[uri]
	if now == unknown || !subscribed {
		return before, before // the daemon is away, or the subscription has ended
	}
	s.digests[uri] = now
	return before, now
}

// middleware reads a resource once the library has recorded its subscription,
// before the agent learns of that: of each later change, the agent is notified.
func (s *subscriptions) middleware(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if p, ok := req.GetParams().(*mcp.SubscriptionsAcknowledgedParams); ok {
			for _, uri := range p.Notifications.ResourceSubscriptions {
				s.read(ctx, uri)
			}
		}
		result, err := next(ctx, method, req)
		if p, ok := req.GetParams().(*mcp.SubscribeParams); ok && err == nil {
			s.read(ctx, p.URI)
		}
		return result, err
	}
}
