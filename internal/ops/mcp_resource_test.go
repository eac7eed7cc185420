package ops

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/ipc/mcp"
)

// TestMCPResources checks that files are resources for callers that may read
// them: listed in pages, and read.
func TestMCPResources(t *testing.T) {
	var many []txtar.File
	for i := range 1005 {
		many = append(many, txtar.File{Name: fmt.Sprintf("notes/n%04d.md", i), Data: []byte("---\nvisibility: public_ok\n---\n\n- a note\n")})
	}
	m := someMemory(t, append(privateFiles, many...)...)
	model := newModel(t, m, serveOps(t, m), "")
	model.as("owner", "private")
	var names []string
	for r, err := range model.session.Resources(t.Context(), nil) {
		checkError(t, err)
		names = append(names, r.Name)
		if r.URI != mcp.ResourceURI(r.Name) || r.MIMEType != "text/markdown" {
			t.Errorf("%s is %s, of type %s", r.Name, r.URI, r.MIMEType)
		}
	}
	if !slices.IsSorted(names) || len(slices.Compact(names)) != len(many)+3 || !slices.Contains(names, "MEMORY.md") || slices.Contains(names, "2026-02-03/secret.md") {
		t.Errorf("%d files are listed: %v", len(names), names[:10])
	}
	for uri, want := range map[string]string{
		"memory://MEMORY.md":                       "# Long-Term Memory\n\n- words of the owner\n",
		mcp.ResourceURI("2026-02-05/zoë 你好 #1.md"): "- more words for all\n",
		"memory://2026-02-05/zoë 你好 %231.md":       "- more words for all\n",
		"memory://%4DEMORY.md":                     "# Long-Term Memory\n\n- words of the owner\n",
	} {
		got, err := model.session.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
		if err != nil || len(got.Contents) != 1 || got.Contents[0].Text != want || got.Contents[0].MIMEType != "text/markdown" {
			t.Errorf("%s is %+v, %v", uri, got, err)
		}
	}
}

// TestMCPNoResource checks that missing, unreadable and impossible resources
// get the same answer.
func TestMCPNoResource(t *testing.T) {
	socket := serveOps(t, someMemory(t, privateFiles...))
	for _, uri := range []string{
		"memory://none.md", "memory://MEMORY.md", "memory://2026-02-03/secret.md", "memory://../etc/passwd", "memory://%2e%2e/x", "memory:///etc/passwd",
		"memory://", "memory:", "file:///etc/passwd", "", "memory://%zz", "memory://a\u0000b", "memory://\u202e\U0010ffff", "memory://a%ff", "MEMORY://MEMORY.md",
	} {
		got := post(t, socket, "", rpc(1, "resources/read", fields{"uri": uri}), nil)
		var failed struct {
			Error struct {
				Code    int
				Message string
				Data    struct{ URI string }
			}
		}
		if err := json.Unmarshal([]byte(got.body), &failed); err != nil || failed.Error.Code != -32602 || failed.Error.Message != "Resource not found" {
			t.Errorf("%q: %v, %v", uri, got, err)
		}
		escaped, ours := strings.CutPrefix(uri, "memory://")
		if path, err := url.PathUnescape(escaped); ours && err == nil && path != "" {
			uri = mcp.ResourceURI(path)
		}
		if failed.Error.Data.URI != uri {
			t.Errorf("%q: it is said of %q", uri, failed.Error.Data.URI)
		}
	}
}
