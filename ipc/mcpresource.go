package ipc

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Files of memory are resources: memory://<path>, with what cannot stand in a URI
// escaped.
const (
	resourcePrefix = "memory://"
	markdown       = "text/markdown"
)

func resourceURI(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		parts[i] = url.PathEscape(part)
	}
	return resourcePrefix + strings.Join(parts, "/")
}

// resourcePath is the path that a URI names.
func resourcePath(uri string) (string, bool) {
	escaped, ok := strings.CutPrefix(uri, resourcePrefix)
	path, err := url.PathUnescape(escaped)
	return path, ok && err == nil && path != ""
}

// canonicalURI is a URI as it is listed, of what may be escaped less, or more.
func canonicalURI(uri string) (string, bool) {
	path, ok := resourcePath(uri)
	return resourceURI(path), ok
}

// noResource is the one answer for what is not there, and for what may not be
// read.
func noResource(uri string) error {
	data, err := json.Marshal(map[string]string{"uri": uri})
	if err != nil {
		return err
	}
	return &jsonrpc.Error{Code: mcp.CodeResourceNotFound, Message: "Resource not found", Data: data}
}

// readResource shows a file.
func (s *mcpServer) readResource(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	path, _ := resourcePath(req.Params.URI)
	answer, err := askFor[GetAnswer](ctx, s.ask, GetRequest{Path: path})
	if err != nil {
		switch asError(err).Code {
		case NotFound, Invalid, Forbidden:
			return nil, noResource(req.Params.URI)
		}
		return nil, rpcError(err)
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, MIMEType: markdown, Text: answer.Text}}}, nil
}

// askFor asks for an operation with a request and an answer of Go.
func askFor[Answer, R any](ctx context.Context, ask askFunc, r R) (*Answer, error) {
	req := requestOf(r)
	raw, err := ask(ctx, req)
	if err != nil {
		return nil, err
	}
	return read[Answer](req, raw)
}
