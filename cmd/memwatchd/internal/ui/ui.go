// Package ui serves a web page on a loopback address, in which the owner
// searches, reviews and undoes what is in memory. The page has the operations
// of a [Backend], as far as it needs them.
//
// Every user and every web page of the machine can send requests to the address.
// So a request for anything but the files of the page needs a session key, and
// only its own page may send it (see [Console.ServeHTTP]).
package ui

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"embed"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/memwatchd/memwatchd/api"
)

// A Backend executes operations as the owner. The methods are those of the
// Client of package ipc/client.
type Backend interface {
	Do(context.Context, *api.Request) (json.RawMessage, error)
	Stream(context.Context, *api.Request, func(json.RawMessage) error) error
}

// Options are the options of a [Console].
type Options struct {
	ReadOnly bool           // refuse requests that change something
	Root     string         // memory directory, with which the page makes links to an editor
	Editor   string         // address that opens {path} at {line} in an editor; empty for none
	Idle     time.Duration  // Serve ends after this time without a request or a stream of events; 0 means never
	Opened   func()         // called when the one-time key is exchanged for a session key
	Warn     func(s string) // called with a message for the person who started the console
}

// A Console serves the page. It is safe for concurrent use.
type Console struct {
	backend Backend
	host    string
	opt     Options

	idle *time.Timer // ends Serve; nil for none

	mu       sync.Mutex
	streams  int    // open streams of events
	oneTime  string // key of the URL; empty after its use
	sessions []string
	warned   time.Time         // of the last warning about a key
	open     []net.Conn        // oldest first
	known    map[net.Conn]bool // of these, those with a session key
}

// readTimeout bounds the time to receive a request header, and a body.
const readTimeout = 10 * time.Second

// idleTimeout bounds the time between requests on a connection.
const idleTimeout = 2 * time.Minute

// Bounds of the body of a request with and without a session key, in bytes.
const maxRequest, maxKey = 1 << 20, 4 << 10

// maxConnections bounds the open connections. Every program of the machine can
// open some.
const maxConnections = 64

// warnEvery is the time between warnings about invalid keys.
const warnEvery = time.Minute

// maxSessions bounds the number of session keys. There is one for each use of a
// URL, and [Console.URL] makes a new one.
const maxSessions = 16

// New returns a console for requests to the given host and port, such as
// 127.0.0.1:40000.
func New(b Backend, host string, opt Options) *Console {
	return &Console{backend: b, host: host, opt: opt, known: make(map[net.Conn]bool)}
}

// URL returns an address that opens the page once. The key in its fragment is
// valid until it is used, or until the next call of URL.
func (c *Console) URL() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.oneTime = newKey()
	return "http://" + c.host + "/#k=" + c.oneTime
}

// newKey returns 256 random bits as text.
func newKey() string { return rand.Text() + rand.Text() }

// Serve answers requests on a listener until the context ends or no page has been
// open for Options.Idle. It returns nil in both cases.
func (c *Console) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	server := &http.Server{Handler: c, ReadHeaderTimeout: readTimeout, MaxHeaderBytes: 16 << 10,
		IdleTimeout: idleTimeout, ConnState: c.trackConn,
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, conn)
		},
		BaseContext: func(net.Listener) context.Context { return ctx }}
	if c.opt.Idle > 0 {
		c.idle = time.AfterFunc(c.opt.Idle, func() {
			c.opt.warn("no page was open for " + c.opt.Idle.String() + ": the console ends")
			cancel()
		})
		defer c.idle.Stop()
	}
	stopped := make(chan error, 1)
	go func() { stopped <- server.Serve(l) }()
	select {
	case <-ctx.Done():
	case err := <-stopped:
		return err
	}
	return server.Close()
}

type connKey struct{}

// trackConn records open connections. If there are too many, it closes the oldest
// one that has not sent a session key, so that others cannot keep the page out.
func (c *Console) trackConn(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch state {
	case http.StateNew:
		c.open = append(c.open, conn)
		if len(c.open) <= maxConnections {
			return
		}
		i := max(0, slices.IndexFunc(c.open, func(o net.Conn) bool { return !c.known[o] }))
		c.open[i].Close()
		c.forget(c.open[i])
	case http.StateClosed, http.StateHijacked:
		c.forget(conn)
	}
}

func (c *Console) forget(conn net.Conn) {
	c.open = slices.DeleteFunc(c.open, func(o net.Conn) bool { return o == conn })
	delete(c.known, conn)
}

func (o *Options) warn(s string) {
	if o.Warn != nil {
		o.Warn(s)
	}
}

// page contains the files of the page.
//
//go:embed page
var page embed.FS

// files maps the paths of the page's files to their media types.
var files = map[string]string{".html": "text/html", ".js": "text/javascript", ".css": "text/css",
	".svg": "image/svg+xml"}

// policy is the content security policy of the page: only its own files, and no
// markup from text.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// readable are the operations that the page uses to read.
var readable = []string{"search", "get", "related", "context", "files", "todos", "complete", "journal", "status",
	"check",
	"sync", "events", "conflicts"}

// changing are the operations that the page uses to change files. Except for the
// writing ones, every answer with dry_run shows a change without making it.
var changing = append([]string{"todo", "undo", "conflicts_merge", "compact"}, writing...)

// writing are the operations that save a text that the page shows before, and
// forget, which first lists its entries.
var writing = []string{"note", "todo_add", "remember", "edit", "forget"}

// ServeHTTP serves the files of the page, exchanges the one-time key for a
// session key (POST /session), and executes operations for pages with a session
// key (POST /v1/NAME, as on the socket of a daemon).
//
// It refuses requests to another host name, to which an attacker's name server
// could have given the loopback address (DNS rebinding), and requests of other
// web pages, by Sec-Fetch-Site and Origin. Without a session key, all other paths
// do not exist. The key is in a header: other ports share cookies.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	if err := c.answer(w, r); err != nil {
		writeError(w, err)
	}
}

// answer answers a request, or returns the error to answer with.
func (c *Console) answer(w http.ResponseWriter, r *http.Request) error {
	name, isOperation := strings.CutPrefix(r.URL.Path, "/v1/")
	switch err := c.checkOrigin(r); {
	case err != nil:
		return err
	case r.Method == http.MethodGet && c.serveFile(w, r):
		return nil
	case r.Method != http.MethodPost, r.URL.Path != "/session" && !(isOperation && c.hasSession(r)):
		return errNotFound
	}
	most := int64(maxRequest)
	if !isOperation {
		most = maxKey
	}
	body, err := readBody(w, r, most)
	switch {
	case err != nil:
		return err
	case !isOperation:
		return c.openSession(w, body)
	}
	c.keepAlive(0)
	return c.execute(w, r, name, body)
}

// readBody reads the body of a request of at most the given number of bytes.
func readBody(w http.ResponseWriter, r *http.Request, most int64) ([]byte, error) {
	conn := http.NewResponseController(w)
	_ = conn.SetReadDeadline(time.Now().Add(readTimeout)) // not supported by recorders of tests
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	if err != nil {
		return nil, api.Errorf(api.TooLarge, "the request exceeds %d bytes, or its time limit", most)
	}
	_ = conn.SetReadDeadline(time.Time{}) // an answer may take longer
	return body, nil
}

var errNotFound = api.Errorf(api.NotFound, "not found")

// checkOrigin rejects requests to other host names, and those that other web
// pages send. A page may link to the console: it learns nothing by that.
func (c *Console) checkOrigin(r *http.Request) error {
	if r.Host != c.host {
		return api.Errorf(api.Forbidden, "host name %q is not %s", r.Host, c.host)
	}
	isLink := r.Method == http.MethodGet && r.URL.Path == "/" && r.Header.Get("Sec-Fetch-Mode") == "navigate" &&
		r.Header.Get("Sec-Fetch-Dest") == "document"
	for _, site := range r.Header.Values("Sec-Fetch-Site") {
		if site != "none" && site != "same-origin" && !isLink {
			return api.Errorf(api.Forbidden, "requests from other web pages are refused")
		}
	}
	for _, origin := range r.Header.Values("Origin") {
		if origin != "http://"+c.host {
			return api.Errorf(api.Forbidden, "requests from other web pages are refused")
		}
	}
	return nil
}

// serveFile serves a file of the page. It reports false if there is none.
func (c *Console) serveFile(w http.ResponseWriter, r *http.Request) bool {
	name := cmp.Or(strings.TrimPrefix(r.URL.Path, "/"), "index.html")
	data, err := page.ReadFile("page/" + name)
	if err != nil {
		return false
	}
	dot := strings.LastIndexByte(name, '.')
	w.Header().Set("Content-Type", files[name[dot:]]+"; charset=utf-8")
	w.Write(data)
	return true
}

// openSession exchanges the one-time key for a session key. If it was exchanged
// before, somebody else may have read it: the person is told.
func (c *Console) openSession(w http.ResponseWriter, body []byte) error {
	var in struct {
		Key string `json:"key"`
	}
	if json.Unmarshal(body, &in) != nil {
		return errNotFound
	}
	c.mu.Lock()
	isValid := c.oneTime != "" && len(c.sessions) < maxSessions && equal(in.Key, c.oneTime)
	session, warn := "", false
	if !isValid && time.Since(c.warned) >= warnEvery {
		c.warned, warn = time.Now(), true
	}
	if isValid {
		session = newKey()
		c.oneTime = ""
		c.sessions = append(c.sessions, session)
	}
	c.mu.Unlock()
	if !isValid {
		if warn {
			c.opt.warn("a page used an invalid key, or one that was used before. If you opened the address only once, " +
				"another program has read it: stop the console with Ctrl-C")
		}
		return api.Errorf(api.Forbidden, "the address was used before").WithHint("start `memwatchd ui` again")
	}
	if c.opt.Opened != nil {
		c.opt.Opened()
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"session": session, "read_only": c.opt.ReadOnly, "root": c.opt.Root,
		"editor": c.opt.Editor})
	return nil
}

func (c *Console) hasSession(r *http.Request) bool {
	key, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	found := slices.ContainsFunc(c.sessions, func(s string) bool { return equal(s, key) })
	if conn, ok := r.Context().Value(connKey{}).(net.Conn); ok && found && slices.Contains(c.open, conn) {
		c.known[conn] = true
	}
	return found
}

// equal compares keys in constant time.
func equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

func (c *Console) execute(w http.ResponseWriter, r *http.Request, name string, body []byte) error {
	if !slices.Contains(readable, name) && !slices.Contains(changing, name) {
		return errNotFound
	}
	op, err := api.LookUp(name)
	if err != nil {
		return err
	}
	req := op.NewRequest()
	if err := req.Decode(body); err != nil {
		return err
	}
	if changes(req) && (c.opt.ReadOnly || !slices.Contains(changing, name)) {
		return api.Errorf(api.Forbidden, "the console changes nothing here").
			WithHint("use the command line, or start the console without --read-only")
	}
	omitCount(req)
	if op.Stream {
		return c.stream(w, r, req)
	}
	answer, err := c.backend.Do(r.Context(), req)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(answer) // the page has gone if this fails
	return nil
}

// omitCount changes a request so that it does not count the entries of the answer as
// used: a person looks at them.
func omitCount(req *api.Request) {
	count, err := req.Operation().Param("count")
	if err != nil {
		return
	}
	if name, value, found := strings.Cut(count.With, "="); found { // without effect otherwise
		if given, _ := req.GivenValue(name); given != value {
			return
		}
	}
	if err := req.Set(count, "false"); err != nil {
		panic(err) // every such parameter is a boolean
	}
}

// changes reports whether a request can change files.
func changes(req *api.Request) bool {
	dry, _ := req.GivenValue("dry_run")
	fix, _ := req.GivenValue("fix")
	switch op := req.Operation(); {
	case op.ReadOnly:
		return false
	case op.Name == "check":
		return fix == "true"
	}
	return dry != "true"
}

// keepAlive records that a stream of events begins (1) or ends (-1), or that a request
// arrives (0). The time of Options.Idle counts from the last of them.
func (c *Console) keepAlive(streams int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.streams += streams
	switch {
	case c.idle == nil:
	case c.streams > 0:
		c.idle.Stop()
	default:
		c.idle.Reset(c.opt.Idle)
	}
}

// stream sends the events of an operation as lines of JSON until the client or
// the daemon ends. It returns an error only if there were no events.
func (c *Console) stream(w http.ResponseWriter, r *http.Request, req *api.Request) error {
	c.keepAlive(1)
	defer c.keepAlive(-1)
	out := http.NewResponseController(w)
	started := false
	err := c.backend.Stream(r.Context(), req, func(part json.RawMessage) error {
		if !started {
			w.Header().Set("Content-Type", "application/jsonl")
			started = true
		}
		_, err := w.Write(append(part, '\n'))
		return errors.Join(err, out.Flush())
	})
	if started {
		return nil
	}
	return err
}

// writeError writes an error in the format of the socket. A daemon that does not
// answer is [api.Unavailable].
func writeError(w http.ResponseWriter, err error) {
	e, ok := errors.AsType[*api.Error](err)
	if !ok {
		e = api.Errorf(api.Unavailable, "%v", err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(e.Code.Status())
	_ = json.NewEncoder(w).Encode(api.Failure{Error: e})
}
