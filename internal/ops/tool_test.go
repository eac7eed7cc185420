package ops

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/ipc/mcp"
)

// validArguments holds a use of each tool that succeeds in TestToolNeeds.
var validArguments = map[string]fields{
	"memory_note":             {"text": "a note"},
	"memory_remember":         {"title": "Editor", "text": "vim", "explicit": true},
	"memory_session":          {"session": "s1", "draft": fields{"summary": "a summary"}},
	"memory_edit":             {"path": "notes/a.md", "old_text": "words", "new_text": "other words"},
	"memory_write":            {"path": "notes/b.md", "text": "# B\n"},
	"memory_profile":          {"text": "short", "evidence": []string{"notes/a.md"}},
	"memory_project":          {"name": "atlas", "text": "short", "evidence": []string{"notes/a.md"}},
	"memory_put":              {"namespace": "fact", "key": "k", "value": "v"},
	"memory_delete_namespace": {"namespace": "fact"},
	"memory_history":          {"path": "notes/a.md"},
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
		d := readOpsCase(t, &txtar.Archive{Files: []txtar.File{{Name: "notes/a.md", Data: []byte("some words\n")}}}).disk(t)
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

// TestAdministrationRefusesScopes checks that every operation of administration
// refuses a scope in the request other than the owner in private.
func TestAdministrationRefusesScopes(t *testing.T) {
	d := readOpsCase(t, &txtar.Archive{Files: []txtar.File{{Name: "notes/a.md", Data: []byte("some words\n")}}}).disk(t)
	checked := 0
	for _, op := range api.Operations {
		if op.Needs < api.TheOwner {
			continue
		}
		for _, scope := range []string{`{"subject": "acct:9", "context": "public"}`, `{"subject": "owner", "context": "public"}`, `{"context": "unknown"}`} {
			req := op.NewRequest()
			checkError(t, req.Decode([]byte(scope)))
			by := api.Caller{Scope: req.Scope(), AsOwner: true}
			var err error
			if op.Stream {
				_, err = d.memory.Stream(t.Context(), by, req)
			} else {
				_, err = d.memory.Do(t.Context(), by, req)
			}
			if err == nil || asError(err).Code != api.Forbidden {
				t.Errorf("%s %s: %v", op.Name, scope, err)
			}
			checked++
		}
	}
	if checked < 30 {
		t.Errorf("only %d requests were checked", checked)
	}
}

// TestOperationsListPermitted checks that the operations answer lists the
// permitted operations of each caller.
func TestOperationsListPermitted(t *testing.T) {
	d := readOpsCase(t, &txtar.Archive{Files: []txtar.File{{Name: "notes/a.md", Data: []byte("some words\n")}}}).disk(t)
	for _, c := range []struct {
		fixed   *api.Fixed
		subject string
		context string
		has     []string
		hasNot  []string
	}{
		{nil, "owner", "private", []string{"search", "note", "todo", "forget", "compact", "status", "operations", "events"}, nil},
		{nil, "acct:42", "private", []string{"search", "note", "todo", "forget", "restore"}, []string{"compact", "undo", "check", "links", "events", "rebuild"}},
		{nil, "owner", "public", []string{"search", "note", "session", "item_put"}, []string{"todo", "remember", "forget", "edit", "compact", "undo", "item_delete"}},
		{nil, "", "private", []string{"search", "get"}, []string{"note", "todo", "remember"}},
		{&api.Fixed{Subject: "acct:42"}, "acct:42", "unknown", []string{"search", "note", "todo", "edit", "forget", "resolve", "status", "operations"}, []string{"remember", "wipe_subject", "check", "links", "events"}},
		{&api.Fixed{Subject: "acct:42", Operations: []string{"get", "note"}}, "acct:42", "unknown", []string{"get", "note", "operations"}, []string{"search", "status", "complete"}},
		{&api.Fixed{Subject: "acct:42", Operations: []string{"get", "note"}}, "", "public", []string{"get", "operations"}, []string{"search", "note"}},
	} {
		call, err := d.memory.readOps().resolveCall(api.Caller{Scope: api.Scope{Subject: &c.subject, Context: &c.context}, Fixed: c.fixed})
		checkError(t, err)
		answer, err := d.memory.readOps().operations(t.Context(), call, &api.OperationsRequest{})
		if err != nil || !answer.Enabled {
			t.Fatal(answer, err)
		}
		for _, op := range c.has {
			if !slices.Contains(answer.Operations, op) {
				t.Errorf("%q in %s on %v may not ask %s", c.subject, c.context, c.fixed, op)
			}
		}
		for _, op := range c.hasNot {
			if slices.Contains(answer.Operations, op) {
				t.Errorf("%q in %s on %v may ask %s", c.subject, c.context, c.fixed, op)
			}
		}
	}
}

// FuzzToolArguments checks that a tool answers any arguments and that they
// cannot change the caller: an answer to a group contains no private text.
func FuzzToolArguments(f *testing.F) {
	const secret = "zqprivatewords"
	c := readOpsCase(f, &txtar.Archive{Files: []txtar.File{
		{Name: "MEMORY.md", Data: []byte("# Long-Term Memory\n\n- **Secret**: " + secret + "\n")},
		{Name: "2026-02-04/cli.md", Data: []byte("# Day\n\n- words for all\n\n## Tasks\n\n- [ ] a task\n")},
	}})
	m := c.memory(f)
	public := "public"
	ask := executeAs(m, api.Caller{Scope: api.Scope{Subject: &m.Owner, Context: &public}})
	for _, arguments := range []string{
		`{}`, `{"query":"words","k":3}`, `{"path":"MEMORY.md"}`, `{"path":"2026-02-04/cli.md","from":2,"lines":1}`, `{"subject":"owner","context":"private"}`,
		`{"query":"` + secret + `","scope":{"context":"private"},"Context":"private"}`, `{"namespace":"fact","key":"a"}`, `{"draft":{"items":{"A":[{"text":"x"}]}},"session":"s"}`,
		`{"format":"boot","max_chars":0}`, `[1,2]`, `{"a":{"b":[null,1e400]}}`, `{"limit":-1}`, `{"query":"\ud800","tags":["a",null]}`, `{"state":"open","days":3650}`,
	} {
		for i := range mcp.Tools {
			f.Add(i, arguments)
		}
	}
	f.Fuzz(func(t *testing.T, i int, arguments string) {
		tool := mcp.Tools[uint(i)%uint(len(mcp.Tools))]
		a := tool.Use(t.Context(), ask, json.RawMessage(arguments))
		fields, err := api.EncodeJSON(a.Fields)
		if err != nil {
			t.Fatalf("%s %q: %v", tool.Name, arguments, err)
		}
		said := strings.Contains(arguments, "zq") || strings.Contains(arguments, `\u`) // the answer may repeat the arguments
		if !said && (strings.Contains(a.Text, secret) || strings.Contains(string(fields), secret)) {
			t.Errorf("%s %q answers %q, %s", tool.Name, arguments, a.Text, fields)
		}
		if !json.Valid(fields) || fields[0] != '{' {
			t.Errorf("%s %q answers %s", tool.Name, arguments, fields)
		}
	})
}
