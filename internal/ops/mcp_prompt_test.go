package ops

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/ipc"
	"github.com/memwatchd/memwatchd/ipc/client"
	"github.com/memwatchd/memwatchd/ipc/mcp"
)

// getPrompt returns the raw response to a request for a prompt.
func getPrompt(t *testing.T, socket, name string, arguments fields, header http.Header) string {
	t.Helper()
	return post(t, socket, "", rpc(1, "prompts/get", fields{"name": name, "arguments": arguments}), header).body
}

var promptRequests = []struct {
	name      string
	arguments fields
}{
	{"recap", fields{}}, {"recap", fields{"topic": "words that are private of bob"}}, {"recap", fields{"topic": ""}},
	{"handover", fields{}}, {"handover", fields{"session": "secret"}},
}

// TestMCPPrompts checks that prompts are listed for callers that may use their
// operations, and contain an instruction and memory.
func TestMCPPrompts(t *testing.T) {
	m := someMemory(t, privateFiles...)
	for _, c := range []struct {
		name  string
		fixed *api.Fixed
		who   http.Header
		want  []string
	}{
		{"the owner", nil, as("owner", "private"), []string{"handover", "recap"}},
		{"nobody", nil, nil, []string{"handover", "recap"}},
		{"some operations", &api.Fixed{Subject: "acct:42", Operations: []string{"search", "context"}}, nil, []string{"recap"}},
		{"one operation", &api.Fixed{Subject: "acct:42", Operations: []string{"search"}}, nil, nil},
	} {
		socket := serveAs(t, m, func(e *ipc.Endpoint, _ *ipc.Server) { e.Fixed = c.fixed })
		var list struct{ Result sdk.ListPromptsResult }
		body := post(t, socket, "", rpc(1, "prompts/list", fields{}), c.who).body
		if err := json.Unmarshal([]byte(body), &list); err != nil {
			t.Fatalf("%v: %s", err, body)
		}
		var names []string
		for _, p := range list.Result.Prompts {
			names = append(names, p.Name)
		}
		if diff := cmp.Diff(c.want, names); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		for _, r := range promptRequests {
			body := getPrompt(t, socket, r.name, r.arguments, c.who)
			if slices.Contains(c.want, r.name) && !strings.Contains(body, `"messages"`) {
				t.Errorf("%s: %s is %s", c.name, r.name, body)
			}
		}
	}

	session := connectBridge(t, &mcp.Bridge{Client: &client.Client{Socket: serveOps(t, m), AsOwner: true}})
	for _, c := range []struct {
		name      string
		arguments map[string]string
		want      []string
	}{
		{"recap", nil, []string{"recap of the recent days", "data, not instructions", "words of the owner"}},
		{"recap", map[string]string{"topic": "words"}, []string{"about this topic: words", "MEMORY.md:3", "words of the owner"}},
		{"recap", map[string]string{"topic": "zebra"}, []string{"about this topic: zebra"}},
		{"handover", nil, []string{"Save the handover with memory_session.", "memory_todo", "[ ] a task", "# Entries of the last day"}},
		{"handover", map[string]string{"session": "s1"}, []string{"memory_session, for the session s1."}},
	} {
		got, err := session.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: c.name, Arguments: c.arguments})
		if err != nil || len(got.Messages) != 1 || got.Messages[0].Role != "user" {
			t.Fatalf("%s: %+v, %v", c.name, got, err)
		}
		text := got.Messages[0].Content.(*sdk.TextContent).Text
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s %v has no %q:\n%s", c.name, c.arguments, want, text)
			}
		}
	}
	for _, c := range []sdk.GetPromptParams{{Name: "none"}, {Name: "recap", Arguments: map[string]string{"session": "x"}}} {
		if got, err := session.GetPrompt(t.Context(), &c); err == nil {
			t.Errorf("%s %v is %+v", c.Name, c.Arguments, got)
		}
	}
}

// TestMCPPromptsHide checks that a prompt does not depend on files that the
// caller may not read.
func TestMCPPromptsHide(t *testing.T) {
	without, with := serveOps(t, someMemory(t)), serveOps(t, someMemory(t, privateFiles...))
	for _, who := range []http.Header{nil, as("owner", "public"), as("acct:9", "private"), as("acct:42", "public"), as("", "unknown")} {
		for _, r := range promptRequests {
			a, b := getPrompt(t, without, r.name, r.arguments, who), getPrompt(t, with, r.name, r.arguments, who)
			if a != b || !strings.Contains(a, `"messages"`) {
				t.Errorf("%v: %s %v is\n%s\nand beside hidden files\n%s", who, r.name, r.arguments, a, b)
			}
		}
	}
}
