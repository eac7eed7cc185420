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
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/internal/lazyregexp"
	"github.com/memwatchd/memwatchd/internal/outbound"
)

const (
	// idleTimeout is the time without data after which a connection counts as
	// broken. The server sends a keepalive every 45 seconds.
	idleTimeout = 2 * time.Minute

	// After a failure the delay starts at minDelay and doubles up to maxDelay. A
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

	Transport http.RoundTripper // nil for the default one, with the proxies of the environment
	Logger    *slog.Logger      // never receives the text of messages

	mu     sync.Mutex
	status api.TopicStatus
}

// Status returns the present state of the subscription. It is safe for
// concurrent use.
func (s *Subscriber) Status() api.TopicStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	status := s.status
	status.Server, status.Topic = s.Server, s.Topic
	return status
}

func (s *Subscriber) updateStatus(f func(*api.TopicStatus)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.status)
}

// topicRE matches the name of a topic, and the id of a message, which has 12
// letters and digits.
var topicRE = lazyregexp.New(`^[A-Za-z0-9_-]{1,64}$`)

// CheckTopic returns an error if a text is not a valid topic name.
func CheckTopic(topic string) error {
	if !topicRE().MatchString(topic) {
		return fmt.Errorf("%q is not a topic: use 1 to 64 letters, digits, dashes and underscores", topic)
	}
	return nil
}

// Run subscribes until the context ends, and returns the error of the context.
// It retries after all other errors.
func (s *Subscriber) Run(ctx context.Context) error {
	defer s.updateStatus(func(st *api.TopicStatus) { st.Connected = false })
	client := &http.Client{Transport: s.Transport, CheckRedirect: func(req *http.Request, _ []*http.Request) error {
		return fmt.Errorf("server redirects to %s: set capture.ntfy.topic to the URL of the topic there", req.URL.Host)
	}}
	at := s.loadPosition()
	for failures := 0; ctx.Err() == nil; failures++ {
		err := s.processConnection(ctx, client, at, &failures)
		if ctx.Err() != nil {
			break
		}
		delay := retryDelay(failures)
		if refused, ok := errors.AsType[*outbound.Error](err); ok {
			delay = max(delay, min(refused.RetryAfter, maxServerDelay))
		}
		s.updateStatus(func(st *api.TopicStatus) { st.Connected, st.Problem = false, err.Error() })
		s.Logger.Warn("cannot receive the topic", "err", err, "again", delay.Round(time.Second))
		waitDelay(ctx, delay)
	}
	return ctx.Err()
}

// retryDelay returns a random delay of at least half the maximum after some failures, so
// that clients do not all reconnect at the same moment.
func retryDelay(failures int) time.Duration {
	most := min(minDelay<<min(failures, 16), maxDelay)
	return most/2 + rand.N(most/2)
}

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
	for failures := 0; ctx.Err() == nil; failures++ {
		err := s.Handle(ctx, m)
		if err == nil {
			break
		}
		delay := retryDelay(failures)
		s.updateStatus(func(st *api.TopicStatus) { st.Problem = "cannot save a message: " + err.Error() })
		s.Logger.Warn("cannot save a message", "id", m.ID, "err", err, "again", delay.Round(time.Second))
		waitDelay(ctx, delay)
	}
	if ctx.Err() != nil {
		return
	}
	at.addHandled(m)
	s.savePosition(at)
	s.updateStatus(func(st *api.TopicStatus) {
		st.Messages++
		st.Last, st.Problem = m.Time, ""
	})
}
