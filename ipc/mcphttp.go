package ipc

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

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
const (
	subjectHeader = "Memwatchd-Subject"
	contextHeader = "Memwatchd-Context"
)

// maxBatch is how many messages one request may have, which only clients of an old
// revision of the protocol send: each of them is worked on at the same time.
const maxBatch = 20

// models are the servers for models on one listener.
type models struct {
	handler *handler
	servers map[Profile]*mcpServer
	http    *mcp.StreamableHTTPHandler
}

func newModels(h *handler) *models {
	m := &models{handler: h, servers: map[Profile]*mcpServer{}}
	may := func(ctx context.Context) (*api.OperationsAnswer, bool) {
		answer, err := h.memory.operations(ctx, speechOf(ctx).call, nil)
		return answer, err == nil
	}
	for _, p := range []Profile{CoreTools, AllTools} {
		s := &mcpServer{profile: p, version: h.memory.Keeper.Report().Version, ask: m.ask, may: may, welcome: may, broken: m.broken}
		m.servers[p] = s.start()
	}
	m.http = mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server {
		return m.servers[speechOf(r.Context()).profile].Server
	}, &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, MaxRequestBodyBytes: h.limits.MaxRequest,
		DisableLocalhostProtection: true, // admit has its own
	})
	return m
}

// A speech is one request to /mcp.
type speech struct {
	profile Profile
	call    Call
	ctx     context.Context // over when its client has gone

	mu    sync.Mutex
	asked int    // operations
	op    string // the last of them
	code  string // what became of it
}

type speechKey struct{}

func speechOf(ctx context.Context) *speech { return ctx.Value(speechKey{}).(*speech) }

// speak answers a request to /mcp. It notes which operation was asked for.
func (h *handler) speak(a *answer, r *http.Request, op *string) error {
	s, err := h.speech(r)
	if err != nil {
		return err
	}
	var body []byte
	if r.Method == http.MethodPost {
		if body, err = h.body(a, r); err != nil {
			return err
		}
		if n := batched(body); n > maxBatch {
			return api.Errorf(api.TooLarge, "the batch has %d messages and may have %d", n, maxBatch)
		}
	}
	done := serving(r.Context())
	defer done()
	s.ctx = r.Context()
	r = r.WithContext(context.WithValue(r.Context(), speechKey{}, s))
	r.Body = io.NopCloser(bytes.NewReader(body))
	w := &recorder{header: http.Header{}, status: http.StatusOK}
	h.models.http.ServeHTTP(w, r)
	done()
	s.mu.Lock()
	defer s.mu.Unlock()
	*op, a.code = cmp.Or(s.op, *op), cmp.Or(s.code, w.code())
	for name, values := range w.header {
		if name != "Content-Type" {
			a.w.Header()[name] = values
		}
	}
	a.send(w.status, w.header.Get("Content-Type"), w.body.Bytes())
	return nil
}

// speech is who asks, and which tools there are.
func (h *handler) speech(r *http.Request) (*speech, error) {
	s := &speech{profile: CoreTools}
	fixed := h.endpoint.Fixed
	if fixed != nil && len(fixed.Operations) > 0 {
		s.profile = AllTools // of these
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, api.Errorf(api.Invalid, "the query string cannot be read")
	}
	for name, values := range query {
		if name != "tools" || len(values) != 1 {
			return nil, api.Errorf(api.Invalid, "the query string of /mcp is tools=core, tools=all, or none")
		}
		if s.profile, err = ParseProfile(values[0]); err != nil {
			return nil, err
		}
	}
	var scope api.Scope
	for _, f := range []struct {
		name  string
		value **string
	}{{subjectHeader, &scope.Subject}, {contextHeader, &scope.Context}} {
		switch values := r.Header.Values(f.name); len(values) {
		case 0:
		case 1:
			*f.value = &values[0]
		default:
			return nil, api.Errorf(api.Invalid, "the header %s is there twice", f.name)
		}
	}
	if s.call, err = h.memory.call(fixed, scope, false); err != nil {
		return nil, err
	}
	s.call.anonymous = false // a model asks for those who talk with it
	return s, nil
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
func (m *models) ask(ctx context.Context, req *api.Request) (answer json.RawMessage, err error) {
	h, s := m.handler, speechOf(ctx)
	s.mu.Lock()
	s.asked++
	more := s.asked > 1 // than the one that the request was admitted for
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.op, s.code = req.Operation().Name, "ok"; err != nil {
			h.note(req.Operation().Name, err)
			s.code = string(asError(err).Code)
		}
	}()
	switch {
	case more && !h.bucket.take(time.Now()):
		return nil, api.Errorf(api.RateLimited, "more than %v requests a second", h.bucket.rate)
	case !h.endpoint.Fixed.allows(req.Operation()):
		return nil, api.Errorf(api.Forbidden, "%s is not served on this listener", req.Operation().Name)
	}
	// The protocol's library does not end what is done for a client that has gone.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	return h.memory.perform(ctx, s.call, req)
}

func (m *models) broken(ctx context.Context, v any, stack []byte) {
	m.handler.counters.panics.Inc()
	m.handler.logger.Error("panic in a request", "operation", "mcp", "err", v, "stack", string(stack))
	s := speechOf(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.code = string(api.Internal)
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
