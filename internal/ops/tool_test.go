package ops

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/internal/brief"
	"github.com/memwatchd/memwatchd/ipc/mcp"
)

// validArguments holds a use of each tool that succeeds in TestToolNeeds.
var validArguments = map[string]fields{
	"memory_note":     {"text": "a note"},
	"memory_remember": {"title": "Editor", "text": "vim", "explicit": true},
	"memory_session":  {"session": "s1", "draft": fields{"summary": "a summary"}},
	"memory_edit":     {"path": "notes/a.md", "old_text": "words", "new_text": "other words"},
	"memory_write":    {"path": "notes/b.md", "text": "# B\n"},
	"memory_profile":  {"text": "short", "evidence": []string{"notes/a.md"}},
	"memory_project":  {"name": "atlas", "text": "short", "evidence": []string{"notes/a.md"}},
	"memory_put":      {"namespace": "fact", "key": "k", "value": "v"},
	"memory_history":  {"path": "notes/a.md"},
}

// TestToolNeeds checks that the required parameters of a schema are required,
// and that they suffice.
func TestToolNeeds(t *testing.T) {
	for _, tool := range mcp.Tools {
		var needed []string
		for _, p := range tool.Params() {
			if p.Need && len(tool.Operations) == 1 {
				needed = append(needed, p.Name)
			}
		}
		sound, ok := validArguments[tool.Name]
		if ok != (needed != nil) {
			t.Fatalf("%s needs %v: say in the table how it is used", tool.Name, needed)
		}
		if !ok {
			continue
		}
		d := newDisk(t, map[string]string{"notes/a.md": "some words\n"})
		use := func(without string) mcp.Result {
			arguments := maps.Clone(sound)
			delete(arguments, without)
			return tool.Use(t.Context(), executeOf(d.memory), json.RawMessage(encodeRequest(t, arguments)))
		}
		for _, name := range needed {
			if a := use(name); !a.Failed {
				t.Errorf("%s without %s answers %q", tool.Name, name, a.Text)
			}
		}
		if a := use(""); a.Failed && !strings.HasPrefix(a.Text, string(api.Unavailable)) { // these files have no journal
			t.Errorf("%s with all that it needs answers %q", tool.Name, a.Text)
		}
	}
}

// TestSearchSize checks the size of a page of ten hits on generated memories: paragraphs longer than
// what a hit shows, one line per entry, several hits in a file and headings. Copies and Chinese, of
// which each character counts as a token, need more.
func TestSearchSize(t *testing.T) {
	filler := strings.Repeat("The quick review of this deployment took longer than the team had planned for it. ", 12)
	for _, test := range []struct {
		name, entry string
		most        int
	}{
		{"paragraphs", "# Report %[1]d of the harbour\n\nThe lantern of pier %[1]d was repaired. " + filler + "\n", 900},
		{"lines", "# Day %[1]d\n\n- The lantern of pier %[1]d was repaired.\n- Tea at %[1]d.\n", 900},
		{"one file", "# Day\n\n- The lantern of pier %[1]d was repaired. " + filler + "\n- A lantern is red at %[1]d. " + filler +
			"\n- Lantern %[1]d is new. " + filler + "\n", 900},
		{"headings", "# A\n\n## The harbour and its piers in the north\n\n### What was repaired and by whom\n\n" +
			"The lantern of pier %[1]d. " + filler + "\n", 900},
		{"copies", "# Day\n\n" + strings.Repeat("- The lantern of pier %[1]d was repaired. "+filler+"\n", 12), 1400},
		{"Chinese", "# 日志 %[1]d\n\n" + strings.Repeat("第 %[1]d 号码头的 lantern 已经修好，团队花了比计划更长的时间。", 20) + "\n", 1700},
	} {
		t.Run(test.name, func(t *testing.T) {
			files := map[string]string{}
			for i := range 60 {
				files[fmt.Sprintf("notes/harbour/a report of the work on pier %d.md", i)] = fmt.Sprintf(test.entry, i)
			}
			d := newDisk(t, files)
			a := mcp.Tools[slices.IndexFunc(mcp.Tools, func(tool *mcp.Tool) bool { return tool.Name == "memory_search" })].
				Use(t.Context(), executeOf(d.memory), json.RawMessage(`{"query": "lantern", "limit": 10}`))
			if n := strings.Count(strings.ToLower(a.Text), "lantern"); a.Failed || n < 10 {
				t.Fatalf("%d hits: %s", n, a.Text)
			}
			if n := brief.Tokens(a.Text); n > test.most {
				t.Errorf("%d tokens:\n%s", n, a.Text)
			}
		})
	}
}

// executeOf runs requests as the owner in private.
func executeOf(m *Memory) mcp.ExecuteFunc { return executeAs(m, api.Caller{AsOwner: true}) }

// executeAs runs requests as the given caller.
func executeAs(m *Memory, by api.Caller) mcp.ExecuteFunc {
	return func(ctx context.Context, req *api.Request) (json.RawMessage, error) {
		answer, err := m.Do(ctx, by, req)
		if err != nil {
			return nil, err
		}
		return api.EncodeJSON(answer)
	}
}

// TestNeedsAreTheRules checks that the declared needs of each operation match
// the rules of the matrix.
func TestNeedsAreTheRules(t *testing.T) {
	for _, op := range api.Operations {
		want := map[ruleKind]api.Need{adds: api.AnySubject, changes: api.InPrivate, maintains: api.TheOwner}[requestPlans[op.Name].rule]
		if op.Needs != want && op.Needs != api.Operator {
			t.Errorf("%s needs %d, and by the rule %d", op.Name, op.Needs, want)
		}
	}
}

// noTools lists the operations without a tool, besides those that are not for models.
var noTools = []string{"complete", "files", "resolve", "sync", "todo_add"}

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

// TestToolTexts checks the text of tool answers.
func TestToolTexts(t *testing.T) {
	asked := map[string]bool{}
	runArchives(t, "testdata/tools", func(t *testing.T, c *opsCase) func(*opsRequest) (string, string) {
		g := c.start(t)
		model := newModel(t, g.memory, serveOps(t, g.memory), "?tools=all")
		return func(a *opsRequest) (string, string) {
			tool, request := toolOf(a.op), map[string]json.RawMessage{}
			if err := json.Unmarshal(a.request, &request); err != nil || tool == nil || !model.setScope(request) {
				t.Fatalf("%s cannot be asked: %v", a.name, err)
			}
			asked[tool.Name] = true
			arguments, err := toolArguments(a.op, a.request)
			checkError(t, err)
			got, err := model.session.CallTool(t.Context(), &sdk.CallToolParams{Name: tool.Name, Arguments: arguments})
			checkError(t, err)
			return strings.TrimSuffix(aToken.ReplaceAllString(textIn(got), "token: …"), "\n") + "\n", ""
		}
	})
	for _, tool := range mcp.Tools {
		if !asked[tool.Name] {
			t.Errorf("%s was not asked", tool.Name)
		}
	}
}

// TestRequestsAreDistinct checks that the type of a request determines its operation.
func TestRequestsAreDistinct(t *testing.T) {
	requests := map[reflect.Type]string{}
	for _, op := range api.Operations {
		request := reflect.TypeOf(op.NewRequest().Value())
		if other := requests[request]; other != "" {
			t.Errorf("%s and %s have one type of request: %s", other, op.Name, request)
		}
		requests[request] = op.Name
	}
}

// TestZeroIsTheDefault checks that a field is a pointer if its zero value
// differs from its default. The client omits zero fields, so only a pointer can
// send zero.
func TestZeroIsTheDefault(t *testing.T) {
	for _, op := range api.Operations {
		for _, p := range op.Params() {
			least, bounded := strconv.ParseFloat(p.Min, 64)
			number := p.Kind() == "integer" || p.Kind() == "number"
			means := p.Kind() == "boolean" && p.Default == "true" || number && p.Default != "" && (bounded != nil || least <= 0)
			if means && p.Type().Kind() != reflect.Pointer {
				t.Errorf("%s: %s has the default %s, and its zero cannot be said: make it a *%s", op.Name, p.Name, p.Default, p.Type())
			}
		}
	}
	if fields := api.RequestOf(api.SearchRequest{}).Fields(); len(fields) > 0 {
		t.Errorf("an empty request says %v", fields)
	}
	said, err := json.Marshal(api.RequestOf(api.SearchRequest{
		Query: "x", RecencyBias: new(0.0), Fresh: api.Fresh{Sync: new(false)}, Scope: api.Scope{Subject: new("")},
	}).Fields())
	if want := `{"query":"x","recency_bias":0,"subject":"","sync":false}`; err != nil || string(said) != want {
		t.Errorf("the request is %s, %v, not %s", said, err, want)
	}
}

func TestClientScope(t *testing.T) {
	mine, key := as("acct:42", "private").Scope, api.Scope{ExternalKey: new("tg:1")}
	for want, c := range map[string]struct{ client, request api.Scope }{
		`{}`: {},
		`{"context":"private","subject":"acct:42"}`:   {client: mine},
		`{"context":"public","subject":"acct:42"}`:    {mine, api.Scope{Context: new("public")}},
		`{"context":"private","external_key":"tg:1"}`: {mine, key},
		`{"context":"private","subject":""}`:          {mine, api.Scope{Subject: new("")}},
		`{"subject":"a"}`:                             {key, api.Scope{Subject: new("a")}},
		`{"external_key":"tg:1"}`:                     {client: key},
	} {
		got, err := json.Marshal(c.client.CompleteFields(api.RequestOf(api.StatusRequest{Scope: c.request})))
		if err != nil || string(got) != want {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
	}
}
