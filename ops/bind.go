package ops

import (
	"context"
	"reflect"

	"github.com/memwatchd/memwatchd/api"
)

// A binding is the function that implements an operation.
type binding struct {
	request, answer reflect.Type

	do     func(context.Context, Call, any) (any, error)
	stream func(context.Context, Call, any, func(any) error) error
}

// Do runs the requested operation and returns a pointer to its answer type. An
// operation that is not [api.Operation.Long] ends after [api.MaxAnswerTime].
// Errors meant for the caller are of type [*api.Error].
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
	answer, err := m.binding(op).do(ctx, c, req.Value())
	if err != nil && ctx.Err() != nil {
		return nil, api.Errorf(api.Unavailable, "%s took too long", op.Name)
	}
	return answer, err
}

// Stream prepares an operation whose answer is a stream. The returned function
// sends the parts of the answer until the context ends or send returns an
// error.
func (m *Memory) Stream(ctx context.Context, by api.Caller, req *api.Request) (run func(send func(any) error) error,
	err error) {
	c, err := m.call(by)
	if err != nil {
		return nil, err
	}
	return func(send func(any) error) error {
		return m.binding(req.Operation()).stream(ctx, c, req.Value(), send)
	}, nil
}

// bind returns the functions of all operations by name.
func (m *Memory) bind() map[string]binding {
	r, w, d, c, k, e, a := m.reading(), m.writing(), m.drafting(), m.capturing(), m.keying(), m.erasing(), m.admin()
	return map[string]binding{
		"search":                bindFunc(r.search),
		"get":                   bindFunc(r.get),
		"recent":                bindFunc(r.recent),
		"related":               bindFunc(r.related),
		"load":                  bindFunc(r.loadOp),
		"context":               bindFunc(r.context),
		"todos":                 bindFunc(r.todos),
		"todo":                  bindFunc(w.todo),
		"complete":              bindFunc(r.complete),
		"note":                  bindFunc(w.note),
		"capture":               bindFunc(c.capture),
		"remember":              bindFunc(w.remember),
		"forget":                bindFunc(e.forget),
		"session":               bindFunc(d.session),
		"edit":                  bindFunc(w.edit),
		"write":                 bindFunc(w.write),
		"profile":               bindFunc(w.profile),
		"project":               bindFunc(w.project),
		"item_put":              bindFunc(k.itemPut),
		"item_get":              bindFunc(k.itemGet),
		"item_list":             bindFunc(k.itemList),
		"item_delete":           bindFunc(k.itemDelete),
		"item_delete_namespace": bindFunc(k.itemDeleteNamespace),
		"item_visibility":       bindFunc(k.itemVisibility),
		"resolve":               bindFunc(a.resolve),
		"link":                  bindFunc(a.link),
		"unlink":                bindFunc(a.unlink),
		"links":                 bindFunc(a.links),
		"compress":              bindFunc(a.compress),
		"journal":               bindFunc(a.journal),
		"undo":                  bindFunc(a.undo),
		"compact":               bindFunc(a.compact),
		"restore":               bindFunc(a.restore),
		"wipe_subject":          bindFunc(e.wipeSubject),
		"check":                 bindFunc(a.check),
		"sync":                  bindFunc(a.syncOp),
		"rebuild":               bindFunc(a.rebuild),
		"status":                bindFunc(a.statusOp),
		"operations":            bindFunc(r.operations),
		"events":                bindStream[api.EventsRequest, api.Event](a.events),
	}
}

// binding returns the function of an operation.
func (m *Memory) binding(op *api.Operation) binding {
	m.bindOnce.Do(func() { m.bindings = m.bind() })
	return m.bindings[op.Name]
}

// bindFunc returns the binding of a function with one answer.
func bindFunc[Request, Answer any](f func(context.Context, Call, *Request) (*Answer, error)) binding {
	return binding{
		request: reflect.TypeFor[Request](), answer: reflect.TypeFor[Answer](),
		do: func(ctx context.Context, c Call, r any) (any, error) {
			answer, err := f(ctx, c, r.(*Request))
			if err != nil {
				return nil, redactedError(err)
			}
			return redacted(answer), nil
		},
	}
}

// bindStream returns the binding of a function whose answer is a stream of parts.
func bindStream[Request, Part any](f func(context.Context, Call, *Request, func(any) error) error) binding {
	return binding{
		request: reflect.TypeFor[Request](), answer: reflect.TypeFor[Part](),
		stream: func(ctx context.Context, c Call, r any, send func(any) error) error {
			return redactedError(f(ctx, c, r.(*Request), func(part any) error { return send(redacted(part)) }))
		},
	}
}
