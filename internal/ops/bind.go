package ops

import (
	"context"
	"errors"
	"reflect"
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/vault"
)

// A binding is the function that implements an operation.
type binding struct {
	request, answer reflect.Type

	do     func(writeOps, context.Context, Call, any) (any, error)
	stream func(writeOps, context.Context, Call, any, func(any) error) error
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
	if err := checkCharacters(c, req); err != nil {
		return nil, err
	}
	if fresh, ok := req.Value().(interface{ Waits() bool }); ok && fresh.Waits() {
		if err := m.syncIndex(ctx, &c); err != nil {
			return nil, err
		}
	}
	answer, err := bindings[op.Name].do(m.writeOps(), ctx, c, req.Value())
	if state := api.IndexStateOf(answer); state != nil {
		state.Explain(c.waits)
	}
	if e, ok := errors.AsType[*api.Error](err); ok && e.Code == api.NotFound && (m.Disabled || c.waits || c.FullAccess) {
		state, hinted := m.indexState(c), *e
		state.Explain(c.waits)
		hinted.Hint = strings.Trim(hinted.Hint+"; "+state.Notice, "; ")
		if m.Disabled {
			hinted.Hint = "memory is disabled: set memory.enabled to true"
		}
		err = &hinted
	}
	if e, ok := errors.AsType[*api.Error](err); ok {
		err = shortenEchoes(e, req)
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
		return bindings[req.Operation().Name].stream(m.writeOps(), ctx, c, req.Value(), send)
	}, nil
}

// bindings are the functions of all operations by name.
var bindings = map[string]binding{
	"search":                bindFunc(writeOps.search),
	"get":                   bindFunc(writeOps.get),
	"recent":                bindFunc(writeOps.recent),
	"related":               bindFunc(writeOps.related),
	"load":                  bindFunc(writeOps.loadOp),
	"context":               bindFunc(writeOps.context),
	"todos":                 bindFunc(writeOps.todos),
	"todo":                  bindFunc(writeOps.todo),
	"todo_add":              bindFunc(writeOps.todoAdd),
	"complete":              bindFunc(writeOps.complete),
	"files":                 bindFunc(writeOps.files),
	"note":                  bindFunc(writeOps.note),
	"capture":               bindFunc(writeOps.capture),
	"remember":              bindFunc(writeOps.remember),
	"forget":                bindFunc(writeOps.forget),
	"session":               bindFunc(writeOps.session),
	"edit":                  bindFunc(writeOps.edit),
	"write":                 bindFunc(writeOps.write),
	"profile":               bindFunc(writeOps.profile),
	"project":               bindFunc(writeOps.project),
	"item_put":              bindFunc(writeOps.itemPut),
	"item_get":              bindFunc(writeOps.itemGet),
	"item_list":             bindFunc(writeOps.itemList),
	"item_delete":           bindFunc(writeOps.itemDelete),
	"item_delete_namespace": bindFunc(writeOps.itemDeleteNamespace),
	"item_visibility":       bindFunc(writeOps.itemVisibility),
	"item_import":           bindFunc(writeOps.itemImport),
	"import":                bindFunc(writeOps.importRecords),
	"export":                bindFunc(writeOps.export),
	"resolve":               bindFunc(writeOps.resolve),
	"link":                  bindFunc(writeOps.link),
	"unlink":                bindFunc(writeOps.unlink),
	"links":                 bindFunc(writeOps.links),
	"compress":              bindFunc(writeOps.compress),
	"journal":               bindFunc(writeOps.journal),
	"undo":                  bindFunc(writeOps.undo),
	"conflicts":             bindFunc(writeOps.conflicts),
	"conflicts_merge":       bindFunc(writeOps.conflictsMerge),
	"share_status":          bindFunc(writeOps.shareStatus),
	"share_push":            bindFunc(writeOps.sharePush),
	"share_forget_host":     bindFunc(writeOps.shareForget),
	"compact":               bindFunc(writeOps.compact),
	"restore":               bindFunc(writeOps.restore),
	"wipe_subject":          bindFunc(writeOps.wipeSubject),
	"check":                 bindFunc(writeOps.check),
	"sync":                  bindFunc(writeOps.syncOp),
	"rebuild":               bindFunc(writeOps.rebuild),
	"status":                bindFunc(writeOps.statusOp),
	"embed":                 bindFunc(writeOps.embed),
	"operations":            bindFunc(writeOps.operations),
	"events":                bindStream[api.EventsRequest, api.Event](writeOps.events),
}

func bindFunc[Request, Answer any](f func(writeOps, context.Context, Call, *Request) (*Answer, error)) binding {
	return binding{
		request: reflect.TypeFor[Request](), answer: reflect.TypeFor[Answer](),
		do: func(m writeOps, ctx context.Context, c Call, r any) (any, error) {
			answer, err := f(m, ctx, c, r.(*Request))
			if err != nil {
				return nil, redactError(err)
			}
			return redactValue(answer), nil
		},
	}
}

func bindStream[Request, Part any](f func(writeOps, context.Context, Call, *Request, func(any) error) error) binding {
	return binding{
		request: reflect.TypeFor[Request](), answer: reflect.TypeFor[Part](),
		stream: func(m writeOps, ctx context.Context, c Call, r any, send func(any) error) error {
			return redactError(f(m, ctx, c, r.(*Request), func(part any) error { return send(redactValue(part)) }))
		},
	}
}
