package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"
)

// An Operation is one thing that can be asked: a row of the table.
type Operation struct {
	Name    string // on the wire, in snake_case
	Summary string // one line, for help and for schemas
	Command string // the words of the command, if they are not Name
	Example string // arguments that make a good first try of the command

	Commands []Command // in place of Command and Example, if there are several

	Admin    bool // only on listeners without a fixed scope
	ReadOnly bool // changes nothing that a person would notice
	Long     bool // may take as long as it takes
	Always   bool // on every listener, whatever that is restricted to
	Needs    Need // without which it is refused, whatever there is
	Programs bool // for programs only: it has no command
	People   bool // for people only: agents are never given it as a tool
	Stream   bool // the answer is a stream of server-sent events, without an end

	Params []*Param // the fields of the request, in order

	request reflect.Type
	answer  reflect.Type
}

// A Need is what must be true of who asks for an operation to do anything.
type Need int

// What operations need, each all that those before it do.
const (
	Anyone    Need = iota
	Someone        // a subject: nobody's writes are refused
	InPrivate      // a private context: elsewhere one can only add
	TheOwner       // the root's owner, on a listener without a fixed scope
)

// A Command is one of several ways in which people ask for an operation.
type Command struct {
	Words   string            // of the command
	Summary string            // one line, for help
	Example string            // arguments that make a good first try
	Set     map[string]string // parameters that it gives a value
	Without []string          // parameters that it does not take
}

// Takes reports whether a parameter is left to whoever types the command.
func (c *Command) Takes(p *Param) bool {
	_, set := c.Set[p.Name]
	return !set && !slices.Contains(c.Without, p.Name)
}

// Describe completes a row of the table with the types of its request and its
// answer, or of one part of an answer that is a stream.
func Describe[Request, Answer any](op Operation) *Operation {
	op.request, op.answer = reflect.TypeFor[Request](), reflect.TypeFor[Answer]()
	op.Params = paramsOf(op.request)
	if op.Command == "" {
		op.Command = op.Name
	}
	if op.Commands == nil && !op.Programs {
		op.Commands = []Command{{Words: op.Command, Summary: op.Summary, Example: op.Example}}
	}
	return &op
}

// Param is [FindParam] among the parameters of the operation.
func (op *Operation) Param(name string) (*Param, error) { return FindParam(op.Params, name) }

// NewAnswer is a pointer to an empty answer, to decode one into.
func (op *Operation) NewAnswer() any { return reflect.New(op.answer).Interface() }

// NewRequest is a request with its defaults, to fill in and to send.
func (op *Operation) NewRequest() *Request {
	v := reflect.New(op.request)
	prepare(op.Params, v.Elem())
	return &Request{op: op, value: v}
}

// A Request is the request of some operation.
type Request struct {
	op    *Operation
	value reflect.Value
	given []*Param // those that are not left to their default
}

// Params are the parameters of the request.
func (r *Request) Params() []*Param { return r.op.Params }

// Set sets a parameter to the value that a person typed. A list grows by it.
func (r *Request) Set(p *Param, s string) error {
	if r.give(p) {
		r.value.Elem().FieldByIndex(p.index).SetZero()
	}
	return p.setString(r.value.Elem(), s)
}

// SetJSON sets a parameter to the value that a program sent. The value null leaves
// it as it is.
func (r *Request) SetJSON(p *Param, raw json.RawMessage) error {
	if string(raw) == "null" {
		return nil
	}
	r.give(p)
	return p.setJSON(r.value.Elem(), raw)
}

// Decode sets parameters from one JSON object, strictly: a field that is unknown,
// repeated or of another type is an [*Error] that names it.
func (r *Request) Decode(body []byte) error {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil // an operation without parameters is requested without a body
	}
	return EachField(body, func(name string, raw json.RawMessage) error {
		p, err := r.op.Param(name)
		if err != nil {
			return err
		}
		return r.SetJSON(p, raw)
	})
}

// give notes that a parameter is set, and reports whether it was not before.
func (r *Request) give(p *Param) bool {
	if slices.Contains(r.given, p) {
		return false
	}
	r.given = append(r.given, p)
	return true
}

// Given is the text of a parameter that was set, and whether it was.
func (r *Request) Given(p *Param) (string, bool) {
	if !slices.Contains(r.given, p) {
		return "", false
	}
	v := r.value.Elem().FieldByIndex(p.index)
	for v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	return fmt.Sprint(v.Interface()), true
}

// Fields returns the parameters that were set, as they go over the wire. The
// others are left to the daemon, which may be of another version.
func (r *Request) Fields() map[string]any {
	fields := make(map[string]any, len(r.given))
	for _, p := range r.given {
		fields[p.Name] = r.value.Elem().FieldByIndex(p.index).Interface()
	}
	return fields
}

// WithDefaults returns a copy in which the parameters that were not set have their
// defaults, for a caller that does not send it to a daemon.
func (r *Request) WithDefaults() *Request {
	whole := r.op.NewRequest()
	for _, p := range r.given {
		whole.value.Elem().FieldByIndex(p.index).Set(r.value.Elem().FieldByIndex(p.index))
	}
	whole.given = r.given
	return whole
}

// Check tests the parameters against the bounds and values in their tags. The
// error is an [*Error] that names the parameter.
func (r *Request) Check() error {
	for _, p := range r.op.Params {
		if err := p.check(r.value.Elem()); err != nil {
			return err
		}
	}
	return nil
}

// Operation returns the operation that is requested.
func (r *Request) Operation() *Operation { return r.op }

// Value returns a pointer to the typed request, such as a *SearchRequest.
func (r *Request) Value() any { return r.value.Interface() }

// Scope returns the part of the request that identifies the caller.
func (r *Request) Scope() Scope { return r.value.Elem().FieldByName("Scope").Interface().(Scope) }

// RequestOf returns a request in which the fields of r that are not zero are set.
// It panics if R is the request of no operation.
func RequestOf[R any](r R) *Request {
	for _, op := range Operations {
		if op.request != reflect.TypeFor[R]() {
			continue
		}
		req := &Request{op: op, value: reflect.ValueOf(&r)}
		for _, p := range op.Params {
			if !req.value.Elem().FieldByIndex(p.index).IsZero() {
				req.given = append(req.given, p)
			}
		}
		return req
	}
	panic(fmt.Sprintf("%T is the request of no operation", r))
}

// LookUp finds an operation by its name on the wire. The error is an [*Error] that
// names the nearest operation.
func LookUp(name string) (*Operation, error) {
	names := make([]string, len(Operations))
	for i, op := range Operations {
		if op.Name == name {
			return op, nil
		}
		names[i] = op.Name
	}
	e := Errorf(NotFound, "there is no operation %q", name)
	if near := nearest(name, names); near != "" {
		e.WithHint("did you mean %q?", near)
	}
	return nil, e
}

// MaxAnswerTime bounds an operation that is not [Operation.Long], so that a
// question which is hard to answer does not keep a processor for ever.
const MaxAnswerTime = time.Minute

// Encode returns v as it goes over the wire: one line of JSON, and text as it is,
// for programs that do not unescape <, > and &.
func Encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.Bytes(), err
}
