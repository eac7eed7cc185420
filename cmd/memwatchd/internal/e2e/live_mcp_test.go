package e2e

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/ipc/mcp"
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

// A use is a call of a tool by an agent, and a part of the expected text.
type use struct {
	tool      string
	arguments fields
	want      string
}

// everyTool uses every tool, in an order in which each has data to act on.
var everyTool = []use{
	{"memory_search", fields{"query": "staging", "k": 3}, "MEMORY.md:3"},
	{"memory_get", fields{"path": "notes/report.md", "from": 3}, "one table"},
	{"memory_recent", fields{"hours": 100000}, "Looked into"},
	{"memory_related", fields{"path": "notes/report.md"}, "2026-02-04/cli_1.md"},
	{"memory_load", fields{"session": "cli_1"}, "Staging"},
	{"memory_context", fields{"format": "relevant", "query": "staging database"}, "db-staging"},
	{"memory_todos", fields{}, "[ ] Add an index"},
	{"memory_todo", fields{"text": "Add an index"}, "[x] Add an index"},
	{"memory_note", fields{"text": "The index is built."}, "noted: memory/"},
	{"memory_capture", fields{"bullets": []string{"built the index"}}, "noted: memory/"},
	{"memory_remember", fields{"title": "Editor", "text": "vim", "explicit": true}, "remembered: "},
	{"memory_session", fields{"session": "cli_2", "draft": fields{"summary": "Built it.", "tasks": []fields{{"text": "Look again"}}}}, "written: "},
	{"memory_edit", fields{"path": "notes/report.md", "old_text": "one table", "new_text": "two tables"}, "written: notes/report.md"},
	{"memory_write", fields{"path": "notes/new.md", "text": "# New\n"}, "written: notes/new.md"},
	{"memory_profile", fields{"text": "Works at night.", "evidence": []string{"notes/report.md"}}, "summarized: "},
	{"memory_project", fields{"name": "report", "text": "Is fast now.", "evidence": []string{"notes/report.md"}}, "summarized: "},
	{"memory_put", fields{"namespace": "preference", "key": "shell", "value": "fish"}, "preference/shell: fish"},
	{"memory_get", fields{"namespace": "preference", "key": "shell"}, "fish"},
	{"memory_list", fields{"namespace": "preference"}, "preference/shell: fish"},
	{"memory_delete", fields{"namespace": "preference", "key": "shell"}, "1 item deleted"},
	{"memory_delete_namespace", fields{"namespace": "task_state"}, "0 items deleted"},
	{"memory_forget", fields{"match": "555-0199"}, "token: "},
	{"memory_history", fields{"path": "notes/report.md"}, "replaced by edit | by mcp:test"},
	{"memory_status", fields{}, "healthy: "},
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
	if err != nil {
		t.Fatal(err)
	}
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

// TestLiveEveryTool checks that an agent uses every tool over a bridge, and its
// writes are in the files.
func TestLiveEveryTool(t *testing.T) {
	t.Parallel()
	l := startAgents(t)
	session := l.bridge(t, "--tools", "all")
	list, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var unused []string
	for _, tool := range list.Tools {
		unused = append(unused, tool.Name)
	}
	if len(unused) != len(mcp.Tools) {
		t.Errorf("%d of %d tools are listed: %v", len(unused), len(mcp.Tools), unused)
	}
	for _, u := range everyTool {
		unused = slices.DeleteFunc(unused, func(name string) bool { return name == u.tool })
		text, result := useTool(t, session, u)
		if result.IsError || !strings.Contains(text, u.want) {
			t.Errorf("%s %v answers %q, not %q", u.tool, u.arguments, text, u.want)
		}
		if _, ok := result.StructuredContent.(map[string]any); !ok {
			t.Errorf("%s answers no object", u.tool)
		}
		if u.tool == "memory_forget" {
			l.forgetFirst(t, session, result)
		}
	}
	if len(unused) > 0 {
		t.Errorf("these were not used: %v", unused)
	}
	for path, words := range map[string]string{"notes/report.md": "two tables", "2026-02-04/cli_1.md": "- [x] Add an index", "MEMORY.md": "vim"} {
		if got, err := l.get(owner, path); err != nil || !strings.Contains(got.Text, words) {
			t.Errorf("%s has no %q: %v", path, words, err)
		}
	}
	read, err := session.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "memory://notes/report.md"})
	if err != nil || !strings.Contains(read.Contents[0].Text, "two tables") {
		t.Errorf("the file is %+v, %v", read, err)
	}
	files, err := session.ListResources(t.Context(), nil)
	if err != nil || len(files.Resources) < len(agentFiles)+2 {
		t.Errorf("the files are %+v, %v", files, err)
	}
}

// forgetFirst is the second step of forgetting: it deletes the listed entries.
func (l *live) forgetFirst(t *testing.T, session *sdk.ClientSession, listed *sdk.CallToolResult) {
	t.Helper()
	raw, err := json.Marshal(listed.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	var list api.ForgetAnswer
	if err := json.Unmarshal(raw, &list); err != nil || len(list.Entries) != 1 {
		t.Fatalf("%s: %v", raw, err)
	}
	text, result := useTool(t, session, use{"memory_forget", fields{"ids": []string{list.Entries[0].ID}, "token": list.Token}, ""})
	if got, err := l.get(owner, "MEMORY.md"); result.IsError || !strings.Contains(text, "forgotten: ") || err != nil || strings.Contains(got.Text, "555-0199") {
		t.Errorf("it answers %q; %v", text, err)
	}
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
