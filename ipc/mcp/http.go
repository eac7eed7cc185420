package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/memwatchd/memwatchd/api"
)

// POST /mcp implements the Model Context Protocol as streamable HTTP without
// sessions: a message and its answer in JSON. The caller is determined by the
// listener or by
//
//	Memwatchd-Subject: acct:42
//	Memwatchd-External-Key: telegram:1, in place of a subject
//	Memwatchd-Context: private
//
// and never by the arguments of a tool. /mcp?tools=items also offers the tools
// for items, /mcp?tools=all all tools, and /mcp?tools=put,get the named ones. The default is the core tools, or the
// tools for the operations that the listener permits.

// The headers that identify the caller of a request to /mcp.
const (
	SubjectHeader     = "Memwatchd-Subject"
	ExternalKeyHeader = "Memwatchd-External-Key"
	ContextHeader     = "Memwatchd-Context"
)

// A Handler answers POST /mcp on one listener.
type Handler struct {
	Listener   string     // name of the listener
	Fixed      *api.Fixed // scope to which the listener restricts its callers
	Version    string     // of the program
	MaxRequest int64      // bytes of a request body

	Do       func(context.Context, api.Caller, *api.Request) (any, error)
	Panicked func(v any, stack []byte) // called for a panic

	once sync.Once
	http *mcp.StreamableHTTPHandler
}

func (h *Handler) startServer() {
	permitted := func(ctx context.Context) (*api.OperationsAnswer, bool) { return exchangeOf(ctx).permitted, true }
	s := &server{version: h.Version, execute: h.executeRequest, permitted: permitted, initialState: permitted,
		toolSet: func(ctx context.Context) ToolSet { return exchangeOf(ctx).toolSet },
		onPanic: h.Panicked}
	s.buildServer()
	h.http = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.Server },
		&mcp.StreamableHTTPOptions{
			Stateless: true, JSONResponse: true, MaxRequestBodyBytes: h.MaxRequest,
			DisableLocalhostProtection: true, // the listener has its own protection
		})
}

// A Response is the complete response to a request to /mcp.
type Response struct {
	Status int
	Body   bytes.Buffer

	header http.Header
}

// Header, WriteHeader and Write implement [http.ResponseWriter].
func (w *Response) Header() http.Header { return w.header }

func (w *Response) WriteHeader(status int) { w.Status = status }

func (w *Response) Write(p []byte) (int, error) { return w.Body.Write(p) }

// An exchange is one request to /mcp.
type exchange struct {
	toolSet   ToolSet
	caller    api.Caller
	permitted *api.OperationsAnswer // operations permitted to the caller
	ctx       context.Context       // canceled when the client disconnects
}

type exchangeKey struct{}

func exchangeOf(ctx context.Context) *exchange { return ctx.Value(exchangeKey{}).(*exchange) }

// Answer answers a request. It calls read, which returns the body, if any, only
// after the caller is known. A failed operation is part of the response. The
// error is that of read, or an [*api.Error] for an invalid request; the client
// may see its text.
func (h *Handler) Answer(r *http.Request, read func() ([]byte, error)) (*Response, error) {
	h.once.Do(h.startServer)
	e, err := h.newExchange(r)
	if err != nil {
		return nil, err
	}
	body, err := read()
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")) { // the library would execute the messages at once
		return nil, api.Errorf(api.Invalid, "batches are not supported: send one message in a request")
	}
	r = r.WithContext(context.WithValue(r.Context(), exchangeKey{}, e))
	r.Body = io.NopCloser(bytes.NewReader(body))
	w := &Response{Status: http.StatusOK, header: http.Header{}}
	h.http.ServeHTTP(w, r)
	return w, nil
}

// newExchange determines the caller and the tools of a request.
func (h *Handler) newExchange(r *http.Request) (*exchange, error) {
	caller := api.Caller{Listener: h.Listener, Fixed: h.Fixed, Model: true}
	e := &exchange{toolSet: CoreTools, caller: caller, ctx: r.Context()}
	if h.Fixed != nil && len(h.Fixed.Operations) > 0 {
		e.toolSet = AllTools // restricted to the operations of the listener
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, api.Errorf(api.Invalid, "invalid query string")
	}
	for name, values := range query {
		if name != "tools" || len(values) != 1 {
			return nil, api.Errorf(api.Invalid, "invalid query string: /mcp accepts only tools=%s, or names of tools",
				strings.Join(ToolSets, ", tools="))
		}
		e.toolSet, err = ParseToolSet(values[0])
		if err != nil {
			return nil, err
		}
	}
	scope := &e.caller.Scope
	fields := map[string]**string{SubjectHeader: &scope.Subject, ExternalKeyHeader: &scope.ExternalKey,
		ContextHeader: &scope.Context}
	for name, values := range r.Header {
		field := fields[name]
		switch {
		case field == nil && strings.HasPrefix(name, "Memwatchd-"):
			return nil, api.Errorf(api.Invalid, "unknown header %s", name).
				WithHint("use %s, %s or %s", SubjectHeader, ExternalKeyHeader, ContextHeader)
		case field != nil && len(values) > 1:
			return nil, api.Errorf(api.Invalid, "duplicate header %s", name)
		case field != nil:
			*field = &values[0]
		}
	}
	answer, err := h.Do(e.ctx, e.caller, api.RequestOf(api.OperationsRequest{}))
	if err != nil {
		return nil, err
	}
	e.permitted = answer.(*api.OperationsAnswer)
	return e, nil
}

// executeRequest executes an operation for a request to /mcp.
func (h *Handler) executeRequest(ctx context.Context, req *api.Request) (json.RawMessage, error) {
	e := exchangeOf(ctx)
	if !h.Fixed.Allows(req.Operation()) {
		return nil, api.Errorf(api.Forbidden, "%s is not served on this listener", req.Operation().Name)
	}
	// The protocol library does not cancel the work for a client that has
	// disconnected.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(e.ctx, cancel)()
	caller := e.caller
	caller.Program = api.NewProgram(programOf(ctx), "")
	answer, err := h.Do(ctx, caller, req)
	if err != nil {
		return nil, err
	}
	return api.EncodeJSON(answer)
}
