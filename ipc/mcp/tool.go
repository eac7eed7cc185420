package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/internal/secrets"
)

// A Tool presents an operation to a model: its name, and when to use it. Its
// parameters are those of the operation, without the scope. The listener, or
// the starter of the bridge, determines the scope.
type Tool struct {
	Name  string // for models
	Title string // for people
	Text  string // for models: its effect and when to use it

	Set         ToolSet // smallest set with the tool; empty for AllTools
	Destructive bool    // may replace or remove existing content
	Idempotent  bool    // a repeated call has no further effect

	// Unlisted are arguments, and fields of arguments as argument.field, that
	// calls may contain and the schema omits, because models rarely need them
	// and every session pays for the schema.
	Unlisted []string

	// Operations are the operations of the tool, usually one. A call executes the
	// first one that has all given parameters.
	Operations []*api.Operation
}

// newTool completes a row of the table with its operations.
func newTool(t Tool, names ...string) *Tool {
	for _, name := range names {
		op, err := api.LookUp(name)
		if err != nil {
			panic(err) // invalid table: every test would panic here
		}
		t.Operations = append(t.Operations, op)
	}
	return &t
}

// A ToolSet is a selection of tools: names of sets and of tools, separated by commas.
type ToolSet string

// The sets of tools.
const (
	CoreTools ToolSet = "core"  // the tools that every agent needs
	ReadTools ToolSet = "read"  // the core tools that change nothing
	NoteTools ToolSet = "notes" // the core tools that replace and remove nothing
	ItemTools ToolSet = "items" // the core tools, and tools to put, list and delete items, which memory_get reads
	AllTools  ToolSet = "all"
)

// ToolSets lists the names of the sets.
var ToolSets = []string{string(CoreTools), string(ReadTools), string(NoteTools), string(ItemTools), string(AllTools)}

// ParseToolSet returns the selection of the given sets and tools, such as all, or
// put,list,get. For a name that is not in [ToolSets] and not that of a tool it returns an
// [*api.Error] with the code [api.Invalid].
func ParseToolSet(s string) (ToolSet, error) {
	for name := range strings.SplitSeq(s, ",") {
		if !slices.Contains(ToolSets, name) && findTool(name) == nil {
			return "", api.Errorf(api.Invalid, "tools: %q is not one of %s, and not the name of a tool", name,
				strings.Join(ToolSets, ", "))
		}
	}
	return ToolSet(s), nil
}

// offersTool reports whether one of the names in the set selects a tool.
func (p ToolSet) offersTool(t *Tool) bool {
	return slices.ContainsFunc(strings.Split(string(p), ","), func(name string) bool {
		switch ToolSet(name) {
		case CoreTools:
			return t.Set == CoreTools
		case ReadTools:
			return t.Set == CoreTools && t.isReadOnly()
		case NoteTools:
			return t.Set == CoreTools && !t.Destructive
		case ItemTools:
			return t.Set == CoreTools || t.Set == ItemTools
		case AllTools:
			return true
		}
		return findTool(name) == t
	})
}

func (t *Tool) isReadOnly() bool {
	return !slices.ContainsFunc(t.Operations, func(op *api.Operation) bool { return !op.ReadOnly })
}

// toolPrefix begins the names of all tools. Calls may omit it, as in the names of
// operations.
const toolPrefix = "memory_"

// findTool returns the tool with a name, or nil.
func findTool(name string) *Tool {
	for _, t := range Tools {
		if t.Name == name || t.Name == toolPrefix+name {
			return t
		}
	}
	return nil
}

// isUnlisted reports whether the schema of the tool omits an argument or a field.
func (t *Tool) isUnlisted(name string) bool {
	return slices.Contains(unlisted, name) || slices.Contains(t.Unlisted, name)
}

// unlisted are the unlisted arguments of all tools.
var unlisted = []string{"sync", "count", "explain", "as_of", "roots"}

// isPermitted reports whether the caller may execute at least one of the tool's
// operations.
func (t *Tool) isPermitted(permitted *api.OperationsAnswer) bool {
	return permitted.Enabled &&
		slices.ContainsFunc(t.Operations,
			func(op *api.Operation) bool { return slices.Contains(permitted.Operations, op.Name) })
}

// aliases are parameter names that models know from other tools.
var aliases = map[string]string{"q": "query", "maxResults": "limit", "k": "limit", "after": "since", "before": "until",
	"oldText": "old_text", "newText": "new_text"}

// Params returns the parameters of the tool: those of its first operation, and
// those that only the others have.
func (t *Tool) Params() []*api.Param {
	var list []*api.Param
	for _, op := range t.Operations {
		for _, p := range op.Params() {
			if !p.Scope && !slices.ContainsFunc(list, func(q *api.Param) bool { return q.Name == p.Name }) {
				list = append(list, p)
			}
		}
	}
	return list
}

func (t *Tool) hasParam(name string) bool {
	return slices.ContainsFunc(t.Params(), func(p *api.Param) bool { return p.Name == name })
}

// parseRequest returns the request for a call of the tool. It decodes the arguments
// as strictly as those of programs.
func (t *Tool) parseRequest(arguments json.RawMessage) (*api.Request, error) {
	if len(arguments) == 0 || string(arguments) == "null" {
		arguments = json.RawMessage("{}")
	}
	params := t.Params()
	fields := map[string]json.RawMessage{}
	var names []string // in the given order
	err := api.EachField(arguments, func(name string, raw json.RawMessage) error {
		if canonical := aliases[name]; t.hasParam(canonical) {
			name = canonical
		}
		if fields[name] != nil {
			return api.Errorf(api.Invalid, "duplicate field %q", name)
		}
		fields[name], names = raw, append(names, name)
		if p, err := t.Operations[0].Param(name); err == nil && p.Scope {
			return api.Errorf(api.Invalid, "unknown field %q", name).WithHint("remove the field; a tool call " +
				"cannot set the scope of the caller")
		}
		_, err := api.FindParam(params, name)
		return err
	})
	if err != nil {
		return nil, err
	}
	given := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return isEmpty(fields[name]) })
	for _, op := range t.Operations { // the first one that has all of these parameters
		if slices.ContainsFunc(given, func(name string) bool { _, err := op.Param(name); return err != nil }) {
			continue
		}
		req := op.NewClientRequest()
		for _, name := range names {
			p, err := op.Param(name)
			if err != nil {
				continue // empty
			}
			if err := setArgument(req, p, fields[name]); err != nil {
				return nil, err
			}
		}
		return req, req.Check()
	}
	return nil, api.Errorf(api.Invalid, "%s cannot be combined", strings.Join(given, ", "))
}

// setArgument sets a parameter to a value. Some clients send JSON in a string for a
// parameter that is no string.
func setArgument(req *api.Request, p *api.Param, raw json.RawMessage) error {
	var text string
	if p.Kind() == "string" || json.Unmarshal(raw, &text) != nil {
		return req.SetJSON(p, raw)
	}
	if p.Kind() == "boolean" {
		text = strings.ToLower(text) // such as True
	}
	inner := json.RawMessage(strings.TrimSpace(text))
	switch {
	case len(inner) == 0:
		return nil
	case json.Valid(inner) && inner[0] != '"':
		return req.SetJSON(p, inner)
	}
	return req.SetJSON(p, raw)
}

// isEmpty reports whether a value is equivalent to an absent one, because
// models fill in parameters that they do not need.
func isEmpty(raw json.RawMessage) bool {
	switch string(bytes.TrimSpace(raw)) {
	case "null", `""`, "[]", "{}":
		return true
	}
	return false
}

// An ExecuteFunc executes an operation and returns the answer in its wire format.
// Errors are of type [*api.Error].
type ExecuteFunc func(context.Context, *api.Request) (json.RawMessage, error)

// A Result is the result of a tool call, a text for the model.
type Result struct {
	Text   string
	Failed bool
}

// Use calls the tool with arguments, which are a JSON object, empty or null. A
// failure is a Result with Failed set.
func (t *Tool) Use(ctx context.Context, execute ExecuteFunc, arguments json.RawMessage) Result {
	req, err := t.parseRequest(arguments)
	if err != nil {
		return t.failedResult(err)
	}
	raw, err := execute(ctx, req)
	if err != nil {
		return t.failedResult(err)
	}
	answer := req.Operation().NewAnswer()
	if err := json.Unmarshal(raw, answer); err != nil {
		return t.failedResult(api.Errorf(api.Internal, "%s: read the answer: %v", req.Operation().Name, err))
	}
	return Result{Text: textOf(req, answer, t.rename)}
}

// failedResult returns a result that describes an error of a call of the tool to the
// model.
func (t *Tool) failedResult(err error) Result {
	e := errorOf(err).Rename(t.rename)
	text := own(string(e.Code)+": "+e.Message) + "\n" + own(e.Hint)
	return Result{Text: strings.TrimRight(string(text), "\n"), Failed: true}
}

// rename returns the name of the tool for an operation, or "" if the name stays.
func (t *Tool) rename(name string) string {
	if t.hasParam(name) {
		return ""
	}
	name, arguments, _ := strings.Cut(name, " ")
	tool := toolOfOperation(name)
	return tool + api.TextIf(tool != "" && arguments != "", " with "+arguments)
}

// toolOfOperation returns the name of the tool for an operation, or "".
func toolOfOperation(name string) string {
	for _, t := range Tools {
		if slices.ContainsFunc(t.Operations, func(op *api.Operation) bool { return op.Name == name }) {
			return t.Name
		}
	}
	return ""
}

// errorOf converts err to an API error and masks its credentials.
func errorOf(err error) *api.Error {
	e, _ := secrets.RedactValue(api.AsError(err))
	return e
}
