// Package ntfy subscribes to a topic of an ntfy server (https://ntfy.sh or a
// private one) and processes each message once, despite connection failures.
//
// A message is complete when its handler returns nil; the next message waits
// for that. The position is stored as the id of the last message, so that
// messages sent while no subscriber runs are fetched later, as long as the
// server keeps them. After a crash between handling a message and storing its
// id the message is delivered again: handlers recognize it by its id.
package ntfy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
)

const (
	// idleTimeout is the time without data after which a connection counts as
	// broken. The server sends a keepalive every 45 seconds.
	idleTimeout = 2 * time.Minute

	// After a failure the delay starts at soonest and doubles up to latest. A
	// message or a keepalive resets it.
	minDelay, maxDelay = time.Second, 5 * time.Minute
	// maxServerDelay bounds the delay that a server can request.
	maxServerDelay = time.Hour
)

// A Subscriber subscribes to a topic. Its fields must not change while it runs.
type Subscriber struct {
	Server string // URL without a path
	Topic  string

	// Token returns the access token. It is called for each connection. If it
	// is nil, or the token is empty, requests have no token.
	Token func() (string, error)
	// Handle processes a message. Calls do not overlap. After an error it is
	// called again with the same message, with increasing delays.
	Handle func(context.Context, Message) error
	Path   string // of the state file with the position for the next start

	Transport http.RoundTripper // nil for its own transport, with the proxies of the environment
	Logger    *slog.Logger      // never receives the text of messages

	mu     sync.Mutex
	status Status
}

// Status is the state of a subscription.
type Status struct {
	Connected bool
	Messages  int       // handled since the start
	Last      time.Time // time of the last one
	Problem   string    // why the connection or the handling of a message failed; empty without a failure
}

// Status returns the present state of the subscription. It is safe for
// concurrent use.
func (s *Subscriber) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status
}

func (s *Subscriber) updateStatus(f func(*Status)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.status)
}

// topicRE matches the name of a topic, and the id of a message, which has 12
// letters and digits.
var topicRE = lazyregexp.New(`^[A-Za-z0-9_-]{1,64}$`)

// CheckServer returns an error if a URL is not a valid server URL. It requires
// https, except for this machine, because requests, including the token, would
// otherwise be sent in the clear.
func CheckServer(server string) error {
	u, err := url.Parse(server)
	switch {
	case err != nil:
		return fmt.Errorf("%q is not a URL", server)
	case u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("%q is not a URL such as https://ntfy.sh", server)
	case u.Scheme == "https", u.Scheme == "http" && isLoopback(u.Hostname()):
		return nil
	}
	return fmt.Errorf("%s: use https, or http for a server on this machine", server)
}

// CheckTopic returns an error if a text is not a valid topic name.
func CheckTopic(topic string) error {
	if !topicRE().MatchString(topic) {
		return fmt.Errorf("%q is not a topic: use 1 to 64 letters, digits, dashes and underscores", topic)
	}
	return nil
}

func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

// Run subscribes until the context ends, and returns the error of the context.
// It retries after all other errors.
func (s *Subscriber) Run(ctx context.Context) error {
	defer s.updateStatus(func(st *Status) { st.Connected = false })
	transport := s.Transport
	if transport == nil {
		ownTransport := http.DefaultTransport.(*http.Transport).Clone()
		defer ownTransport.CloseIdleConnections()
		transport = ownTransport
	}
	client := &http.Client{Transport: transport, CheckRedirect: func(req *http.Request, _ []*http.Request) error {
		return fmt.Errorf("server redirects to %s: set capture.ntfy.server to that host", req.URL.Host)
	}}
	at := s.loadPosition()
	var wait backoff
	for ctx.Err() == nil {
		err := s.processConnection(ctx, client, at, &wait)
		if ctx.Err() != nil {
			break
		}
		delay := wait.nextDelay()
		if refused, ok := errors.AsType[*responseError](err); ok {
			delay = max(delay, min(refused.retryAfter, maxServerDelay))
		}
		s.updateStatus(func(st *Status) { st.Connected, st.Problem = false, err.Error() })
		s.Logger.Warn("cannot receive the topic", "err", err, "again", delay.Round(time.Second))
		waitDelay(ctx, delay)
	}
	return ctx.Err()
}

// backoff computes the delays between attempts.
type backoff struct{ last time.Duration }

// nextDelay returns a random delay of at least half the present maximum, so that
// clients do not all reconnect at the same moment.
func (b *backoff) nextDelay() time.Duration {
	b.last = min(cmp.Or(2*b.last, minDelay), maxDelay)
	return b.last/2 + rand.N(b.last/2)
}

func (b *backoff) reset() { b.last = 0 }

// waitDelay waits for d or until the context ends.
func waitDelay(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// handleMessage calls Handle until it succeeds, and stores the new position. It skips
// messages that were handled before. If the context ends first, the message
// stays pending.
func (s *Subscriber) handleMessage(ctx context.Context, at *position, m Message) {
	if at.isHandled(m) {
		return
	}
	var wait backoff
	for ctx.Err() == nil {
		err := s.Handle(ctx, m)
		if err == nil {
			break
		}
		delay := wait.nextDelay()
		s.updateStatus(func(st *Status) { st.Problem = "cannot save a message: " + err.Error() })
		s.Logger.Warn("cannot save a message", "id", m.ID, "err", err, "again", delay.Round(time.Second))
		waitDelay(ctx, delay)
	}
	if ctx.Err() != nil {
		return
	}
	at.addHandled(m)
	s.savePosition(at)
	s.updateStatus(func(st *Status) {
		st.Messages++
		st.Last, st.Problem = m.Time, ""
	})
}
