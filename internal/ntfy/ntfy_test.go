package ntfy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

const topic = "notes_of-a-phone"

// A connectionScript is the behavior of the server on one connection.
type connectionScript func(w http.ResponseWriter, r *http.Request)

// sendLines sends lines and flushes each. The line "drop" aborts the connection,
// "wait 1m" pauses, and a line that ends in "…" has no line feed.
func sendLines(lines ...string) connectionScript {
	return func(w http.ResponseWriter, r *http.Request) {
		for _, line := range lines {
			if line == "drop" {
				panic(http.ErrAbortHandler)
			}
			if d, ok := strings.CutPrefix(line, "wait "); ok {
				d, _ := time.ParseDuration(d)
				waitDelay(r.Context(), d)
				continue
			}
			io.WriteString(w, line)
			if !strings.HasSuffix(line, "…") {
				io.WriteString(w, "\n")
			}
			w.(http.Flusher).Flush()
		}
	}
}

func sendStatus(status int, header ...string) connectionScript {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		io.WriteString(w, unauthorizedBody)
	}
}

const unauthorizedBody = `{"code":40101,"http":401,"error":"unauthorized"}`

func openEvent() string {
	return fmt.Sprintf(`{"id":"open1","time":%d,"event":"open","topic":%q}`, time.Now().Unix(), topic)
}

const keepalive = `{"id":"keep1","time":1,"event":"keepalive","topic":"` + topic + `"}`

func messageEvent(id string) string {
	return fmt.Sprintf(`{"id":%q,"time":%d,"event":"message","topic":%q,"message":"text of %s"}`, id, time.Now().Unix(), topic, id)
}

// A subscriptionFixture is a subscription in a synctest bubble. Its server follows a script,
// one visit per connection, and then only sends keepalives.
type subscriptionFixture struct {
	*Subscriber
	begin   time.Time
	scripts []connectionScript

	sinceParams []string        // since parameters, by connection
	when        []time.Duration // times of the connections, since begin
	token       []string
	handledIDs  []string // ids of messages
	fails       int      // number of failures of Handle
	path        string   // of the position; "" for a new one
}

// runSubscription runs a subscription against the visits for 12 hours of the bubble's
// time. It fails the test unless all visits took place and the subscription is
// connected at the end.
func runSubscription(t *testing.T, w *subscriptionFixture, visits ...connectionScript) {
	t.Helper()
	w.scripts = visits
	l := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/"+topic+"/json" || r.Method != http.MethodGet {
			t.Errorf("asked for %s %s", r.Method, r.URL)
		}
		w.sinceParams, w.token = append(w.sinceParams, r.URL.Query().Get("since")), append(w.token, r.Header.Get("Authorization"))
		w.when = append(w.when, time.Since(w.begin))
		if len(w.scripts) == 0 {
			sendLines(openEvent())(rw, r)
			for r.Context().Err() == nil {
				sendLines(keepalive, "wait 45s")(rw, r)
			}
			return
		}
		next := w.scripts[0]
		w.scripts = w.scripts[1:]
		next(rw, r)
	}))
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.Listener.Close()
	server.Listener = l
	server.Start()
	transport := &http.Transport{DialContext: l.dial}
	if w.Subscriber == nil {
		w.Subscriber = &Subscriber{}
	}
	s := w.Subscriber
	s.Server, s.Topic, s.Transport = "http://127.0.0.1/", topic, transport
	if w.path == "" {
		w.path = filepath.Join(t.TempDir(), "topic.json")
	}
	s.Path = w.path
	s.Logger = slog.New(slog.DiscardHandler)
	s.Handle = func(_ context.Context, m Message) error {
		if w.fails > 0 {
			w.fails--
			return errors.New("not now")
		}
		w.handledIDs = append(w.handledIDs, m.ID)
		return nil
	}
	w.begin = time.Now()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	time.Sleep(12 * time.Hour)
	synctest.Wait()
	if !s.Status().Connected || s.Status().Problem != "" {
		t.Errorf("in the end the status is %+v", s.Status())
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
	transport.CloseIdleConnections()
	server.CloseClientConnections()
	server.Close()
	if len(w.scripts) > 0 {
		t.Errorf("%d visits were not made", len(w.scripts))
	}
}

// pipes is an in-memory network, which blocks durably in a synctest bubble.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case p.conns <- theirs:
		return ours, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// TestMisbehaviour checks that, for any behavior of the server, each message is
// handled once and in order, and that the subscription resumes at its position.
func TestMisbehaviour(t *testing.T) {
	for _, c := range []struct {
		name   string
		visits func() []connectionScript
		heard  string
		asked  string // since of the first connections, "-" for none
		least  time.Duration
		most   time.Duration // between the first connection and the last
	}{
		{"none", func() []connectionScript { return nil }, "", "-", 0, 0},
		{"two messages", func() []connectionScript {
			return []connectionScript{sendLines(openEvent(), messageEvent("a"), keepalive, messageEvent("b"), "drop")}
		}, "a b", "- b", time.Second / 2, time.Second},
		{"ends", func() []connectionScript { return []connectionScript{sendLines(openEvent(), messageEvent("a"))} }, "a", "- a", time.Second / 2, time.Second},
		{"drops in the middle of a line", func() []connectionScript {
			return []connectionScript{sendLines(openEvent(), messageEvent("a"), strings.TrimSuffix(messageEvent("b"), `"}`)+"…", "drop"), sendLines(openEvent(), messageEvent("b"), "drop")}
		}, "a b", "- a b", time.Second, 2 * time.Second},
		{"ends in the middle of a line", func() []connectionScript {
			return []connectionScript{sendLines(openEvent(), messageEvent("a"), strings.TrimSuffix(messageEvent("b"), `"}`)+"…"), sendLines(openEvent(), messageEvent("b"), "drop")}
		}, "a b", "- a b", time.Second, 2 * time.Second},
		{"repeats", func() []connectionScript {
			return []connectionScript{sendLines(openEvent(), messageEvent("a"), messageEvent("a"), messageEvent("b"), "drop"), sendLines(openEvent(), messageEvent("a"), messageEvent("b"), messageEvent("c"), messageEvent("b"), "drop")}
		}, "a b c", "- b c", time.Second, 2 * time.Second},
		{"sends garbage", func() []connectionScript {
			return []connectionScript{sendLines(openEvent(), "", "garbage", "{}", `{"event":"message"}`, `{"id":"x y","event":"message"}`, `[1,2`, "null", `{"id":5}`, "\x00\xff", `{"id":"z","event":"message","time":"soon"}`, messageEvent("x y"), messageEvent("../z"), messageEvent("a"), "drop")}
		}, "a", "- a", time.Second / 2, time.Second},
		{"sends a page", func() []connectionScript {
			return []connectionScript{sendLines("<html>", keepalive, "wait 1h")}
		}, "", "-", time.Second / 2, time.Second},
		{"sends lines without an end", func() []connectionScript {
			long := fmt.Sprintf(`{"id":"long","event":"message","topic":%q,"message":"%s"}`, topic, strings.Repeat("x", 3*maxLine))
			return []connectionScript{sendLines(openEvent(), long, messageEvent("a"), long, messageEvent("b"), strings.Repeat("y", 2*maxLine)+"…", "drop")}
		}, "a b", "- b", time.Second / 2, time.Second},
		{"sends what is for others", func() []connectionScript {
			return []connectionScript{sendLines(openEvent(), strings.ReplaceAll(messageEvent("a"), topic, "other"), strings.ReplaceAll(messageEvent("b"), `"message","topic"`, `"poll_request","topic"`), messageEvent("c"), "drop")}
		}, "c", "- c", time.Second / 2, time.Second},
		{"sends what was before", func() []connectionScript {
			return []connectionScript{sendLines(openEvent(), strings.Replace(messageEvent("old"), `"time":9`, `"time":8`, 1), messageEvent("a"), "drop")}
		}, "a", "- a", time.Second / 2, time.Second},
		{"is silent", func() []connectionScript {
			return []connectionScript{sendLines(openEvent(), messageEvent("a"), "wait 90s", keepalive, "wait 3h")}
		}, "a", "- a", 210 * time.Second, 212 * time.Second},
		{"is silent from the beginning", func() []connectionScript { return []connectionScript{sendLines("wait 3h")} }, "", "-", 2 * time.Minute, 122 * time.Second},
		{"never answers", func() []connectionScript { return []connectionScript{sendLines("wait 3h", "drop")} }, "", "-", 2 * time.Minute, 122 * time.Second},
		{"drips", func() []connectionScript {
			return []connectionScript{sendLines("x…", "wait 1m", "y…", "wait 1m", "z…", "wait 1m", "drop")}
		}, "", "-", 2 * time.Minute, 122 * time.Second},
		{"wants a token", func() []connectionScript {
			return []connectionScript{sendStatus(401), sendStatus(403), sendLines(openEvent(), messageEvent("a"), "drop")}
		}, "a", "- - - a", 2 * time.Second, 4 * time.Second},
		{"wants patience", func() []connectionScript {
			return []connectionScript{sendStatus(429, "Retry-After", "600"), sendLines(openEvent(), messageEvent("a"), "drop")}
		}, "a", "- - a", 600 * time.Second, 602 * time.Second},
		{"wants patience until then", func() []connectionScript {
			return []connectionScript{sendStatus(429, "Retry-After", time.Now().Add(10*time.Minute).UTC().Format(http.TimeFormat))}
		}, "", "-", 599 * time.Second, 601 * time.Second},
		{"wants too much patience", func() []connectionScript { return []connectionScript{sendStatus(503, "Retry-After", "2000000000")} }, "", "-", time.Hour, time.Hour + time.Second},
		{"wants none", func() []connectionScript {
			return []connectionScript{sendStatus(429, "Retry-After", "-5"), sendStatus(500, "Retry-After", "soon")}
		}, "", "-", time.Second, 4 * time.Second},
		{"sends us on", func() []connectionScript {
			return []connectionScript{sendStatus(302, "Location", "http://example.com/")}
		}, "", "-", time.Second / 2, time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &subscriptionFixture{}
				runSubscription(t, w, c.visits()...)
				if got := strings.Join(w.handledIDs, " "); got != c.heard {
					t.Errorf("heard %q, not %q", got, c.heard)
				}
				for i, want := range strings.Fields(c.asked) {
					if got := w.sinceParams[i]; want != "-" && got != want || want == "-" && strings.ContainsAny(got, "ab") {
						t.Errorf("connection %d asks since %q", i, got)
					}
				}
				if last := w.when[len(w.when)-1]; last < c.least || last > c.most {
					t.Errorf("the connections are at %v", w.when)
				}
			})
		})
	}
}

// TestFirstAndNext checks that the first subscription gets the messages since
// its first connection, even if that connection breaks before the first
// message, and that a later subscription gets the messages since the last one.
func TestFirstAndNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &subscriptionFixture{}
		runSubscription(t, w, sendLines(openEvent(), "drop"), sendLines(openEvent(), messageEvent("a"), "drop"))
		begin := fmt.Sprint(w.begin.Unix())
		if diff := cmp.Diff([]string{"", begin, "a"}, w.sinceParams); diff != "" {
			t.Errorf("asked since (-want +got):\n%s", diff)
		}
		again := &subscriptionFixture{path: w.path}
		runSubscription(t, again, sendLines(openEvent(), messageEvent("a"), messageEvent("b"), "drop"))
		if diff := cmp.Diff([]string{"a", "b"}, again.sinceParams); diff != "" || strings.Join(again.handledIDs, " ") != "b" {
			t.Errorf("heard %q, asked since (-want +got):\n%s", again.handledIDs, diff)
		}
		for _, saved := range []string{"", "broken", `{"of":"http://127.0.0.1/another","begin":5,"heard":["x"]}`} {
			other := &subscriptionFixture{path: filepath.Join(t.TempDir(), "topic.json")}
			if err := os.WriteFile(other.path, []byte(saved), 0o600); err != nil {
				t.Fatal(err)
			}
			if runSubscription(t, other); other.sinceParams[0] != "" {
				t.Errorf("with %q it asks since %q", saved, other.sinceParams[0])
			}
		}
	})
}

// TestFailingHandler checks that a failing message is retried and none is
// skipped, even if the position cannot be stored.
func TestFailingHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &subscriptionFixture{fails: 9, path: "/dev/null/topic.json"}
		runSubscription(t, w, sendLines(openEvent(), messageEvent("a"), messageEvent("b"), "wait 90s", messageEvent("c"), "drop"))
		if len(w.sinceParams) != 2 {
			t.Errorf("%d connections for that", len(w.sinceParams))
		}
		if diff := cmp.Diff([]string{"a", "b", "c"}, w.handledIDs); diff != "" {
			t.Errorf("heard (-want +got):\n%s", diff)
		}
	})
}

func TestToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tokens := []string{"one", "two", ""}
		w := &subscriptionFixture{}
		w.Subscriber = &Subscriber{Token: func() (string, error) {
			if len(tokens) == 0 {
				return "", nil
			}
			token := tokens[0]
			tokens = tokens[1:]
			if token == "two" {
				return "", errors.New("no such file")
			}
			return token, nil
		}}
		runSubscription(t, w, sendStatus(401))
		if diff := cmp.Diff([]string{"Bearer one", ""}, w.token); diff != "" {
			t.Errorf("tokens (-want +got):\n%s", diff)
		}
	})
}

func TestCheckTopic(t *testing.T) {
	for _, bad := range []string{"", "a/b", "a b", "ü", strings.Repeat("x", 65), "a?b"} {
		if CheckTopic(bad) == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	if err := CheckTopic(topic); err != nil {
		t.Error(err)
	}
}

func TestBody(t *testing.T) {
	file := &Attachment{Name: "a.png", URL: "https://x/a.png"}
	for _, c := range []struct {
		m    Message
		want string
	}{
		{Message{Title: "T", Text: " text\n"}, "text"},
		{Message{Title: " T "}, "T"},
		{Message{}, ""},
		{Message{Text: "text", Click: "https://y", Attachment: file}, "text https://y a.png https://x/a.png"},
		{Message{Attachment: file}, "a.png https://x/a.png"},
	} {
		if got := c.m.Body(); got != c.want {
			t.Errorf("%+v says %q, not %q", c.m, got, c.want)
		}
	}
}

// FuzzParseEvent checks that every line is either a valid event or an error.
func FuzzParseEvent(f *testing.F) {
	for _, s := range []string{messageEvent("a"), openEvent(), keepalive, "{}", `{"id":"a","event":"message","attachment":{"name":1}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := parseEvent(line)
		if err == nil && (CheckTopic(e.ID) != nil || e.Kind == "") {
			t.Errorf("%q is read as %+v", line, e)
		}
	})
}
