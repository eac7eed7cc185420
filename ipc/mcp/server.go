// Package mcp serves the operations that package api describes to models, by the
// Model Context Protocol: [Tools] lists what a model is given of them, [Handler]
// answers over HTTP for the daemon, and [Bridge] over standard input and output
// for a program that an agent starts.
package mcp

import (
	"context"
	"encoding/json"
	"runtime/debug"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/memwatchd/memwatchd/api"
)

// An server speaks the Model Context Protocol for whoever answers its
// questions: the daemon itself, or a client of one. It keeps nothing from one
// request to the next.
type server struct {
	*mcp.Server
	profile Profile
	version string

	ask AskFunc
	// may is what the caller of a context may ask; false if that is not known.
	may func(context.Context) (*api.OperationsAnswer, bool)
	// welcome is may, for the first answer of all, which must not wait.
	welcome func(context.Context) (*api.OperationsAnswer, bool)
	// broken is told of a panic.
	broken func(ctx context.Context, v any, stack []byte)
}

// start makes the server that the fields describe.
func (s *server) start() *server {
	s.Server = mcp.NewServer(&mcp.Implementation{Name: "memwatchd", Title: "Memory", Version: s.version}, &mcp.ServerOptions{
		Capabilities: &mcp.ServerCapabilities{
			Tools: &mcp.ToolCapabilities{}, Resources: &mcp.ResourceCapabilities{}, Completions: &mcp.CompletionCapabilities{},
		},
		CompletionHandler: s.complete,
		// Whoever asks sees what they may see.
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { c.CacheScope = "private" },
	})
	for _, t := range Tools {
		if s.profile.has(t) {
			s.AddTool(t.described(), s.handler(t))
		}
	}
	s.AddResourceTemplate(&mcp.ResourceTemplate{
		Name: "file", Title: "A file of memory", Description: "A Markdown file of memory, by its path",
		MIMEType: markdown, URITemplate: ResourceTemplate,
	}, s.readResource)
	s.AddReceivingMiddleware(s.receive)
	return s
}

// described is a tool as the protocol shows it.
func (t *Tool) described() *mcp.Tool {
	readOnly := !slices.ContainsFunc(t.ops, func(op *api.Operation) bool { return !op.ReadOnly })
	return &mcp.Tool{
		Name: t.Name, Title: t.Title, Description: t.Text, InputSchema: t.schema(),
		Annotations: &mcp.ToolAnnotations{
			Title: t.Title, ReadOnlyHint: readOnly, IdempotentHint: readOnly || t.Idempotent,
			DestructiveHint: new(t.Destructive), OpenWorldHint: new(false),
		},
	}
}

// handler answers the calls of a tool. What goes wrong is for the model to read:
// it is no error of the protocol.
func (s *server) handler(t *Tool) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return t.Use(ctx, s.ask, req.Params.Arguments).result()
	}
}

func (a Result) result() (*mcp.CallToolResult, error) {
	fields, err := api.Encode(a.Fields)
	if err != nil {
		return nil, err
	}
	return &mcp.CallToolResult{
		Content: []mcp.Content{&mcp.TextContent{Text: a.Text}}, StructuredContent: json.RawMessage(fields), IsError: a.Failed,
	}, nil
}

// receive stands before everything that is asked for: a panic is an answer, the
// next request must not notice; and who may not use a tool is not shown it.
func (s *server) receive(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (result mcp.Result, err error) {
		defer func() {
			if v := recover(); v != nil {
				s.broken(ctx, v, debug.Stack())
				e := api.Errorf(api.Internal, "something went wrong").WithHint("the daemon's log says what")
				if result, err = nil, rpcError(e); method == "tools/call" {
					result, err = failure(e).result()
				}
			}
		}()
		after := ""
		switch r := req.(type) {
		case *mcp.ReadResourceRequest:
			uri, ok := canonicalURI(r.Params.URI)
			if !ok {
				return nil, noResource(r.Params.URI)
			}
			params := *r.Params
			params.URI = uri
			req = &mcp.ReadResourceRequest{Session: r.Session, Params: &params, Extra: r.Extra}
		case *mcp.ListResourcesRequest:
			if r.Params != nil {
				after = r.Params.Cursor // ours, not the library's
			}
			req = &mcp.ListResourcesRequest{Session: r.Session, Params: &mcp.ListResourcesParams{}, Extra: r.Extra}
		}
		if result, err = next(ctx, method, req); err != nil {
			return nil, err
		}
		switch r := result.(type) {
		case *mcp.InitializeResult:
			r.Instructions = s.instructions(ctx)
		case *mcp.DiscoverResult:
			r.Instructions = s.instructions(ctx)
		case *mcp.ListToolsResult:
			if may, ok := s.may(ctx); ok {
				r.Tools = slices.DeleteFunc(r.Tools, func(t *mcp.Tool) bool { return !toolNamed(t.Name).allowed(may) })
			}
		case *mcp.ListResourcesResult:
			if err := s.listResources(ctx, after, r); err != nil {
				return nil, err
			}
		}
		return result, nil
	}
}

func toolNamed(name string) *Tool {
	return Tools[slices.IndexFunc(Tools, func(t *Tool) bool { return t.Name == name })]
}

// instructions are empty where there is no memory.
func (s *server) instructions(ctx context.Context) string {
	may, known := s.welcome(ctx)
	if known && !may.Enabled {
		return ""
	}
	return instructions(func(name string) bool {
		t := toolNamed(name)
		return s.profile.has(t) && (!known || t.allowed(may))
	})
}

// rpcError is an error of an operation where the protocol has no other place for
// it.
func rpcError(err error) error {
	e := errorOf(err)
	data, err := api.Encode(api.Failure{Error: e})
	if err != nil {
		return err
	}
	code := int64(jsonrpc.CodeInternalError)
	if e.Code == api.Invalid {
		code = jsonrpc.CodeInvalidParams
	}
	return &jsonrpc.Error{Code: code, Message: e.Error(), Data: data}
}
