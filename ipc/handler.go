package ipc

import (
	"bytes"
	"cmp"
	"context"
	"crypto/subtle"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/internal/panics"
	"github.com/memwatchd/memwatchd/internal/secrets"
	"github.com/memwatchd/memwatchd/ipc/mcp"
)

// A handler answers the requests of one listener.
type handler struct {
	*Server  // with all limits
	endpoint Endpoint
	counters *counters
	guests   *semaphore.Weighted // for the work of a listener with a fixed scope
	limiter  *rate.Limiter
	mcp      *mcp.Handler    // for /mcp
	ending   context.Context // canceled when streams must end
}

// ServeHTTP answers one request. It converts a panic into an error response, so
// that a defect in one request does not affect the next.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	connOf(r.Context()).recordRequest()
	a := &response{w: w, control: http.NewResponseController(w), write: h.Limits.Write}
	op := "other"
	defer func() {
		if v := recover(); v != nil {
			h.recordPanic(op, v, debug.Stack())
			a.sendError(api.Errorf(api.Internal, "internal error").WithHint("see the log of the daemon"))
		}
		h.counters.recordRequest(op, a.code, time.Since(start))
		h.Logger.Debug("answered", "operation", op, "code", a.code, "took", time.Since(start))
	}()
	if r.Body != http.NoBody {
		// The body of a refused request is read to its end, too, by the handler
		// or by net/http. This deadline bounds that.
		a.control.SetReadDeadline(time.Now().Add(h.Limits.ReadBody))
	}
	if err := h.answer(a, r, &op); err != nil {
		h.logError(op, err)
		a.sendError(err)
	}
}

// answer answers a request, or returns the error to answer with. It stores the name for
// the metrics in op.
func (h *handler) answer(a *response, r *http.Request, op *string) error {
	if err := h.checkRequest(r); err != nil {
		return err
	}
	switch path := r.URL.EscapedPath(); { // a path has one spelling
	case path == "/healthz" && r.Method == http.MethodGet:
		h.answerHealth(a)
	case path == "/metrics" && r.Method == http.MethodGet:
		if h.endpoint.Fixed != nil {
			return api.Errorf(api.Forbidden, "a listener with a fixed scope serves no metrics")
		}
		a.send(http.StatusOK, metricsType, h.formatMetrics())
	case path == "/mcp":
		*op = "mcp"
		return h.answerMCP(a, r)
	case strings.HasPrefix(path, "/v1/"):
		found, err := api.LookUp(strings.TrimPrefix(path, "/v1/"))
		if err != nil {
			return err
		}
		*op = found.Name
		return h.answerOperation(a, r, found)
	default:
		return api.Errorf(api.NotFound, "path %s not found", path).
			WithHint("use /v1/<name> for operations, or /mcp for tools")
	}
	return nil
}

// checkRequest rejects requests that the owner's programs never send, and requests
// over the rate limit.
func (h *handler) checkRequest(r *http.Request) error {
	if err := h.endpoint.checkOrigin(r); err != nil {
		return err
	}
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if h.endpoint.Address != "" && subtle.ConstantTimeCompare([]byte(token), []byte(h.endpoint.Token)) != 1 {
		return api.Errorf(api.Forbidden, "token is missing or wrong").
			WithHint("set the header Authorization: Bearer <token>")
	}
	if !h.limiter.Allow() {
		return api.Errorf(api.RateLimited, "more than %v requests per second", h.endpoint.Rate)
	}
	return nil
}

// answerMCP answers a request to /mcp.
func (h *handler) answerMCP(a *response, r *http.Request) error {
	done := func() {}
	defer func() { done() }()
	place := &place{guests: h.guests}
	r = r.WithContext(place.withPause(r.Context()))
	got, err := h.mcp.Answer(r, func() (body []byte, err error) {
		if r.Method == http.MethodPost {
			body, err = h.readBody(a, r)
		}
		if err == nil {
			// Until here the client can be dismissed in favor of another.
			done, err = h.startWork(r.Context(), place)
		}
		return body, err
	})
	if err != nil {
		return err
	}
	done()
	if got.Status >= http.StatusBadRequest {
		a.code = string(api.Invalid)
	}
	maps.Copy(a.w.Header(), got.Header())
	a.send(got.Status, got.Header().Get("Content-Type"), got.Body.Bytes())
	return nil
}

// doForModel executes an operation for a tool of a model, and records it as a request of its
// own, beside that to /mcp.
func (h *handler) doForModel(ctx context.Context, by api.Caller, req *api.Request) (any, error) {
	op, code, start := req.Operation().Name, "ok", time.Now()
	got, err := h.Backend.Do(ctx, by, req)
	if err != nil {
		h.logError(op, err)
		code = string(api.AsError(err).Code)
	}
	h.counters.recordRequest(op, code, time.Since(start))
	return got, err
}

// recordPanic counts and logs a panic.
func (h *handler) recordPanic(op string, v any, stack []byte) {
	h.counters.add(panicsTotal, 1)
	h.Logger.Error("panic in a request", "operation", op, "err", panics.Describe(v), "stack", string(stack))
}

// answerHealth answers a health check of a supervisor with a status code and one
// word.
func (h *handler) answerHealth(a *response) {
	status, word := http.StatusOK, "ok\n"
	if !h.Backend.Status().Healthy {
		status, word = http.StatusServiceUnavailable, "unhealthy\n"
	}
	a.send(status, "text/plain; charset=utf-8", []byte(word))
}

// answerOperation reads a request, determines its caller and answers it.
func (h *handler) answerOperation(a *response, r *http.Request, op *api.Operation) error {
	if !h.endpoint.Fixed.Allows(op) {
		return api.Errorf(api.Forbidden, "%s is not served on this listener", op.Name)
	}
	if err := h.checkRoot(r.Header.Get(api.RootHeader)); err != nil {
		return err
	}
	body, err := h.readOperation(a, r, op)
	if err != nil {
		return err
	}
	place := &place{guests: h.guests}
	ctx := place.withPause(r.Context())
	done, err := h.startWork(ctx, place)
	if err != nil {
		return err
	}
	defer func() { done() }()
	req, err := decodeRequest(r, op, body)
	if err != nil {
		return err
	}
	caller := api.Caller{Scope: req.Scope(), Listener: h.endpoint.Name(), Fixed: h.endpoint.Fixed,
		AsOwner: r.Header.Get(api.OwnerHeader) != "",
		Program: api.NewProgram(r.Header.Get(api.ProgramHeader), r.Header.Get(api.SessionHeader))}
	if op.Stream {
		return h.sendEvents(a, r, caller, req)
	}
	got, err := h.Backend.Do(ctx, caller, req)
	if err != nil {
		return err
	}
	body, err = api.EncodeJSON(got)
	if err != nil {
		return err
	}
	done()
	a.send(http.StatusOK, "application/json", body)
	return nil
}

// startWork marks the connection of a context as busy and, on a listener with a
// fixed scope, waits for the semaphore, until the returned function is called.
func (h *handler) startWork(ctx context.Context, p *place) (done func(), err error) {
	idle := markBusy(ctx)
	if h.endpoint.Fixed == nil {
		return sync.OnceFunc(idle), nil
	}
	if err := p.enter(ctx); err != nil {
		idle()
		return func() {}, err
	}
	return sync.OnceFunc(func() { p.release(true); idle() }), nil
}

// checkRoot rejects a request for another memory directory. A caller with a
// fixed scope must not learn the directory.
func (h *handler) checkRoot(escaped string) error {
	if escaped == "" {
		return nil
	}
	if h.endpoint.Fixed != nil {
		return api.Errorf(api.Misdirected, "a listener with a fixed scope does not compare memory directories").
			WithHint("select this daemon with --socket only")
	}
	root, err := url.PathUnescape(escaped)
	real, _ := filepath.EvalSymlinks(h.Root) // empty while the directory is missing
	if err != nil || root != h.Root && root != real {
		return api.Errorf(api.Misdirected, "the daemon on %s serves %s, not %s", h.endpoint.Name(), h.Root, root).
			WithHint("select the daemon of the other memory with --name or --socket, or start it: " +
				"memwatchd serve --name NAME --dir DIRECTORY")
	}
	return nil
}

// readOperation returns the body of a request for an operation, or nil for a GET.
func (h *handler) readOperation(a *response, r *http.Request, op *api.Operation) ([]byte, error) {
	switch {
	case r.Method == http.MethodGet && (op.Name == "status" || op.Stream):
		return nil, nil
	case r.Method != http.MethodPost:
		return nil, api.Errorf(api.Invalid, "%s does not accept the method %s", op.Name, r.Method).
			WithHint("POST a JSON object to /v1/%s", op.Name)
	case r.URL.RawQuery != "":
		return nil, api.Errorf(api.Invalid, "a POST request must not have a "+
			"query string").WithHint("send the parameters in the JSON object")
	}
	return h.readBody(a, r)
}

// decodeRequest returns the request from the body of a POST or the query of a GET. It
// returns an error for a field that is unknown, repeated or out of bounds.
func decodeRequest(r *http.Request, op *api.Operation, body []byte) (*api.Request, error) {
	req := op.NewRequest()
	if r.Method != http.MethodGet {
		if err := req.Decode(body); err != nil {
			return nil, err
		}
		return req, req.Check()
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, api.Errorf(api.Invalid, "invalid query string")
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if len(query[name]) > 1 {
			return nil, api.Errorf(api.Invalid, "duplicate field %q", name)
		}
		if err := req.SetNamed(name, query.Get(name)); err != nil {
			return nil, err
		}
	}
	return req, req.Check()
}

func (h *handler) readBody(a *response, r *http.Request) ([]byte, error) {
	var body bytes.Buffer
	_, err := body.ReadFrom(http.MaxBytesReader(a.w, r.Body, h.Limits.MaxRequest))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, api.Errorf(api.TooLarge, "request has more than %d bytes", h.Limits.MaxRequest)
	}
	if err != nil {
		return nil, api.Errorf(api.Invalid, "request body is incomplete")
	}
	// The only remaining read detects the end of the connection.
	a.control.SetReadDeadline(time.Time{})
	return body.Bytes(), nil
}

// logError logs an error whose text the client does not receive.
func (h *handler) logError(op string, err error) {
	if _, ok := errors.AsType[*api.Error](err); !ok {
		h.Logger.Error("request failed", "operation", op, "err", err)
	}
}

// A response is the answer to one request, which is sent once.
type response struct {
	w       http.ResponseWriter
	control *http.ResponseController
	write   time.Duration
	sent    bool
	code    string // ok, or the code of the error
}

func (a *response) sendError(err error) {
	if err == errGuestsBusy {
		a.w.Header().Set("Retry-After", retryAfter)
	}
	e, _ := secrets.RedactValue(api.AsError(err))
	a.code = string(e.Code)
	body, _ := api.EncodeJSON(api.Failure{Error: e}) // texts can be encoded
	a.send(e.Code.Status(), "application/json", body)
}

func (a *response) send(status int, mediaType string, body []byte) {
	if a.sent {
		return // a panic after the answer
	}
	a.sent, a.code = true, cmp.Or(a.code, "ok")
	a.control.SetWriteDeadline(time.Now().Add(a.write))
	header := a.w.Header()
	header.Set("Content-Type", mediaType)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Content-Length", strconv.Itoa(len(body))) // else in chunks
	a.w.WriteHeader(status)
	a.w.Write(body)
}
