package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

// TestAgents repeats the checks of make agents without the programs of the vendors. An archive of
// testdata/agents has the agent's settings below home and the inputs of its hooks as recorded by
// make agents, with $DIR in place of directories: start, known, unknown and end, of which start
// and known belong to one session. Without transcript, nothing is captured.
func TestAgents(t *testing.T) {
	t.Parallel()
	archives, err := filepath.Glob("testdata/agents/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatalf("no archives: %v", err)
	}
	for _, name := range archives {
		agent := strings.TrimSuffix(filepath.Base(name), ".txtar")
		t.Run(agent, func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(name)
			testkit.Must(t, err)
			checkAgent(t, agent, archive.Files)
		})
	}
}

func checkAgent(t *testing.T, agent string, files []txtar.File) {
	l := newLive(t, t.TempDir(), "")
	l.env = append(l.env, stopped+"=2026-11-28T23:00:00Z")
	l.write("MEMORY.md", "# Memory\n\n- The staging database is db7.\n- The blue lantern account is 99. <!-- source=public:telegram -->\n")
	l.write("notes/proxy.md", "# The proxy\n\nThe certificate of the shop proxy had expired. Renewed it with `certbot renew`.\n")
	l.start()
	dir := filepath.Dir(l.config)
	run := func(input string, args ...string) string {
		cmd := exec.CommandContext(t.Context(), "memwatchd", args...)
		cmd.Env, cmd.Stdin, cmd.Stderr = append(l.env, patience+"=1"), strings.NewReader(input), &l.log
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, l.log.String())
		}
		return string(out)
	}
	hook := func(event, agent, input string) string {
		return run(input, "--config", l.config, "hook", event, "--agent", agent)
	}
	texts := map[string]string{}
	for _, f := range files {
		texts[f.Name] = strings.ReplaceAll(string(f.Data), "$DIR", dir)
		testkit.Must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, f.Name)), 0o700))
		testkit.Must(t, os.WriteFile(filepath.Join(dir, f.Name), []byte(texts[f.Name]), 0o600))
	}
	run("", "mcp", "install", "--agent", agent, "--write")
	run("", "hook", "install", "--agent", agent, "--write")

	start := ""
	if texts["start"] != "" {
		start = hook("session-start", agent, texts["start"])
	}
	known := hook("prompt", agent, texts["known"])
	if n := strings.Count(start+known, "!-- memwatchd:generated"); n != 1 {
		t.Errorf("%d blocks at the start", n)
	}
	if !strings.Contains(start+known, "[untrusted] The blue lantern") {
		t.Error("no mark before the text of others")
	}
	if !strings.Contains(known, "Memory:Relevant") || !strings.Contains(known, "certbot") {
		t.Errorf("for the prompt: %s", known)
	}
	if out := hook("prompt", agent, texts["unknown"]); strings.Contains(out, "Memory:Relevant") {
		t.Errorf("for a prompt without memory: %s", out)
	}
	if texts["end"] != "" {
		hook("session-end", agent, texts["end"])
		l.sync()
	}
	next := hook("prompt", "claude-code", `{"session_id": "next", "prompt": "Did we decide to use pnpm or npm?"}`)
	if found := strings.Contains(next, "pnpm instead of npm"); found != (texts["transcript"] != "") {
		t.Errorf("the next agent gets %q", next)
	}

	run("", "hook", "uninstall", "--agent", agent, "--write")
	run("", "mcp", "uninstall", "--agent", agent, "--write")
	for name, text := range texts {
		data, err := os.ReadFile(filepath.Join(dir, name))
		testkit.Must(t, err)
		if string(data) != text {
			t.Errorf("%s after uninstalling:\n%s", name, data)
		}
	}
}
