package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestAgentsOfTwoMemories installs the settings of agents for two memories, each
// in a project of its own, and sends a note through each command that was
// written. No daemon runs at first: the commands start them.
func TestAgentsOfTwoMemories(t *testing.T) {
	t.Parallel()
	s := newHome(t)
	s.env = append(s.env, autostart+"=1")
	t.Cleanup(func() { stopBackground(filepath.Join(s.home, "run", "memwatchd")) })
	s.must(t, "memwatchd init --dir first; memwatchd init --name second --dir second; "+
		"memwatchd init --config third.yaml --name third --dir third")
	memories := []struct{ dir, flags string }{
		{"first", "--dir ../first"}, {"second", "--name second"}, {"second", "--dir ../second"},
		{"third", "--config ../third.yaml"},
	}
	for i, m := range memories {
		project := filepath.Join(s.home, fmt.Sprint("project", i))
		for file, agent := range map[string]string{
			".mcp.json": "claude-code", ".codex/config.toml": "codex", ".cursor/mcp.json": "cursor",
			".gemini/settings.json": "gemini", "opencode.json": "opencode",
		} {
			s.must(t, fmt.Sprintf("mkdir -p %s; cd %[1]s; memwatchd mcp install --agent %s --project --write %s",
				filepath.Base(project), agent, m.flags))
			note := fmt.Sprintf("Kettle of %s in %d", agent, i)
			command := readAgentCommand(t, filepath.Join(project, file))
			if !filepath.IsAbs(command[0]) {
				t.Errorf("%s: the program is %s, want an absolute path", agent, command[0])
			}
			cmd := s.shell(`exec "$0" "$@"`)
			cmd.Args = append(cmd.Args, command...)
			cmd.Dir = "/" // agents choose it
			cmd.Stdin = strings.NewReader(mcpCalls(t, note))
			out, err := cmd.CombinedOutput()
			if err != nil || !bytes.Contains(out, []byte("memory/")) {
				t.Errorf("%s: %q: %v\n%s", agent, command, err, out)
			}
			s.checkOnlyIn(t, m.dir, note)
		}
		s.must(t, fmt.Sprintf("cd project%d; memwatchd hook install --agent claude-code --project --write %s", i, m.flags))
		settings, err := os.ReadFile(filepath.Join(project, ".claude/settings.json"))
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(`"command": "(.* hook session-end[^"]*)"`).FindSubmatch(settings)
		if found == nil {
			t.Fatalf("no hook in %s", settings)
		}
		note := fmt.Sprintf("Remember that we decided to use kettle %d only.", i)
		transcript := filepath.Join(project, "session.jsonl")
		line := fmt.Sprintf(`{"type": "user", "message": {"role": "user", "content": %q}}`+"\n", note)
		if err := os.WriteFile(transcript, []byte(line), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := s.shell(string(found[1]))
		cmd.Dir = "/"
		cmd.Stdin = strings.NewReader(fmt.Sprintf(`{"transcript_path": %q, "session_id": "s%d"}`, transcript, i))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", found[1], err, out)
		}
		s.checkOnlyIn(t, m.dir, fmt.Sprintf("use kettle %d only", i))
	}
}

// checkOnlyIn checks that the files of one of the memories contain a text, and those
// of the others do not.
func (s *typist) checkOnlyIn(t *testing.T, memory, text string) {
	t.Helper()
	for _, dir := range []string{"first", "second", "third"} {
		found := false
		for line := range readLines(t, filepath.Join(s.home, dir)) {
			found = found || strings.Contains(line, text)
		}
		if found != (dir == memory) {
			t.Errorf("%q is in the memory %s: %v, want it in %s only", text, dir, found, memory)
		}
	}
}

// readAgentCommand returns the command of the server in the settings of an agent.
func readAgentCommand(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var settings struct {
		Servers map[string]struct {
			Command string
			Args    []string
		} `json:"mcpServers"`
		MCP map[string]struct{ Command []string }
	}
	if path, ok := strings.CutSuffix(file, ".toml"); ok { // its values are JSON as well
		for _, value := range regexp.MustCompile(`(?m)^(?:command|args) = (.*)$`).FindAllSubmatch(text, -1) {
			text = append(text[:0:0], value[1]...)
			if text[0] == '"' {
				settings.MCP = map[string]struct{ Command []string }{"memwatchd": {nil}}
				text = fmt.Appendf(nil, "[%s]", text)
			}
			var words []string
			if err := json.Unmarshal(text, &words); err != nil {
				t.Fatalf("%s: %s: %v", path, text, err)
			}
			settings.MCP["memwatchd"] = struct{ Command []string }{append(settings.MCP["memwatchd"].Command, words...)}
		}
	} else if err := json.Unmarshal(text, &settings); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	if server, ok := settings.Servers["memwatchd"]; ok {
		return append([]string{server.Command}, server.Args...)
	}
	return settings.MCP["memwatchd"].Command
}

// mcpCalls returns the messages of an agent that saves a note.
func mcpCalls(t *testing.T, note string) string {
	t.Helper()
	text, err := json.Marshal(note)
	if err != nil {
		t.Fatal(err)
	}
	return `{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", ` +
		`"capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}}` + "\n" +
		`{"jsonrpc": "2.0", "method": "notifications/initialized"}` + "\n" +
		`{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "memory_note", "arguments": {"text": ` +
		string(text) + `}}}` + "\n"
}
