package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/memwatchd/memwatchd/api"
)

// Files of memory are resources with the URI memory://<path>. Characters that
// are invalid in a URI are escaped.
const (
	resourcePrefix = "memory://"
	markdown       = "text/markdown"
)

// ResourceTemplate is the template of the URIs of files.
const ResourceTemplate = resourcePrefix + "{+path}"

// ResourceURI returns the URI of the file at a path of memory.
func ResourceURI(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		parts[i] = url.PathEscape(part)
	}
	return resourcePrefix + strings.Join(parts, "/")
}

func resourcePath(uri string) (string, bool) {
	escaped, ok := strings.CutPrefix(uri, resourcePrefix)
	path, err := url.PathUnescape(escaped)
	return path, ok && err == nil && path != ""
}

// noResource returns the same error for missing and for unreadable resources.
func noResource(uri string) error {
	if len(uri) > api.MaxName {
		uri = api.ShortenEcho(uri)
	}
	data, err := json.Marshal(map[string]string{"uri": uri})
	if err != nil {
		return err
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "Resource not found", Data: data}
}

// readResource returns the content of a file.
func (s *server) readResource(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	path, _ := resourcePath(req.Params.URI)
	answer, err := executeTyped(ctx, s.execute, api.GetRequest{Path: path})
	if err != nil {
		if code := api.AsError(err).Code; code == api.NotFound || code == api.Forbidden {
			return nil, noResource(req.Params.URI)
		}
		return nil, rpcError(err)
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, MIMEType: markdown,
		Text: fileText(answer)}}}, nil
}

// resourcePage is the number of files in a page of the list, and maxCompletions
// the number of completions that the protocol allows.
const (
	resourcePage   = 200
	maxCompletions = 100
)

// listResources lists the files that the caller can read, sorted by path. The
// cursor is the last path of the previous page.
func (s *server) listResources(ctx context.Context, after string, list *mcp.ListResourcesResult) error {
	page, err := s.listPaths(ctx, api.CompleteRequest{After: after, Limit: resourcePage})
	if err != nil {
		return err
	}
	for _, path := range page.Values {
		list.Resources = append(list.Resources, &mcp.Resource{URI: ResourceURI(path), Name: string(own(path)), MIMEType: markdown})
	}
	list.NextCursor = page.Next
	return nil
}

func (s *server) completePath(ctx context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	page := &api.CompleteAnswer{Values: []string{}}
	if req.Params.Ref.URI == ResourceTemplate && req.Params.Argument.Name == "path" {
		var err error
		page, err = s.listPaths(ctx, api.CompleteRequest{Prefix: req.Params.Argument.Value, Limit: maxCompletions})
		if err != nil {
			return nil, err
		}
	}
	return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{
		Values: page.Values, Total: page.Total, HasMore: page.Next != "",
	}}, nil
}

// listPaths lists paths. It returns an empty list if the listener forbids the
// operation.
func (s *server) listPaths(ctx context.Context, r api.CompleteRequest) (*api.CompleteAnswer, error) {
	r.What = "path"
	page, err := executeTyped(ctx, s.execute, r)
	switch {
	case err == nil:
		return page, nil
	case api.AsError(err).Code == api.Forbidden:
		return &api.CompleteAnswer{Values: []string{}}, nil
	}
	return nil, rpcError(err)
}

// executeTyped executes the operation of a typed request and decodes the answer.
func executeTyped[Request api.RequestFor[Answer], Answer any](ctx context.Context, execute ExecuteFunc,
	r Request) (*Answer, error) {
	answer, err := executeAny(ctx, execute, api.RequestOf(r).WithDefaults())
	if err != nil {
		return nil, err
	}
	return answer.(*Answer), nil
}

// executeAny executes an operation and decodes the answer.
func executeAny(ctx context.Context, execute ExecuteFunc, req *api.Request) (any, error) {
	if err := req.Check(); err != nil {
		return nil, err
	}
	raw, err := execute(ctx, req)
	if err != nil {
		return nil, err
	}
	answer := req.Operation().NewAnswer()
	if err := json.Unmarshal(raw, answer); err != nil {
		return nil, fmt.Errorf("%s: read the answer: %w", req.Operation().Name, err)
	}
	return answer, nil
}
