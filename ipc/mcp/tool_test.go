package mcp

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/internal/brief"
)

// TestToolsAreSmall checks that the default tools need at most 3,000 tokens of four bytes,
// which every session pays for, and that each set has the expected tools.
func TestToolsAreSmall(t *testing.T) {
	for set, count := range map[ToolSet]int{CoreTools: 11, ReadTools: 5, NoteTools: 7, ItemTools: 14, AllTools: 22, "put,read": 6} {
		names, size := 0, 0
		for _, tool := range Tools {
			if !set.offersTool(tool) {
				continue
			}
			text, err := json.Marshal(tool.protocolTool())
			if err != nil {
				t.Fatal(err)
			}
			names, size = names+1, size+len(text)
		}
		if names != count || set == CoreTools && size > 4*3000 {
			t.Errorf("%s has %d tools of %d bytes", set, names, size)
		}
	}
}

// TestToolArguments checks that aliases of parameters are accepted, and that
// errors about invalid arguments suggest the nearest name.
func TestToolArguments(t *testing.T) {
	for _, c := range []struct{ tool, arguments, want string }{
		{"memory_search", `{"query":"a","maxResults":3}`, `{"group":"file","limit":3,"query":"a"}`},
		{"memory_search", `{"query":"a","k":3}`, `{"group":"file","limit":3,"query":"a"}`},
		{"memory_search", `{"query":"a","after":"2026-02-01","before":"2026-02-03"}`, `{"group":"file","query":"a","since":"2026-02-01","until":"2026-02-03"}`},
		{"memory_search", `{"query":"a","since":null,"tags":null}`, `{"group":"file","query":"a"}`},
		{"memory_search", ``, `{"group":"file"}`},
		{"memory_search", `null`, `{"group":"file"}`},
		{"memory_search", `{"group":null}`, `{"group":"file"}`},
		{"memory_search", `{"group":"entry"}`, `{}`},
		{"memory_search", `{"limit":1,"k":3}`, `duplicate field "limit"`},
		{"memory_search", `{"k":3,"maxResults":3}`, `duplicate field "limit"`},
		{"memory_search", `{"query":"a","query":"b"}`, `duplicate field "query"`},
		{"memory_search", `{"k":1000}`, `limit: 1000 is above the maximum 100`},
		{"memory_search", `{"k":"3"}`, `{"group":"file","limit":3}`},
		{"memory_search", `{"limit":3.0}`, `{"group":"file","limit":3}`},
		{"memory_search", `{"limit":3e0}`, `{"group":"file","limit":3}`},
		{"memory_search", `{"limit":" 30e-1 "}`, `{"group":"file","limit":3}`},
		{"memory_search", `{"limit":3.5}`, `limit: got number 3.5, want integer`},
		{"memory_search", `{"limit":1e40}`, `limit: got number 1e40, want integer`},
		{"memory_search", `{"limit":"three"}`, `limit: got string, want integer`},
		{"memory_search", `{"limit":"\"3\""}`, `limit: got string, want integer`},
		{"memory_search", `{"limit":""}`, `{"group":"file"}`},
		{"memory_search", `{"tags":"[\"garden\"]"}`, `{"group":"file","tags":["garden"]}`},
		{"memory_search", `{"tags":"garden"}`, `tags: got string, want list of strings`},
		{"memory_search", `{"tags":"[1]"}`, `tags: got number, want list of strings`},
		{"memory_search", `{"include_archived":"true","all":"False"}`, `{"group":"file","include_archived":true}`},
		{"memory_search", `{"recency_bias":"0.5","mode":"overlap"}`, `{"group":"file","mode":"overlap","recency_bias":0.5}`},
		{"memory_search", `{"query":"3"}`, `{"group":"file","query":"3"}`},
		{"memory_search", `{"q":"a"}`, `{"group":"file","query":"a"}`},
		{"memory_session", `{"session":"s","draft":"{\"summary\":\"x\"}"}`, `{"draft":{"summary":"x"},"session":"s"}`},
		{"memory_search", `{"qery":"a"}`, `unknown field "qery" (did you mean "query"?)`},
		{"memory_search", `{"subject":"owner"}`, `unknown field "subject" (remove the field; a tool call cannot set the scope of the caller)`},
		{"memory_search", `{"external_key":"telegram:1"}`, `unknown field "external_key" (remove the field; a tool call cannot set the scope of the caller)`},
		{"memory_search", `{"context":"private"}`, `unknown field "context" (remove the field; a tool call cannot set the scope of the caller)`},
		{"memory_search", `[]`, `the request is not a JSON object`},
		{"memory_search", `"x"`, `the request is not a JSON object`},
		{"memory_search", `{`, `the request is not JSON: unexpected end of JSON input`},
		{"memory_note", `{"text":"a","k":3}`, `unknown field "k"`},
		{"memory_note", `{"text":"a","after":"x"}`, `unknown field "after"`},
		{"memory_recent", `{"k":3,"after":"2026-02-01"}`, `{"limit":3,"since":"2026-02-01"}`},
		{"memory_list", `{"maxResults":3}`, `{"limit":3}`},
		{"memory_get", `{"path":"a.md"}`, `{"path":"a.md"}`},
		{"memory_get", `{"path":"a.md","namespace":"","key":null}`, `{"path":"a.md"}`},
		{"memory_get", `{"namespace":"fact","key":"k"}`, `{"key":"k","namespace":"fact"}`},
		{"memory_get", `{"namespace":"fact","key":"k","path":"","id":null,"sync":false}`, `{"key":"k","namespace":"fact","sync":false}`},
		{"memory_get", `{"namespace":"fact","key":"k","path":"a.md"}`, `namespace, key, path cannot be combined`},
		{"memory_get", `{"key":"k"}`, `{"key":"k"}`},
		{"memory_get", `{"pth":"a.md"}`, `unknown field "pth" (did you mean "path"?)`},
		{"memory_get", `{"nmspace":"fact"}`, `unknown field "nmspace" (did you mean "namespace"?)`},
	} {
		req, err := findTool(c.tool).parseRequest(json.RawMessage(c.arguments))
		got := ""
		if err != nil {
			got = err.Error()
			if api.AsError(err).Code != api.Invalid {
				t.Errorf("%s %s: the error is %s", c.tool, c.arguments, api.AsError(err).Code)
			}
		} else {
			text, err := json.Marshal(req.Fields())
			if err != nil {
				t.Fatal(err)
			}
			got = string(text)
		}
		if got != c.want {
			t.Errorf("%s %s is %s, not %s", c.tool, c.arguments, got, c.want)
		}
	}
}

// TestBlockTools checks that the words of context blocks name only tools that agents
// have by default.
func TestBlockTools(t *testing.T) {
	words, err := os.ReadFile("../../internal/brief/lang.go")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`memory_\w+`).FindAllString(string(words), -1)
	if len(names) == 0 {
		t.Fatal("no tool is named")
	}
	for _, name := range names {
		if !slices.ContainsFunc(Tools, func(tool *Tool) bool { return tool.Name == name && tool.Set == CoreTools }) {
			t.Errorf("there is no tool %s by default", name)
		}
	}
	if bytes.Contains(words, []byte("edit tool")) || bytes.Contains(words, []byte("edit 工具")) {
		t.Error("the edit tool of an agent does not edit the memory")
	}
}

// TestReadLine checks that a line of any length is read to its end.
func TestReadLine(t *testing.T) {
	long := strings.Repeat("x", 3*15<<20)
	r := bufio.NewReaderSize(strings.NewReader("a\n"+long+"\nb"), 64)
	for _, want := range []string{"a\n", "", "b"} {
		line, err := readLine(r)
		if want == "" && (len(line) <= maxLine || len(line) > maxLine+64) || want != "" && string(line) != want {
			t.Errorf("%d bytes, %v; not %q", len(line), err, want)
		}
	}
}

// TestUnlistedArguments checks that unlisted arguments exist.
func TestUnlistedArguments(t *testing.T) {
	for _, tool := range Tools {
		whole := *tool
		whole.Unlisted = nil
		for _, name := range tool.Unlisted {
			if !hasArgument(whole.inputSchema(), name) {
				t.Errorf("%s has no argument %s", tool.Name, name)
			}
			if hasArgument(tool.inputSchema(), name) {
				t.Errorf("%s lists %s", tool.Name, name)
			}
		}
	}
}

// hasArgument reports whether a schema has an argument, or a field of one.
func hasArgument(s *jsonschema.Schema, name string) bool {
	first, rest, nested := strings.Cut(name, ".")
	for s.Items != nil || s.AdditionalProperties != nil {
		s = cmp.Or(s.Items, s.AdditionalProperties)
	}
	below := s.Properties[first]
	return below != nil && (!nested || hasArgument(below, rest))
}

// TestPendingAnswers checks that notifications and requests to the agent do not
// count as answers.
func TestPendingAnswers(t *testing.T) {
	l := newLineFilter(io.Discard)
	l.pending.Add(1)
	for _, c := range []struct {
		message string
		want    int64
	}{
		{`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"memory://a.md"}}`, 1},
		{`{"jsonrpc":"2.0","id":7,"method":"roots/list"}`, 1},
		{`{"jsonrpc":"2.0","id":1,"result":{"method":"x"}}`, 0},
	} {
		if _, err := l.Write([]byte(c.message)); err != nil || l.pending.Load() != c.want {
			t.Errorf("after %s, %d answers are pending, not %d: %v", c.message, l.pending.Load(), c.want, err)
		}
	}
}

// TestSearchIsSmall checks that ten hits with long texts need less than 900 tokens, and that
// a single one is shown at more length.
func TestSearchIsSmall(t *testing.T) {
	req := Tools[0].Operations[0].NewRequest()
	for _, length := range []int{0, 1, 200, 300, 590, 2000} {
		a := &api.SearchAnswer{Total: 900, Files: 800, Next: 10}
		for i := range 10 {
			a.Hits = append(a.Hits, api.Hit{Path: "notes/of-the-garden-shed.md", Line: 100 + i, EndLine: 109 + i, Day: "2026-02-05",
				Section: "The garden shed", Text: "- " + strings.Repeat("abcd ", length/5), Snippet: strings.Repeat("abcd ", min(length/5, 60))})
		}
		text := textOf(req, a, Tools[0].rename)
		if n := brief.Tokens(text); n > 900 || !strings.Contains(text, "offset") || strings.Contains(text, "is a cut") != (length > 210) {
			t.Errorf("ten hits of %d characters need %d tokens:\n%s", length, n, text)
		}
		a.Hits = a.Hits[:1]
		a.Hits[0].Snippet = ""
		if text := textOf(req, a, Tools[0].rename); strings.Contains(text, "is a cut") != (length > 600) {
			t.Errorf("one hit of %d characters:\n%s", length, text)
		}
	}
}
