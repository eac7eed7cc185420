package e2e

import (
	"os/exec"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

// agentFiles is a memory to use tools on.
var agentFiles = map[string]string{
	"MEMORY.md":           "# Long-Term Memory\n\n- **Staging**: db-staging.internal\n- **Old phone**: 555-0199\n",
	"2026-02-04/cli_1.md": "---\nsession_id: cli_1\nsummary: Slow queries.\n---\n\n# Day\n\n- Looked into the [report](../notes/report.md).\n\n## Tasks\n\n- [ ] Add an index\n",
	"notes/report.md":     "# Report\n\nThe page reads one table.\n",
}

func startAgents(t *testing.T) *live {
	t.Helper()
	l := newLive(t, t.TempDir(), "")
	for path, text := range agentFiles {
		l.write(path, text)
	}
	l.start()
	return l
}

// A use is a call of a tool by an agent.
type use struct {
	tool      string
	arguments fields
}

// bridge starts memwatchd mcp, as an agent does.
func (l *live) bridge(t *testing.T, flags ...string) *sdk.ClientSession {
	t.Helper()
	cmd := exec.Command("memwatchd", append([]string{"mcp", "--config", l.config}, flags...)...)
	cmd.Env, cmd.Stderr = l.env, &l.log
	return connect(t, &sdk.CommandTransport{Command: cmd})
}

func connect(t *testing.T, transport sdk.Transport) *sdk.ClientSession {
	t.Helper()
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), transport, nil)
	testkit.Must(t, err)
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Errorf("the session ended with %v", err)
		}
	})
	return session
}

// useTool returns the text that an agent reads.
func useTool(t *testing.T, session *sdk.ClientSession, u use) (text string, result *sdk.CallToolResult) {
	t.Helper()
	result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: u.tool, Arguments: u.arguments})
	if err != nil {
		t.Fatalf("%s: %v", u.tool, err)
	}
	for _, c := range result.Content {
		if c, ok := c.(*sdk.TextContent); ok {
			text += c.Text
		}
	}
	return text, result
}

// TestLiveBridgeSurvivesRestart checks that if the daemon restarts during a
// session, even after a kill, the agent loses only the requests made meanwhile.
func TestLiveBridgeSurvivesRestart(t *testing.T) {
	t.Parallel()
	l := startAgents(t)
	session := l.bridge(t)
	search := use{tool: "memory_search", arguments: fields{"query": "staging"}}
	for range 3 {
		if text, result := useTool(t, session, search); result.IsError || !strings.Contains(text, "db-staging") {
			t.Errorf("before: %q", text)
		}
		l.cmd.Process.Kill()
		<-l.done
		l.done = nil
		text, result := useTool(t, session, search)
		if !result.IsError || !strings.Contains(text, "unavailable: no daemon answers on "+l.socket) || !strings.Contains(text, " serve`") {
			t.Errorf("without: %q", text)
		}
		if list, err := session.ListTools(t.Context(), nil); err != nil || len(list.Tools) != 11 {
			t.Errorf("without: %+v, %v", list, err)
		}
		l.start()
	}
	if text, result := useTool(t, session, search); result.IsError || !strings.Contains(text, "db-staging") {
		t.Errorf("after: %q", text)
	}
}
