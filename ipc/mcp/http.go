package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/memwatchd/memwatchd/api"
)

// POST /mcp speaks the Model Context Protocol: streamable HTTP, a message and its
// answer in JSON, without sessions. Who asks is said by the listener, or by
//
//	Memwatchd-Subject: acct:42
//	Memwatchd-Context: private
//
// and never by a tool's arguments. /mcp?tools=all gives all tools; without that
// it is the core of them, or what the listener is restricted to.

// The headers by which a request to /mcp says who asks.
const (
	SubjectHeader = "Memwatchd-Subject"
	ContextHeader = "Memwatchd-Context"
)

// maxBatch is how many messages one request may have, which only clients of an old
// revision of the protocol send: each of them is worked on at the same time.
const maxBatch = 20

// A Handler answers POST /mcp on one listener.
type Handler struct {
	Fixed      *api.Fixed // what the listener holds its callers to
	Version    string     // of the program
	MaxRequest int64      // bytes of a request's body

	Do       func(context.Context, api.Caller, *api.Request) (any, error)
	Admit    func() error               // before each operation of a request but the first
	Failed   func(op string, err error) // is told of every failure
	Panicked func(v any, stack []byte)  // is told of a panic

	once    sync.Once
	servers map[Profile]*server
	http    *mcp.StreamableHTTPHandler
}

func (h *Handler) start() {
	h.servers = map[Profile]*server{}
	may := func(ctx context.Context) (*api.OperationsAnswer, bool) { return exchangeOf(ctx).may, true }
	for _, p := range []Profile{CoreTools, AllTools} {
		s := &server{profile: p, version: h.Version, ask: h.ask, may: may, welcome: may, broken: h.broken}
		h.servers[p] = s.start()
	}
	h.http = mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server {
		return h.servers[exchangeOf(r.Context()).profile].Server
	}, &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, MaxRequestBodyBytes: h.MaxRequest,
		DisableLocalhostProtection: true, // the listener has its own
	})
}

// An Answer is what a request to /mcp is answered, and what it asked for.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte

	Operation string // the last that was asked for; empty for none
	Code      string // what became of it: ok, or the code of an error
}

// An exchange is one request to /mcp.
type exchange struct {
	profile Profile
	caller  api.Caller
	may     *api.OperationsAnswer // what the caller may ask
	ctx     context.Context       // over when the client has gone

	mu    sync.Mutex
	asked int    // operations
	op    string // the last of them
	code  string // what became of it
}

type exchangeKey struct{}

func exchangeOf(ctx context.Context) *exchange { return ctx.Value(exchangeKey{}).(*exchange) }

// Answer answers a request, whose body is read by a function once it is known
// who asks. An error is for the client.
func (h *Handler) Answer(r *http.Request, read func() ([]byte, error)) (*Answer, error) {
	h.once.Do(h.start)
	e, err := h.exchange(r)
	if err != nil {
		return nil, err
	}
	var body []byte
	if r.Method == http.MethodPost {
		if body, err = read(); err != nil {
			return nil, err
		}
		if n := batched(body); n > maxBatch {
			return nil, api.Errorf(api.TooLarge, "the batch has %d messages and may have %d", n, maxBatch)
		}
	}
	r = r.WithContext(context.WithValue(r.Context(), exchangeKey{}, e))
	r.Body = io.NopCloser(bytes.NewReader(body))
	w := &recorder{header: http.Header{}, status: http.StatusOK}
	h.http.ServeHTTP(w, r)
	e.mu.Lock()
	defer e.mu.Unlock()
	return &Answer{Status: w.status, Header: w.header, Body: w.body.Bytes(), Operation: e.op, Code: cmp.Or(e.code, w.code())}, nil
}

// exchange decides who asks, and which tools there are.
func (h *Handler) exchange(r *http.Request) (*exchange, error) {
	e := &exchange{profile: CoreTools, caller: api.Caller{Fixed: h.Fixed, Model: true}, ctx: r.Context()}
	if h.Fixed != nil && len(h.Fixed.Operations) > 0 {
		e.profile = AllTools // of these
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, api.Errorf(api.Invalid, "the query string cannot be read")
	}
	for name, values := range query {
		if name != "tools" || len(values) != 1 {
			return nil, api.Errorf(api.Invalid, "the query string of /mcp is tools=core, tools=all, or none")
		}
		if e.profile, err = ParseProfile(values[0]); err != nil {
			return nil, err
		}
	}
	for _, f := range []struct {
		name  string
		value **string
	}{{SubjectHeader, &e.caller.Scope.Subject}, {ContextHeader, &e.caller.Scope.Context}} {
		switch values := r.Header.Values(f.name); len(values) {
		case 0:
		case 1:
			*f.value = &values[0]
		default:
			return nil, api.Errorf(api.Invalid, "the header %s is there twice", f.name)
		}
	}
	answer, err := h.Do(e.ctx, e.caller, api.RequestOf(api.OperationsRequest{}))
	if err != nil {
		return nil, err
	}
	e.may = answer.(*api.OperationsAnswer)
	return e, nil
}

// batched is how many messages a batch has.
func batched(body []byte) int {
	body = bytes.TrimSpace(body)
	if !bytes.HasPrefix(body, []byte("[")) {
		return 1
	}
	var batch []json.RawMessage
	_ = json.Unmarshal(body, &batch) // what is no JSON is refused elsewhere
	return len(batch)
}

// ask asks for an operation as a request to /mcp may.
func (h *Handler) ask(ctx context.Context, req *api.Request) (body json.RawMessage, err error) {
	e := exchangeOf(ctx)
	e.mu.Lock()
	e.asked++
	more := e.asked > 1 // than the one that the request was admitted for
	e.mu.Unlock()
	defer func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.op, e.code = req.Operation().Name, "ok"; err != nil {
			h.Failed(req.Operation().Name, err)
			e.code = string(api.AsError(err).Code)
		}
	}()
	if more {
		if err := h.Admit(); err != nil {
			return nil, err
		}
	}
	if !h.Fixed.Allows(req.Operation()) {
		return nil, api.Errorf(api.Forbidden, "%s is not served on this listener", req.Operation().Name)
	}
	// The protocol's library does not end what is done for a client that has gone.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(e.ctx, cancel)()
	answer, err := h.Do(ctx, e.caller, req)
	if err != nil {
		return nil, err
	}
	return api.Encode(answer)
}

func (h *Handler) broken(ctx context.Context, v any, stack []byte) {
	h.Panicked(v, stack)
	e := exchangeOf(ctx)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.code = string(api.Internal)
}

// A recorder keeps an answer until it is whole.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header, WriteHeader and Write implement [http.ResponseWriter].
func (w *recorder) Header() http.Header { return w.header }

func (w *recorder) WriteHeader(status int) { w.status = status }

func (w *recorder) Write(p []byte) (int, error) { return w.body.Write(p) }

// code is the answer in a word, for counting.
func (w *recorder) code() string {
	if w.status < http.StatusBadRequest {
		return "ok"
	}
	return string(api.Invalid)
}
