package ops

import (
	"context"
	"errors"
	"reflect"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/vault"
)

// A binding is the function that implements an operation.
type binding struct {
	request, answer reflect.Type

	do     func(context.Context, Call, any) (any, error)
	stream func(context.Context, Call, any, func(any) error) error
}

// Do runs the requested operation and returns a pointer to its answer type. An
// operation that is not [api.Operation.Long] ends after [api.MaxAnswerTime],
// with the code [api.Unavailable]. Errors meant for the caller are of type
// [*api.Error]; the text of any other error must not be shown to the caller.
func (m *Memory) Do(ctx context.Context, by api.Caller, req *api.Request) (any, error) {
	c, err := m.resolveCall(by)
	if err != nil {
		return nil, err
	}
	ctx = vault.WithProgram(vault.WithCaller(ctx, by.Listener), c.program.Name, c.program.Session)
	op := req.Operation()
	if !op.Long {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, api.MaxAnswerTime)
		defer cancel()
	}
	if err := m.permit(c, op); err != nil {
		return nil, err
	}
	if fresh, ok := req.Value().(interface{ Waits() bool }); ok && fresh.Waits() {
		if err := m.syncIndex(ctx, &c); err != nil {
			return nil, err
		}
	}
	answer, err := m.bindingOf(op).do(ctx, c, req.Value())
	if e, ok := errors.AsType[*api.Error](err); ok && m.Disabled && e.Code == api.NotFound && e.Hint == "" {
		err = e.WithHint("memory is disabled: set memory.enabled to true")
	}
	if err != nil && ctx.Err() != nil {
		if e, ok := errors.AsType[*api.Error](context.Cause(ctx)); ok {
			return nil, e // the daemon stops
		}
		return nil, api.Errorf(api.Unavailable, "%s took too long", op.Name)
	}
	return answer, err
}

// Stream prepares an operation whose answer is a stream. The returned function
// sends the parts of the answer until the context ends or send returns an
// error, which the function returns. The errors of Stream itself are those of
// [Memory.Do].
func (m *Memory) Stream(ctx context.Context, by api.Caller, req *api.Request) (run func(send func(any) error) error,
	err error) {
	c, err := m.resolveCall(by)
	if err != nil {
		return nil, err
	}
	if err := m.permit(c, req.Operation()); err != nil {
		return nil, err
	}
	return func(send func(any) error) error {
		return m.bindingOf(req.Operation()).stream(ctx, c, req.Value(), send)
	}, nil
}

// bindAll returns the functions of all operations by name.
func (m *Memory) bindAll() map[string]binding {
	r, w := m.readOps(), m.writeOps()
	return map[string]binding{
		"search":                bindFunc(r.search),
		"get":                   bindFunc(r.get),
		"recent":                bindFunc(r.recent),
		"related":               bindFunc(r.related),
		"load":                  bindFunc(r.loadOp),
		"context":               bindFunc(r.context),
		"todos":                 bindFunc(r.todos),
		"todo":                  bindFunc(w.todo),
		"todo_add":              bindFunc(w.todoAdd),
		"complete":              bindFunc(r.complete),
		"files":                 bindFunc(r.files),
		"note":                  bindFunc(w.note),
		"capture":               bindFunc(w.capture),
		"remember":              bindFunc(w.remember),
		"forget":                bindFunc(w.forget),
		"session":               bindFunc(w.session),
		"edit":                  bindFunc(w.edit),
		"write":                 bindFunc(w.write),
		"profile":               bindFunc(w.profile),
		"project":               bindFunc(w.project),
		"item_put":              bindFunc(w.itemPut),
		"item_get":              bindFunc(w.itemGet),
		"item_list":             bindFunc(w.itemList),
		"item_delete":           bindFunc(w.itemDelete),
		"item_delete_namespace": bindFunc(w.itemDeleteNamespace),
		"item_visibility":       bindFunc(w.itemVisibility),
		"item_import":           bindFunc(w.itemImport),
		"import":                bindFunc(w.importRecords),
		"export":                bindFunc(r.export),
		"resolve":               bindFunc(w.resolve),
		"link":                  bindFunc(w.link),
		"unlink":                bindFunc(w.unlink),
		"links":                 bindFunc(w.links),
		"compress":              bindFunc(w.compress),
		"journal":               bindFunc(w.journal),
		"undo":                  bindFunc(w.undo),
		"conflicts":             bindFunc(w.conflicts),
		"conflicts_merge":       bindFunc(w.conflictsMerge),
		"share_status":          bindFunc(w.shareStatus),
		"share_push":            bindFunc(w.sharePush),
		"share_forget_host":     bindFunc(w.shareForget),
		"compact":               bindFunc(w.compact),
		"restore":               bindFunc(w.restore),
		"wipe_subject":          bindFunc(w.wipeSubject),
		"check":                 bindFunc(w.check),
		"sync":                  bindFunc(w.syncOp),
		"rebuild":               bindFunc(w.rebuild),
		"status":                bindFunc(w.statusOp),
		"embed":                 bindFunc(w.embed),
		"embed_dump":            bindFunc(w.embedDump),
		"embed_load":            bindFunc(w.embedLoad),
		"operations":            bindFunc(r.operations),
		"events":                bindStream[api.EventsRequest, api.Event](w.events),
	}
}

// bindingOf returns the function of an operation.
func (m *Memory) bindingOf(op *api.Operation) binding {
	m.bindOnce.Do(func() { m.bindings = m.bindAll() })
	return m.bindings[op.Name]
}

// bindFunc returns the binding of a function with one answer.
func bindFunc[Request, Answer any](f func(context.Context, Call, *Request) (*Answer, error)) binding {
	return binding{
		request: reflect.TypeFor[Request](), answer: reflect.TypeFor[Answer](),
		do: func(ctx context.Context, c Call, r any) (any, error) {
			answer, err := f(ctx, c, r.(*Request))
			if err != nil {
				return nil, redactError(err)
			}
			return redactValue(answer), nil
		},
	}
}

// bindStream returns the binding of a function whose answer is a stream of parts.
func bindStream[Request, Part any](f func(context.Context, Call, *Request, func(any) error) error) binding {
	return binding{
		request: reflect.TypeFor[Request](), answer: reflect.TypeFor[Part](),
		stream: func(ctx context.Context, c Call, r any, send func(any) error) error {
			return redactError(f(ctx, c, r.(*Request), func(part any) error { return send(redactValue(part)) }))
		},
	}
}
