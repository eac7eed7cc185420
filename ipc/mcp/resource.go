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
	"github.com/memwatchd/memwatchd/internal/letters"
)

// Files of memory are resources with the URI memory://<path>. Characters that
// are invalid in a URI are escaped.
const (
	resourcePrefix = "memory://"
	markdown       = "text/markdown"
)

// resourceTemplate is the template of the URIs of files.
const resourceTemplate = resourcePrefix + "{+path}"

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
	data, _ := json.Marshal(map[string]string{"uri": uri}) // texts can be encoded
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

// resourcePage is the number of files in a page of the list.
const resourcePage = 200

// listResources lists the files that the caller can read, sorted by path. The
// cursor is the last path of the previous page.
func (s *server) listResources(ctx context.Context, after string, list *mcp.ListResourcesResult) error {
	page, err := executeTyped(ctx, s.execute, api.CompleteRequest{What: "path", After: after, Limit: resourcePage})
	switch {
	case err != nil && api.AsError(err).Code == api.Forbidden:
		return nil // the listener forbids the operation
	case err != nil:
		return rpcError(err)
	}
	for _, path := range page.Values {
		list.Resources = append(list.Resources,
			&mcp.Resource{URI: ResourceURI(path), Name: string(own(letters.DropInvisible(path, true))), MIMEType: markdown})
	}
	list.NextCursor = page.Next
	return nil
}

// executeTyped executes the operation of a typed request and decodes the answer.
func executeTyped[Request api.RequestFor[Answer], Answer any](ctx context.Context, execute ExecuteFunc,
	r Request) (*Answer, error) {
	req := api.RequestOf(r).WithDefaults()
	if err := req.Check(); err != nil {
		return nil, err
	}
	raw, err := execute(ctx, req)
	if err != nil {
		return nil, err
	}
	answer := new(Answer)
	if err := json.Unmarshal(raw, answer); err != nil {
		return nil, fmt.Errorf("%s: read the answer: %w", req.Operation().Name, err)
	}
	return answer, nil
}
