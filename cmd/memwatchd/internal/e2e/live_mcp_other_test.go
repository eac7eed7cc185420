package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
	"github.com/memwatchd/memwatchd/ipc/mcp"
)

// otherClient is the npm package of an independent client: the protocol's SDK
// for TypeScript.
const otherClient = "@modelcontextprotocol/sdk@1.32.2"

// installOther installs otherClient and a program that uses it.
func installOther(t *testing.T) (program string) {
	t.Helper()
	faults(t)
	needs(t, "node", "npm")
	dir := t.TempDir()
	install := exec.Command("npm", "install", "--prefix", dir, "--no-audit", "--no-fund", "--ignore-scripts", otherClient)
	if out, err := install.CombinedOutput(); err != nil {
		t.Skipf("%s cannot be installed here: %v: %s", otherClient, err, out)
	}
	text, err := os.ReadFile("testdata/client.mjs")
	if err != nil {
		t.Fatal(err)
	}
	program = filepath.Join(dir, "client.mjs")
	testkit.WriteFile(t, program, string(text))
	return program
}

// TestLiveOtherClient checks that an independent client uses every tool, over
// the bridge and over the socket.
func TestLiveOtherClient(t *testing.T) {
	program := installOther(t)
	for name, way := range map[string]func(*live) fields{
		"bridge": func(l *live) fields {
			memwatchd, err := exec.LookPath("memwatchd")
			if err != nil {
				t.Fatal(err)
			}
			env := map[string]string{}
			for _, pair := range l.env {
				key, value, _ := strings.Cut(pair, "=")
				env[key] = value
			}
			return fields{"command": memwatchd, "args": []string{"mcp", "--tools", "all", "--config", l.config}, "env": env}
		},
		"socket": func(l *live) fields {
			return fields{"socket": l.socket, "path": "/mcp?tools=all", "headers": map[string]string{"Memwatchd-Subject": "owner", "Memwatchd-Context": "private"}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := startAgents(t)
			var uses []fields
			for _, u := range everyTool {
				uses = append(uses, fields{"tool": u.tool, "arguments": u.arguments})
			}
			todo, err := json.Marshal(way(l).with(fields{"uses": uses, "uri": "memory://notes/report.md", "prefix": "notes/"}))
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("node", program)
			cmd.Stdin = bytes.NewReader(todo)
			var complaints bytes.Buffer
			cmd.Stderr = &complaints
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v: %s", err, complaints.String())
			}
			var seen struct {
				Server       struct{ Name string }
				Instructions string
				Tools        []string
				Answers      []struct {
					Text       string
					Structured map[string]any
					Failed     bool
				}
				Files, Templates, Completed []string
				File                        []struct{ Text, MIMEType string }
				Missing, Unknown            struct {
					Code    int
					Message string
				}
			}
			if err := json.Unmarshal(out, &seen); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if seen.Server.Name != "memwatchd" || seen.Instructions == "" || len(seen.Tools) != len(mcp.Tools) {
				t.Errorf("it is welcomed with %+v", seen)
			}
			for i, u := range everyTool {
				if a := seen.Answers[i]; a.Failed || a.Structured == nil || !strings.Contains(a.Text, u.want) {
					t.Errorf("%s %v answers %+v, not %q", u.tool, u.arguments, a, u.want)
				}
			}
			if !slices.Contains(seen.Files, "memory://MEMORY.md") || !slices.Equal(seen.Templates, []string{"memory://{+path}"}) || !slices.Equal(seen.Completed, []string{"notes/new.md", "notes/report.md"}) {
				t.Errorf("the files are %+v", seen)
			}
			if len(seen.File) != 1 || !strings.Contains(seen.File[0].Text, "two tables") || seen.File[0].MIMEType != "text/markdown" {
				t.Errorf("a file is %+v", seen.File)
			}
			if seen.Missing.Code != -32602 || !strings.Contains(seen.Missing.Message, "Resource not found") || seen.Unknown.Code != -32602 {
				t.Errorf("the errors are %+v, %+v", seen.Missing, seen.Unknown)
			}
			t.Logf("%s: %d uses of %d tools", otherClient, len(everyTool), len(seen.Tools))
		})
	}
}
