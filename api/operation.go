package api

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// An Operation describes one operation of the API.
type Operation struct {
	Name    string // on the wire, in snake_case
	Summary string // one line, for help and for schemas
	Command string // words of the command, if they differ from Name
	Example string // arguments for a useful first try of the command

	Commands []Command // replaces Command and Example if there are several

	Admin        bool // only on listeners without a fixed scope
	ReadOnly     bool // makes no change that a person would notice
	Long         bool // has no time limit
	Always       bool // on every listener, regardless of its restrictions
	Needs        Need // requirement without which the operation is refused
	InInbox      bool // with Needs InPrivate: also for the callers of a listener with a fixed scope, below their inbox
	ProgramsOnly bool // for programs only: there is no command
	HumansOnly   bool // for people only: never offered to agents as a tool
	Stream       bool // the answer is an endless stream of server-sent events

	params  func() []*Param
	request reflect.Type
	answer  reflect.Type
}

// A Need is a requirement on the caller of an operation.
type Need int

// The requirements of operations.
const (
	AnyCaller  Need = iota
	AnySubject      // a subject: writes of anonymous callers are refused
	InPrivate       // a subject in a private context: elsewhere callers can only add
	TheOwner        // the root's owner in private, on a listener without a fixed scope
	Operator        // as TheOwner, or a request that names no subject, on such a listener
)

// A Command is one of several commands for an operation.
type Command struct {
	Words   string            // of the command
	Summary string            // one line, for help
	Example string            // arguments for a useful first try
	Set     map[string]string // parameters that the command sets
	Without []string          // parameters that the command does not accept
}

// TakesParam reports whether the command accepts a parameter on the command line.
func (c *Command) TakesParam(p *Param) bool {
	_, set := c.Set[p.Name]
	return !set && !slices.Contains(c.Without, p.Name)
}

// For is the part of a request that determines the type of the answer. For a stream,
// that is the type of one event.
type For[Answer any] struct{}

func (For[Answer]) answer() *Answer { return nil }

// A RequestFor is a request with an answer of type Answer.
type RequestFor[Answer any] interface{ answer() *Answer }

// NewOperation returns a row of the table with the types of its request and its
// answer.
func NewOperation[Request RequestFor[Answer], Answer any](op Operation) *Operation {
	op.request, op.answer = reflect.TypeFor[Request](), reflect.TypeFor[Answer]()
	request := op.request
	op.params = sync.OnceValue(func() []*Param { return paramsOf(request) })
	op.Command = cmp.Or(op.Command, op.Name)
	if op.Commands == nil && !op.ProgramsOnly {
		op.Commands = []Command{{Words: op.Command, Summary: op.Summary, Example: op.Example}}
	}
	return &op
}

// Params returns the fields of the request, in order. They are read from the tags of
// its type at the first call, because most commands use one operation.
func (op *Operation) Params() []*Param { return op.params() }

// Param returns the parameter with the given name, with the errors of
// [FindParam].
func (op *Operation) Param(name string) (*Param, error) { return FindParam(op.Params(), name) }

// NewAnswer returns a pointer to a zero answer of the operation, for decoding.
func (op *Operation) NewAnswer() any { return reflect.New(op.answer).Interface() }

// NewRequest returns a request with its default values. It panics if a default
// in a tag is invalid.
func (op *Operation) NewRequest() *Request {
	v := reflect.New(op.request)
	for _, p := range op.Params() {
		p.setDefault(v.Elem())
	}
	return &Request{op: op, value: v}
}

// NewClientRequest returns a request with its default values, in which the
// presets of commands and tools for models are set.
func (op *Operation) NewClientRequest() *Request {
	r := op.NewRequest()
	for _, p := range op.Params() {
		if p.Preset == "" {
			continue
		}
		if err := r.Set(p, p.Preset); err != nil {
			panic(fmt.Sprintf("preset of %s: %v", p.Name, err)) // invalid tag: every test would panic here
		}
	}
	return r
}

// A Request is a request for an operation. It is not safe for concurrent use.
type Request struct {
	op    *Operation
	value reflect.Value
	given []*Param // explicitly set parameters
}

// Params returns the parameters of the request.
func (r *Request) Params() []*Param { return r.op.Params() }

// Set sets a parameter to the value that s represents. For a list, Set appends
// the value. If s is not a value of the parameter's type, Set returns an
// [*Error] with the code [Invalid].
func (r *Request) Set(p *Param, s string) error {
	if !utf8.ValidString(s) { // JSON cannot hold it, and an encoder would replace the bytes
		return Errorf(Invalid, "%s: text is not valid UTF-8", p.Name)
	}
	if r.markGiven(p) {
		r.value.Elem().FieldByIndex(p.index).SetZero()
	}
	return p.setString(r.value.Elem(), s)
}

// SetNamed is Set for the parameter with a name.
func (r *Request) SetNamed(name, s string) error {
	p, err := r.op.Param(name)
	if err != nil {
		return err
	}
	return r.Set(p, s)
}

// SetJSON sets a parameter to a JSON value. The value null has no effect. If
// raw is not a value of the parameter's type, SetJSON returns an [*Error] with
// the code [Invalid].
func (r *Request) SetJSON(p *Param, raw json.RawMessage) error {
	if string(raw) == "null" {
		return nil
	}
	if !utf8.Valid(raw) { // a decoder would replace the bytes
		return Errorf(Invalid, "%s: text is not valid UTF-8", p.Name)
	}
	r.markGiven(p)
	return p.setJSON(r.value.Elem(), raw)
}

// Decode sets parameters from one JSON object. An empty body sets none. If a
// field is unknown, repeated or of another type, Decode returns an [*Error]
// that names the field; earlier fields stay set.
func (r *Request) Decode(body []byte) error {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil // an operation without parameters is requested without a body
	}
	seen := map[*Param]bool{} // a parameter may have an alias
	return EachField(body, func(name string, raw json.RawMessage) error {
		p, err := r.op.Param(name)
		if err != nil {
			return err
		}
		if seen[p] {
			return Errorf(Invalid, "duplicate field %q", name)
		}
		seen[p] = true
		return r.SetJSON(p, raw)
	})
}

// markGiven marks a parameter as set and reports whether it was unset before.
func (r *Request) markGiven(p *Param) bool {
	if slices.Contains(r.given, p) {
		return false
	}
	r.given = append(r.given, p)
	return true
}

// GivenValue returns the text of the parameter with a name, and reports whether it was set.
func (r *Request) GivenValue(name string) (string, bool) {
	i := slices.IndexFunc(r.given, func(p *Param) bool { return p.Name == name })
	if i < 0 {
		return "", false
	}
	v := r.value.Elem().FieldByIndex(r.given[i].index)
	for v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	return fmt.Sprint(v.Interface()), true
}

// Fields returns the parameters that were set to other values than their defaults, in
// wire format. The daemon applies the defaults of the others: one of an earlier version
// rejects every field that it does not know.
func (r *Request) Fields() map[string]any {
	fields := make(map[string]any, len(r.given))
	byDefault := r.op.NewRequest().value.Elem()
	for _, p := range r.given {
		value := r.value.Elem().FieldByIndex(p.index).Interface()
		if !reflect.DeepEqual(value, byDefault.FieldByIndex(p.index).Interface()) {
			fields[p.Name] = value
		}
	}
	return fields
}

// WithDefaults returns a copy of the request in which unset parameters have
// their defaults, for a caller that does not send the request to a daemon.
func (r *Request) WithDefaults() *Request {
	full := r.op.NewRequest()
	for _, p := range r.given {
		full.value.Elem().FieldByIndex(p.index).Set(r.value.Elem().FieldByIndex(p.index))
	}
	full.given = r.given
	return full
}

// Check compares the parameters with the bounds and values in their tags, and
// rejects values without effect. It returns an [*Error] that names the first
// invalid parameter, or nil.
func (r *Request) Check() error {
	for _, p := range r.op.Params() {
		if err := p.checkValue(r.value.Elem()); err != nil {
			return err
		}
	}
	for _, p := range r.given {
		if err := r.checkEffect(p); err != nil {
			return err
		}
	}
	return nil
}

// checkEffect returns an error if a parameter has a value other than its default
// which has no effect, because the condition in its tag is not met.
func (r *Request) checkEffect(p *Param) error {
	if p.With == "" || !r.isChanged(p) {
		return nil
	}
	name, values, compared := strings.Cut(p.With, "=")
	name, unset := strings.CutPrefix(name, "!")
	other, err := r.op.Param(name)
	if err != nil {
		panic(fmt.Sprintf("condition of %s: %v", p.Name, err)) // invalid tag: every test would panic here
	}
	switch value := r.value.Elem().FieldByIndex(other.index); {
	case compared:
		permitted := strings.Split(values, ",")
		if slices.Contains(permitted, value.String()) {
			return nil
		}
		return Errorf(Invalid, "%s: no effect with `%s` %s", p.Name, name, value).
			WithHint("set `%s` to %s, or omit `%s`", name, strings.Join(permitted, ", "), p.Name)
	case unset && r.isChanged(other):
		return Errorf(Invalid, "%s: no effect with `%s`", p.Name, name).WithHint("omit `%s` or `%s`", name, p.Name)
	case !unset && !r.isChanged(other):
		return Errorf(Invalid, "%s: no effect without `%s`", p.Name, name).
			WithHint("set `%s`, or omit `%s`", name, p.Name)
	}
	return nil
}

// isChanged reports whether a parameter was set to a value other than its default.
func (r *Request) isChanged(p *Param) bool {
	value := r.value.Elem().FieldByIndex(p.index)
	byDefault := r.op.NewRequest().value.Elem().FieldByIndex(p.index)
	empty := value.IsZero() || value.Kind() == reflect.Slice && value.Len() == 0
	return slices.Contains(r.given, p) && !empty && !reflect.DeepEqual(value.Interface(), byDefault.Interface())
}

// EachText calls f for each text of the request, with the name of its
// parameter, until f returns an error, which EachText then returns.
func (r *Request) EachText(f func(param, text string) error) error {
	for _, p := range r.op.Params() {
		err := eachText(r.value.Elem().FieldByIndex(p.index), func(text string) error { return f(p.Name, text) })
		if err != nil {
			return err
		}
	}
	return nil
}

// Operation returns the requested operation.
func (r *Request) Operation() *Operation { return r.op }

// Value returns a pointer to the typed request, such as a *SearchRequest.
func (r *Request) Value() any { return r.value.Interface() }

// Scope returns the part of the request that identifies the caller.
func (r *Request) Scope() Scope { return r.value.Elem().FieldByName("Scope").Interface().(Scope) }

// RequestOf returns a request in which the nonzero fields of r are set. It
// panics if R is the request of no operation.
func RequestOf[R any](r R) *Request {
	for _, op := range Operations {
		if op.request != reflect.TypeFor[R]() {
			continue
		}
		req := &Request{op: op, value: reflect.ValueOf(&r)}
		for _, p := range op.Params() {
			if !req.value.Elem().FieldByIndex(p.index).IsZero() {
				req.given = append(req.given, p)
			}
		}
		return req
	}
	panic(fmt.Sprintf("%T is not the request of an operation", r))
}

// LookUp returns the operation with the given wire name. If there is none,
// LookUp returns an [*Error] with the code [NotFound] and the nearest name as
// hint.
func LookUp(name string) (*Operation, error) {
	names := make([]string, len(Operations))
	for i, op := range Operations {
		if op.Name == name {
			return op, nil
		}
		names[i] = op.Name
	}
	return nil, Errorf(NotFound, "unknown operation %q", name).suggest(name, names)
}

// MaxAnswerTime bounds an operation that is not [Operation.Long], so that an
// expensive request does not occupy a processor forever.
const MaxAnswerTime = time.Minute

// EncodeJSON returns the wire format of v: one line of JSON, ended by a line
// feed. It leaves <, > and & unescaped, for programs that do not unescape them.
// If v cannot be encoded, EncodeJSON returns the error of
// [json.Encoder.Encode].
func EncodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.Bytes(), err
}
