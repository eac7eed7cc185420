// Package mcp serves the operations of package api to models over the Model
// Context Protocol. [Tools] lists the tools of models, [Handler] answers over
// HTTP for the daemon, and [Bridge] answers over standard input and output for
// a program that an agent starts.
package mcp

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/internal/letters"
)

// A server implements the Model Context Protocol on top of an ExecuteFunc: that of
// the daemon itself or that of a client. It keeps no state between requests.
type server struct {
	*mcp.Server
	toolSet func(context.Context) ToolSet // the tools on offer
	version string

	execute ExecuteFunc
	// permitted returns the operations permitted to the caller in the context, or
	// false if they are unknown.
	permitted func(context.Context) (*api.OperationsAnswer, bool)
	// initialState replaces permitted for the first response, which must not wait.
	initialState func(context.Context) (*api.OperationsAnswer, bool)
	onPanic      func(v any, stack []byte) // called for a panic
}

// buildServer creates the server from the fields.
func (s *server) buildServer() {
	options := &mcp.ServerOptions{
		Capabilities: &mcp.ServerCapabilities{
			Tools: &mcp.ToolCapabilities{}, Resources: &mcp.ResourceCapabilities{},
		},
		// The list depends on the permissions of the caller.
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { c.CacheScope = "private" },
	}
	s.Server = mcp.NewServer(&mcp.Implementation{Name: "memwatchd", Title: "Memory", Version: s.version}, options)
	for _, t := range Tools {
		s.AddTool(t.protocolTool(), s.toolHandler(t))
	}
	s.AddResourceTemplate(&mcp.ResourceTemplate{
		Name: "file", Title: "Memory file", Description: "Read a Markdown file of the memory by path",
		MIMEType: markdown, URITemplate: resourceTemplate,
	}, s.readResource)
	s.AddReceivingMiddleware(s.wrapMethods)
}

func (t *Tool) protocolTool() *mcp.Tool {
	readOnly := t.isReadOnly()
	return &mcp.Tool{
		Name: t.Name, Title: t.Title, Description: t.Text, InputSchema: t.inputSchema(),
		Annotations: &mcp.ToolAnnotations{
			ReadOnlyHint: readOnly, IdempotentHint: readOnly || t.Idempotent,
			DestructiveHint: new(t.Destructive), OpenWorldHint: new(false),
		},
	}
}

// toolHandler returns the handler for calls of a tool. A failed operation is a
// result for the model to read and not a protocol error.
func (s *server) toolHandler(t *Tool) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return t.Use(ctx, s.execute, req.Params.Arguments).callResult(), nil
	}
}

// callResult returns the result as text only. Of a result with structured content too, most
// agents show the model only that content, or both.
func (a Result) callResult() *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: a.Text}}, IsError: a.Failed}
}

// wrapMethods wraps all methods. It converts a panic into an error response, so
// that the next request is not affected, and removes tools from the
// list that the caller may not use.
func (s *server) wrapMethods(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (result mcp.Result, err error) {
		defer func() {
			if v := recover(); v != nil {
				s.onPanic(v, debug.Stack())
				e := api.Errorf(api.Internal, "internal error").WithHint("see the log of the daemon")
				result, err = nil, rpcError(e)
				if method == "tools/call" {
					result, err = new(Tool).failedResult(e).callResult(), nil
				}
			}
		}()
		ctx = withClient(ctx, req)
		after := ""
		switch r := req.(type) {
		case *mcp.ReadResourceRequest:
			path, ok := resourcePath(r.Params.URI)
			if !ok {
				return nil, noResource(r.Params.URI)
			}
			params := *r.Params
			params.URI = ResourceURI(path) // with its escaping
			req = &mcp.ReadResourceRequest{Session: r.Session, Params: &params, Extra: r.Extra}
		case *mcp.CallToolRequest:
			t := findTool(r.Params.Name)
			if t == nil || !s.toolSet(ctx).offersTool(t) {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams,
					Message: fmt.Sprintf("unknown tool %q", r.Params.Name)}
			}
			params := *r.Params
			params.Name = t.Name
			req = &mcp.CallToolRequest{Session: r.Session, Params: &params, Extra: r.Extra}
		case *mcp.ListResourcesRequest:
			if r.Params != nil {
				after = r.Params.Cursor // a cursor of this package, not of the library
			}
			req = &mcp.ListResourcesRequest{Session: r.Session, Params: &mcp.ListResourcesParams{}, Extra: r.Extra}
		}
		result, err = next(ctx, method, req)
		if err != nil {
			return nil, err
		}
		switch r := result.(type) {
		case *mcp.InitializeResult:
			r.Instructions = s.modelInstructions(ctx)
		case *mcp.DiscoverResult:
			r.Instructions = s.modelInstructions(ctx)
		case *mcp.ListToolsResult:
			offered := s.offeredTools(ctx, s.permitted)
			r.Tools = slices.DeleteFunc(r.Tools, func(t *mcp.Tool) bool { return !offered(t.Name) })
		case *mcp.ListResourcesResult:
			if err := s.listResources(ctx, after, r); err != nil {
				return nil, err
			}
		}
		return result, nil
	}
}

type clientKey struct{}

// withClient returns a context with the name of the agent that sends a request.
func withClient(ctx context.Context, req mcp.Request) context.Context {
	r, ok := req.(interface{ ClientInfo() *mcp.Implementation })
	if !ok {
		return ctx
	}
	info := r.ClientInfo()
	if info == nil || info.Name == "" {
		return ctx
	}
	return context.WithValue(ctx, clientKey{}, info.Name)
}

// programOf returns the name of the program for changes that an agent requests.
func programOf(ctx context.Context) string {
	if name, ok := ctx.Value(clientKey{}).(string); ok {
		return "mcp:" + name
	}
	return "mcp"
}

// modelInstructions returns the instructions for the model, or "" if memory is
// turned off.
func (s *server) modelInstructions(ctx context.Context) string {
	if answer, known := s.initialState(ctx); known && !answer.Enabled {
		return ""
	}
	return instructionsFor(s.offeredTools(ctx, s.initialState))
}

// offeredTools returns a function that reports whether the server offers a tool to the
// caller in the context, whose permitted operations may be unknown.
func (s *server) offeredTools(ctx context.Context,
	permitted func(context.Context) (*api.OperationsAnswer, bool)) func(name string) bool {
	answer, known := permitted(ctx)
	return func(name string) bool {
		t := findTool(name)
		return s.toolSet(ctx).offersTool(t) && (!known || t.isPermitted(answer))
	}
}

// rpcError converts the error of an operation to a protocol error, for methods
// whose results have no field for errors.
func rpcError(err error) error {
	e := errorOf(err)
	data, _ := api.EncodeJSON(api.Failure{Error: e}) // texts can be encoded
	data = letters.EscapeJSON(data, true)
	code := int64(jsonrpc.CodeInternalError)
	if e.Code == api.Invalid {
		code = jsonrpc.CodeInvalidParams
	}
	return &jsonrpc.Error{Code: code, Message: string(own(e.Error())), Data: data}
}
