// Package ntfy listens to a topic of an ntfy server (https://ntfy.sh, or one's
// own), and hears each message once, whatever happens to the connection.
//
// A message is taken to be handled when its handler says so, and the next one
// waits for that. Where it was is remembered by the id of the last message, so
// that what comes while nobody listens is asked for afterwards, as long as the
// server keeps it. A crash between handling a message and remembering it makes
// it come again: handlers tell by the id.
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
	"regexp"
	"strings"
	"sync"
	"time"
)

const (
	// The server says every 45 seconds that it is there. What is silent for
	// longer than this is gone, whatever the network says.
	silence = 2 * time.Minute

	// After a failure it is tried again, first soon, then twice as late each
	// time, up to the longest; a message, or a sign of life, makes it soon again.
	soonest, latest = time.Second, 5 * time.Minute
	// A server may ask for more patience, up to this.
	mostPatient = time.Hour
)

// A Subscriber listens to a topic. Its fields must not change while it runs.
type Subscriber struct {
	Server string // its URL, without a path
	Topic  string

	// Token gives the access token, anew for each connection; nil, and an empty
	// one, are none.
	Token func() (string, error)
	// Handle is called with each message, one at a time. While it fails it is
	// called again, later and later, with the same message.
	Handle func(context.Context, Message) error
	// Memory keeps what was heard for the next start; nil forgets it.
	Memory Memory

	Transport http.RoundTripper // nil for one of its own, with the proxies of the environment
	Logger    *slog.Logger      // never gets the text of messages

	mu     sync.Mutex
	status Status
}

// A Memory keeps some bytes.
type Memory interface {
	// Load gives what was saved last; nil, without an error, if nothing was.
	Load() ([]byte, error)
	// Save replaces it.
	Save([]byte) error
}

// Status is how a subscription is doing.
type Status struct {
	Connected bool
	Messages  int       // handled since the start
	Last      time.Time // when the last of them was
	Problem   string    // why it is not connected, or a message is not handled; empty if all is well
}

// Status is how the subscription is doing now. It may be called at any time.
func (s *Subscriber) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status
}

func (s *Subscriber) update(f func(*Status)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.status)
}

var (
	topicRE = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	idRE    = topicRE // the ids of messages have 12 letters and digits
)

// CheckServer says why a URL cannot be that of a server: what is sent to it, a
// token included, would be sent in the clear.
func CheckServer(server string) error {
	u, err := url.Parse(server)
	switch {
	case err != nil:
		return fmt.Errorf("%q is not a URL", server)
	case u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("%q is not a URL such as https://ntfy.sh", server)
	case u.Scheme == "https", u.Scheme == "http" && loopback(u.Hostname()):
		return nil
	}
	return fmt.Errorf("%s: only https is safe, and http to this machine", server)
}

// CheckTopic says why a text cannot be the name of a topic.
func CheckTopic(topic string) error {
	if !topicRE.MatchString(topic) {
		return fmt.Errorf("%q is not a topic: they have 1 to 64 letters, digits, dashes and underscores", topic)
	}
	return nil
}

func loopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

// Run listens until the context ends, and gives its error. Nothing else ends it.
func (s *Subscriber) Run(ctx context.Context) error {
	defer s.update(func(st *Status) { st.Connected = false })
	transport := s.Transport
	if transport == nil {
		own := http.DefaultTransport.(*http.Transport).Clone()
		defer own.CloseIdleConnections()
		transport = own
	}
	client := &http.Client{Transport: transport, CheckRedirect: func(req *http.Request, _ []*http.Request) error {
		return fmt.Errorf("the server sends us on to %s: configure that", req.URL.Host)
	}}
	at := s.recall()
	var wait backoff
	for ctx.Err() == nil {
		err := s.listen(ctx, client, at, &wait)
		if ctx.Err() != nil {
			break
		}
		delay := wait.next()
		if refused, ok := errors.AsType[*refusedError](err); ok {
			delay = max(delay, min(refused.after, mostPatient))
		}
		s.update(func(st *Status) { st.Connected, st.Problem = false, err.Error() })
		s.Logger.Warn("topic is not heard", "err", err, "again", delay.Round(time.Second))
		pause(ctx, delay)
	}
	return ctx.Err()
}

// backoff is how long to wait between tries.
type backoff struct{ last time.Duration }

// next is at least half as long as it could be, so that not all come again at
// the same moment.
func (b *backoff) next() time.Duration {
	b.last = min(cmp.Or(2*b.last, soonest), latest)
	return b.last/2 + rand.N(b.last/2)
}

func (b *backoff) reset() { b.last = 0 }

// pause waits, or until the context ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// handle has a message handled, and remembers that it is. It returns without
// that only when the context ends.
func (s *Subscriber) handle(ctx context.Context, at *position, m Message) {
	if at.heard(m) {
		return
	}
	var wait backoff
	for ctx.Err() == nil {
		err := s.Handle(ctx, m)
		if err == nil {
			break
		}
		delay := wait.next()
		s.update(func(st *Status) { st.Problem = "a message cannot be noted: " + err.Error() })
		s.Logger.Warn("message cannot be noted", "id", m.ID, "err", err, "again", delay.Round(time.Second))
		pause(ctx, delay)
	}
	if ctx.Err() != nil {
		return
	}
	at.add(m)
	s.remember(at)
	s.update(func(st *Status) {
		st.Messages++
		st.Last, st.Problem = m.Time, ""
	})
}
