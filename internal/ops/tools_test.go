package ops

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/ipc/mcp"
)

// noTools lists the operations without a tool, besides those that are not for models.
var noTools = []string{"complete", "files", "item_visibility", "resolve", "sync", "todo_add"}

// notForModels reports whether an operation is for people or for programs only.
func notForModels(op *api.Operation) bool {
	return op.Admin && op.Name != "history" || op.HumansOnly ||
		op.ProgramsOnly && op.Name != "edit" && op.Name != "write"
}

// TestToolsAreOperations checks that every operation has a tool or is in
// noTools.
func TestToolsAreOperations(t *testing.T) {
	names := map[string]bool{}
	core := []string{}
	for _, tool := range mcp.Tools {
		if names[tool.Name] {
			t.Errorf("there are two tools %s", tool.Name)
		}
		names[tool.Name] = true
		if tool.Set == mcp.CoreTools {
			core = append(core, strings.TrimPrefix(tool.Name, "memory_"))
		}
		for _, p := range tool.Params() {
			if p.Doc == "" || p.Scope {
				t.Errorf("%s: the parameter %s has no description, or says who asks", tool.Name, p.Name)
			}
		}
	}
	if diff := cmp.Diff([]string{"search", "get", "recent", "context", "todos", "todo", "note", "remember", "forget", "session", "edit"}, core); diff != "" {
		t.Errorf("the core (-want +got):\n%s", diff)
	}
	for _, op := range api.Operations {
		tool := toolOf(op)
		if (tool == nil) != (slices.Contains(noTools, op.Name) || notForModels(op)) {
			t.Errorf("%s: it has the tool %v", op.Name, tool)
		}
	}
}

var aToken = regexp.MustCompile(`token: \w+`)

// TestToolTexts checks the text of tool answers, with archives like those of
// testdata/writes.
func TestToolTexts(t *testing.T) {
	asked := map[string]bool{}
	for _, name := range []string{"texts", "untrusted"} {
		t.Run(name, func(t *testing.T) { toolTexts(t, "testdata/tools/"+name+".txtar", asked) })
	}
	for _, tool := range mcp.Tools {
		if !asked[tool.Name] {
			t.Errorf("%s was not asked", tool.Name)
		}
	}
}

// toolTexts runs the requests of an archive and records the tools that they
// use.
func toolTexts(t *testing.T, name string, asked map[string]bool) {
	t.Helper()
	archive, err := txtar.ParseFile(name)
	checkError(t, err)
	c := readOpsCase(t, archive)
	d := c.disk(t)
	model := newModel(t, d.memory, serveOps(t, d.memory), "?tools=all")
	for _, a := range c.requests {
		tool, request := toolOf(a.op), map[string]json.RawMessage{}
		if err := json.Unmarshal(a.request, &request); err != nil || tool == nil || !model.setScope(request) {
			t.Fatalf("%s cannot be asked: %v", a.name, err)
		}
		asked[tool.Name] = true
		arguments, err := toolArguments(a.op, a.request)
		checkError(t, err)
		got, err := model.session.CallTool(t.Context(), &sdk.CallToolParams{Name: tool.Name, Arguments: arguments})
		if err != nil {
			t.Fatalf("%s: %v", a.name, err)
		}
		text := aToken.ReplaceAllString(textIn(got), "token: …")
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		if *updateOps {
			archive.Files[a.at+1].Data = []byte(text)
		} else if diff := cmp.Diff(string(archive.Files[a.at+1].Data), text); diff != "" {
			t.Errorf("%s (-want +got):\n%s", a.name, diff)
		}
	}
	if *updateOps {
		checkError(t, os.WriteFile(name, txtar.Format(archive), 0o644))
	}
}
