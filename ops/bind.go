package ops

import (
	"context"
	"reflect"

	"github.com/memwatchd/memwatchd/api"
)

// A binding is the function that does an operation.
type binding struct {
	request, answer reflect.Type

	do     func(context.Context, *Memory, Call, any) (any, error)
	stream func(context.Context, *Memory, Call, any, func(any) error) error
}

// Do does what is asked for, and returns the answer: a pointer to the operation's
// type of answer. An operation that is not [api.Operation.Long] ends after
// [api.MaxAnswerTime]. What is told to the caller is an [*api.Error].
func (m *Memory) Do(ctx context.Context, by api.Caller, req *api.Request) (any, error) {
	c, err := m.call(by)
	if err != nil {
		return nil, err
	}
	op := req.Operation()
	if !op.Long {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, api.MaxAnswerTime)
		defer cancel()
	}
	answer, err := bindings[op.Name].do(ctx, m, c, req.Value())
	if err != nil && ctx.Err() != nil {
		return nil, api.Errorf(api.Unavailable, "%s took too long", op.Name)
	}
	return answer, err
}

// Stream decides about an operation whose answer is a stream. The function that
// it returns sends the parts of the answer until the context ends, or send
// returns an error.
func (m *Memory) Stream(ctx context.Context, by api.Caller, req *api.Request) (run func(send func(any) error) error, err error) {
	c, err := m.call(by)
	if err != nil {
		return nil, err
	}
	return func(send func(any) error) error {
		return bindings[req.Operation().Name].stream(ctx, m, c, req.Value(), send)
	}, nil
}

// bindings are the functions of all operations, by name.
var bindings = map[string]binding{
	"search":                bind((*Memory).search),
	"get":                   bind((*Memory).get),
	"recent":                bind((*Memory).recent),
	"related":               bind((*Memory).related),
	"load":                  bind((*Memory).loadOp),
	"context":               bind((*Memory).context),
	"todos":                 bind((*Memory).todos),
	"todo":                  bind((*Memory).todo),
	"complete":              bind((*Memory).complete),
	"note":                  bind((*Memory).note),
	"capture":               bind((*Memory).capture),
	"remember":              bind((*Memory).remember),
	"forget":                bind((*Memory).forget),
	"session":               bind((*Memory).session),
	"edit":                  bind((*Memory).edit),
	"write":                 bind((*Memory).write),
	"profile":               bind((*Memory).profile),
	"project":               bind((*Memory).project),
	"item_put":              bind((*Memory).itemPut),
	"item_get":              bind((*Memory).itemGet),
	"item_list":             bind((*Memory).itemList),
	"item_delete":           bind((*Memory).itemDelete),
	"item_delete_namespace": bind((*Memory).itemDeleteNamespace),
	"item_visibility":       bind((*Memory).itemVisibility),
	"resolve":               bind((*Memory).resolve),
	"link":                  bind((*Memory).link),
	"unlink":                bind((*Memory).unlink),
	"links":                 bind((*Memory).links),
	"compress":              bind((*Memory).compress),
	"journal":               bind((*Memory).journal),
	"undo":                  bind((*Memory).undo),
	"compact":               bind((*Memory).compact),
	"restore":               bind((*Memory).restore),
	"wipe_subject":          bind((*Memory).wipeSubject),
	"check":                 bind((*Memory).check),
	"sync":                  bind((*Memory).syncOp),
	"rebuild":               bind((*Memory).rebuild),
	"status":                bind((*Memory).statusOp),
	"operations":            bind((*Memory).operations),
	"events":                bindStream[api.EventsRequest, api.Event]((*Memory).events),
}

// bind returns the binding of a function with one answer.
func bind[Request, Answer any](f func(*Memory, context.Context, Call, *Request) (*Answer, error)) binding {
	return binding{
		request: reflect.TypeFor[Request](), answer: reflect.TypeFor[Answer](),
		do: func(ctx context.Context, m *Memory, c Call, r any) (any, error) {
			answer, err := f(m, ctx, c, r.(*Request))
			if err != nil {
				return nil, redactedError(err)
			}
			return redacted(answer), nil
		},
	}
}

// bindStream returns the binding of a function whose answer is a stream of parts.
func bindStream[Request, Part any](f func(*Memory, context.Context, Call, *Request, func(any) error) error) binding {
	return binding{
		request: reflect.TypeFor[Request](), answer: reflect.TypeFor[Part](),
		stream: func(ctx context.Context, m *Memory, c Call, r any, send func(any) error) error {
			return redactedError(f(m, ctx, c, r.(*Request), func(part any) error { return send(redacted(part)) }))
		},
	}
}
