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
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

const topic = "notes_of-a-phone"

// message returns the event of a message.
func message(id string) string {
	return fmt.Sprintf(`{"id":%q,"time":%d,"event":"message","topic":%q,"message":"text of %s"}`, id, time.Now().Unix(), topic, id)
}

func openEvent() string {
	return fmt.Sprintf(`{"id":"open1","time":%d,"event":"open","topic":%q}`, time.Now().Unix(), topic)
}

const keepalive = `{"id":"keep1","time":1,"event":"keepalive","topic":"` + topic + `"}`

// respond is the behavior of the server on one connection, a list of commands.
func respond(script string, w http.ResponseWriter, r *http.Request) {
	for command := range strings.SplitSeq(script, ", ") {
		verb, arg, _ := strings.Cut(command, " ")
		text := ""
		switch verb {
		case "drop":
			panic(http.ErrAbortHandler)
		case "wait":
			d, _ := time.ParseDuration(arg)
			waitDelay(r.Context(), d)
			continue
		case "status":
			code, after, _ := strings.Cut(arg, " ")
			if at, ok := strings.CutPrefix(after, "in "); ok {
				d, _ := time.ParseDuration(at)
				after = time.Now().Add(d).UTC().Format(http.TimeFormat)
			}
			w.Header().Set("Retry-After", after)
			w.Header().Set("Location", "http://example.com/")
			n, _ := strconv.Atoi(code)
			w.WriteHeader(n)
			text = `{"code":40101,"http":401,"error":"unauthorized"}`
		case "open":
			text = openEvent() + "\n"
		case "keepalive":
			text = keepalive + "\n"
		case "message":
			text = message(arg) + "\n"
		case "half": // a message
			text = strings.TrimSuffix(message(arg), `"}`)
		case "other": // topic
			text = strings.ReplaceAll(message(arg), topic, "other") + "\n"
		case "poll":
			text = strings.ReplaceAll(message(arg), `"message","topic"`, `"poll_request","topic"`) + "\n"
		case "old":
			text = strings.Replace(message(arg), `"time":9`, `"time":8`, 1) + "\n"
		case "long":
			text = strings.ReplaceAll(message(arg), "text", strings.Repeat("x", 3*maxLine)) + "\n"
		case "endless":
			text = strings.Repeat("y", 2*maxLine)
		case "garbage":
			text = strings.Join([]string{"", "garbage", "{}", `{"event":"message"}`, `{"id":"x y","event":"message"}`, `[1,2`, "null",
				`{"id":5}`, "\x00\xff", `{"id":"z","event":"message","time":"soon"}`, message("x y"), message("../z"), ""}, "\n")
		default:
			text = command
		}
		io.WriteString(w, text)
		w.(http.Flusher).Flush()
	}
}

// A subscriptionFixture is a subscription in a synctest bubble. Its server follows scripts,
// one per connection, and then only sends keepalives.
type subscriptionFixture struct {
	*Subscriber
	begin   time.Time
	scripts []string

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
func runSubscription(t *testing.T, w *subscriptionFixture, visits ...string) {
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
			for script := "open"; r.Context().Err() == nil; script = "keepalive, wait 45s" {
				respond(script, rw, r)
			}
			return
		}
		next := w.scripts[0]
		w.scripts = w.scripts[1:]
		respond(next, rw, r)
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
	const half, s = time.Second / 2, time.Second
	for _, c := range []struct {
		name    string
		scripts string // separated by |
		heard   string
		asked   string // since of the first connections, "-" for none
		least   time.Duration
		most    time.Duration // between the first connection and the last
	}{
		{"none", "", "", "-", 0, 0},
		{"two messages", "open, message a, keepalive, message b, drop", "a b", "- b", half, s},
		{"ends", "open, message a", "a", "- a", half, s},
		{"drops in the middle of a line", "open, message a, half b, drop|open, message b, drop", "a b", "- a b", s, 2 * s},
		{"ends in the middle of a line", "open, message a, half b|open, message b, drop", "a b", "- a b", s, 2 * s},
		{"repeats", "open, message a, message a, message b, drop|open, message a, message b, message c, message b, drop",
			"a b c", "- b c", s, 2 * s},
		{"sends garbage", "open, garbage, message a, drop", "a", "- a", half, s},
		{"sends a page", "<html>\n, keepalive, wait 1h", "", "-", half, s},
		{"sends lines without an end", "open, long x, message a, long y, message b, endless, drop", "a b", "- b", half, s},
		{"sends what is for others", "open, other a, poll b, message c, drop", "c", "- c", half, s},
		{"sends what was before", "open, old o, message a, drop", "a", "- a", half, s},
		{"is silent", "open, message a, wait 90s, keepalive, wait 3h", "a", "- a", 210 * s, 212 * s},
		{"is silent from the beginning", "wait 3h", "", "-", 120 * s, 122 * s},
		{"never answers", "wait 3h, drop", "", "-", 120 * s, 122 * s},
		{"drips", "x, wait 1m, y, wait 1m, z, wait 1m, drop", "", "-", 120 * s, 122 * s},
		{"wants a token", "status 401|status 403|open, message a, drop", "a", "- - - a", 2 * s, 4 * s},
		{"wants patience", "status 429 600|open, message a, drop", "a", "- - a", 600 * s, 602 * s},
		{"wants patience until then", "status 429 in 10m", "", "-", 599 * s, 601 * s},
		{"wants too much patience", "status 503 2000000000", "", "-", time.Hour, time.Hour + s},
		{"wants none", "status 429 -5|status 500 soon", "", "-", s, 4 * s},
		{"sends us on", "status 302", "", "-", half, s},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &subscriptionFixture{}
				runSubscription(t, w, strings.FieldsFunc(c.scripts, func(r rune) bool { return r == '|' })...)
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
		runSubscription(t, w, "open, drop", "open, message a, drop")
		begin := fmt.Sprint(w.begin.Unix())
		if diff := cmp.Diff([]string{"", begin, "a"}, w.sinceParams); diff != "" {
			t.Errorf("asked since (-want +got):\n%s", diff)
		}
		again := &subscriptionFixture{path: w.path}
		runSubscription(t, again, "open, message a, message b, drop")
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
		runSubscription(t, w, "open, message a, message b, wait 90s, message c, drop")
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
		runSubscription(t, w, "status 401")
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
	for _, s := range []string{message("a"), openEvent(), keepalive, "{}", `{"id":"a","event":"message","attachment":{"name":1}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := parseEvent(line)
		if err == nil && (CheckTopic(e.ID) != nil || e.Kind == "") {
			t.Errorf("%q is read as %+v", line, e)
		}
	})
}
