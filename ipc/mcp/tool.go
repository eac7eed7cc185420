package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/secrets"
)

// A Tool is what a model is given of an operation: its name, and when to use it.
// Its parameters are those of the operation, without who asks: that is decided by
// the listener, or by whoever has started the program that speaks for a model.
type Tool struct {
	Name  string // as models know it
	Title string // for people who watch
	Text  string // for models: what it does, and when to use it

	Core        bool // it is given to every agent, unless all are asked for
	Destructive bool // it may replace or remove what is there
	Idempotent  bool // to use it twice is to use it once

	// ops are the operations, mostly one. Another is meant where a parameter is
	// given that only it has.
	ops []*api.Operation
}

// Operations returns the operations that the tool asks for: the first, unless a
// parameter is given that only another has.
func (t *Tool) Operations() []*api.Operation { return t.ops }

// Asks reports whether the tool may ask for an operation.
func (t *Tool) Asks(op *api.Operation) bool { return slices.Contains(t.ops, op) }

// tool fills in a row for operations.
func tool(t Tool, names ...string) *Tool {
	for _, name := range names {
		op, err := api.LookUp(name)
		if err != nil {
			panic(err) // a mistake in the table: every test would hit it
		}
		t.ops = append(t.ops, op)
	}
	return &t
}

// A Profile says which tools an agent is given.
type Profile string

// The profiles.
const (
	CoreTools Profile = "core" // what every agent needs
	AllTools  Profile = "all"
)

// ParseProfile reads the name of a profile.
func ParseProfile(s string) (Profile, error) {
	if p := Profile(s); p == CoreTools || p == AllTools {
		return p, nil
	}
	return "", api.Errorf(api.Invalid, "tools: %q is not one of %s, %s", s, CoreTools, AllTools)
}

func (p Profile) has(t *Tool) bool { return t.Core || p == AllTools }

// allowed reports whether one of the tool's operations may be asked.
func (t *Tool) allowed(may *api.OperationsAnswer) bool {
	return may.Enabled && slices.ContainsFunc(t.ops, func(op *api.Operation) bool { return slices.Contains(may.Operations, op.Name) })
}

// aliases are names of parameters that models know from elsewhere.
var aliases = map[string]string{"maxResults": "limit", "k": "limit", "after": "since", "before": "until"}

// Params returns the parameters of the tool: those of its first operation, and
// what only the others have.
func (t *Tool) Params() []*api.Param {
	var list []*api.Param
	for _, op := range t.ops {
		for _, p := range op.Params {
			if !p.Scope && !slices.ContainsFunc(list, func(q *api.Param) bool { return q.Name == p.Name }) {
				list = append(list, p)
			}
		}
	}
	return list
}

// request is what a model asks for with some arguments, as strictly as programs
// are heard.
func (t *Tool) request(arguments json.RawMessage) (*api.Request, error) {
	if len(arguments) == 0 || string(arguments) == "null" {
		arguments = json.RawMessage("{}")
	}
	params := t.Params()
	has := func(name string) bool {
		return slices.ContainsFunc(params, func(p *api.Param) bool { return p.Name == name })
	}
	fields := map[string]json.RawMessage{}
	var names []string // in the order in which they are given
	err := api.EachField(arguments, func(name string, raw json.RawMessage) error {
		if meant := aliases[name]; has(meant) {
			name = meant
		}
		if fields[name] != nil {
			return api.Errorf(api.Invalid, "field %q is there twice", name)
		}
		fields[name], names = raw, append(names, name)
		if api.IsScope(name) {
			return api.Errorf(api.Invalid, "unknown field %q", name).WithHint("who asks is not for a tool to say")
		}
		_, err := api.FindParam(params, name)
		return err
	})
	if err != nil {
		return nil, err
	}
	op := t.meant(fields)
	req := op.NewRequest()
	for _, name := range names {
		p, err := op.Param(name)
		switch {
		case err == nil:
			err = req.SetJSON(p, fields[name])
		case isEmpty(fields[name]):
			continue
		default:
			err = api.Errorf(api.Invalid, "%s does not go with %s", name, t.marks(op))
		}
		if err != nil {
			return nil, err
		}
	}
	return req, req.Check()
}

// isEmpty reports whether a value says as much as none: models fill in what they
// do not need.
func isEmpty(raw json.RawMessage) bool {
	switch string(bytes.TrimSpace(raw)) {
	case "null", `""`, "[]", "{}":
		return true
	}
	return false
}

// meant is the operation that the fields are of.
func (t *Tool) meant(fields map[string]json.RawMessage) *api.Operation {
	for _, op := range t.ops[1:] {
		for _, p := range t.own(op) {
			if raw, ok := fields[p.Name]; ok && !isEmpty(raw) {
				return op
			}
		}
	}
	return t.ops[0]
}

// own are the parameters that only this one of the operations has.
func (t *Tool) own(op *api.Operation) []*api.Param {
	return slices.DeleteFunc(t.Params(), func(p *api.Param) bool {
		return !slices.Contains(op.Params, p)
	})
}

// marks names the parameters by which an operation is meant.
func (t *Tool) marks(op *api.Operation) string {
	var names []string
	for _, p := range t.own(op) {
		names = append(names, p.Name)
	}
	return strings.Join(names, " and ")
}

// An AskFunc asks for an operation, and returns the answer as it goes over the
// wire. What is wrong is an [*api.Error].
type AskFunc func(context.Context, *api.Request) (json.RawMessage, error)

// A Result is what a model is answered: a text for it, and what programs are
// answered, to be encoded.
type Result struct {
	Text   string
	Fields any
	Failed bool
}

// Use asks for what a model asks for with some arguments, a JSON object.
func (t *Tool) Use(ctx context.Context, ask AskFunc, arguments json.RawMessage) Result {
	req, err := t.request(arguments)
	if err != nil {
		return failure(err)
	}
	raw, err := ask(ctx, req)
	if err != nil {
		if get, ok := req.Value().(*api.GetRequest); ok && get.Path != "" && api.AsError(err).Code == api.NotFound {
			return Result{Fields: missing(get.Path)}
		}
		return failure(err)
	}
	answer := req.Operation().NewAnswer()
	if err := json.Unmarshal(raw, answer); err != nil {
		return failure(api.Errorf(api.Internal, "%s: the answer cannot be read: %v", req.Operation().Name, err))
	}
	if found, ok := answer.(*api.SearchAnswer); ok {
		return Result{Text: textOf(answer), Fields: withLines(found)}
	}
	return Result{Text: textOf(answer), Fields: raw}
}

// failure is an error that a model can do something about.
func failure(err error) Result {
	e := errorOf(err)
	text := string(e.Code) + ": " + e.Message
	if e.Hint != "" {
		text += "\n" + e.Hint
	}
	return Result{Text: text, Fields: api.Failure{Error: e}, Failed: true}
}

// errorOf is an error as a model is told it, without credentials.
func errorOf(err error) *api.Error {
	e, _ := secrets.RedactValue(api.AsError(err))
	return e
}

// noFile is a file that is not there, or not to be read, as a model is answered
// that tries one.
type noFile struct {
	Path    string `json:"path"`
	Text    string `json:"text"`
	Missing bool   `json:"missing"`
}

func missing(path string) noFile {
	path, _ = secrets.Redact(path)
	return noFile{Path: path, Missing: true}
}

// toolHits are hits whose lines have the names, too, that models know from
// elsewhere.
type toolHits struct {
	Hits []toolHit `json:"hits"`
	*api.SearchAnswer
}

type toolHit struct {
	api.Hit
	First int `json:"startLine"`
	Last  int `json:"endLine"`
}

func withLines(a *api.SearchAnswer) *toolHits {
	hits := make([]toolHit, len(a.Hits))
	for i, h := range a.Hits {
		hits[i] = toolHit{h, h.Line, h.EndLine}
	}
	return &toolHits{hits, a}
}
