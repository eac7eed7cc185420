package ops

import (
	"context"
	"errors"
	"reflect"
	"strings"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/vault"
)

// A binding has the function that implements an operation: do for one answer, stream for
// many.
type binding struct {
	do     func(*Memory, context.Context, Call, any) (any, error)
	stream func(*Memory, context.Context, Call, any, func(any) error) error
}

// Do runs the requested operation and returns a pointer to its answer type. An
// operation that is not [api.Operation.Long] ends after [api.MaxAnswerTime],
// with the code [api.Unavailable]. Errors meant for the caller are of type
// [*api.Error]; the text of any other error must not be shown to the caller.
func (m *Memory) Do(ctx context.Context, by api.Caller, req *api.Request) (any, error) {
	c, err := m.readOps().resolveCall(by)
	if err != nil {
		return nil, err
	}
	ctx = vault.WithCaller(ctx, by.Listener, c.program.Name, c.program.Session)
	op := req.Operation()
	if !op.Long {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, api.MaxAnswerTime)
		defer cancel()
	}
	if err := m.writeOps().permit(c, op); err != nil {
		return nil, err
	}
	if err := checkCharacters(c, req); err != nil {
		return nil, err
	}
	if m.Disabled {
		if answer := disabledAnswer(req); answer != nil {
			return answer, nil
		}
	}
	if fresh, ok := req.Value().(interface{ Waits() bool }); ok && fresh.Waits() {
		if err := m.readOps().syncIndex(ctx, &c); err != nil {
			return nil, err
		}
	}
	answer, err := bindings[op.Name].do(m, ctx, c, req.Value())
	if state := api.IndexStateOf(answer); state != nil {
		state.Explain(c.waits)
	}
	if e, ok := errors.AsType[*api.Error](err); ok && e.Code == api.NotFound &&
		(m.Disabled || c.waits || c.FullAccess) {
		state, hinted := m.readOps().indexState(c), *e
		state.Explain(c.waits)
		hinted.Hint = strings.Trim(hinted.Hint+"; "+state.Notice, "; ")
		if m.Disabled {
			hinted.Hint = "memory is disabled: set memory.enabled to true"
		}
		err = &hinted
	}
	if err != nil && ctx.Err() != nil {
		if e, ok := errors.AsType[*api.Error](context.Cause(ctx)); ok {
			return nil, e // the daemon stops
		}
		return nil, api.Errorf(api.Unavailable, "%s took too long", op.Name)
	}
	return answer, err
}

// disabledAnswer returns the answer to a request that has no effect while memory is
// disabled, or nil for operations that only read.
func disabledAnswer(req *api.Request) any {
	answer := req.Operation().NewAnswer()
	fields, request := reflect.ValueOf(answer).Elem(), reflect.ValueOf(req.Value()).Elem()
	disabled := fields.FieldByName("Disabled")
	if req.Operation().ReadOnly || !disabled.IsValid() {
		return nil
	}
	disabled.SetBool(true)
	for _, name := range []string{"Path", "DryRun", "ExternalKey"} {
		if given, field := request.FieldByName(name), fields.FieldByName(name); given.IsValid() && field.IsValid() {
			field.Set(given)
		}
	}
	for f, field := range fields.Fields() {
		if field.Kind() == reflect.Slice && !strings.Contains(f.Tag.Get("json"), ",omit") {
			field.Set(reflect.MakeSlice(field.Type(), 0, 0))
		}
	}
	return answer
}

// Stream prepares an operation whose answer is a stream. The returned function
// sends the parts of the answer until the context ends or send returns an
// error, which the function returns. The errors of Stream itself are those of
// [Memory.Do].
func (m *Memory) Stream(ctx context.Context, by api.Caller, req *api.Request) (run func(send func(any) error) error,
	err error) {
	c, err := m.readOps().resolveCall(by)
	if err != nil {
		return nil, err
	}
	if err := m.writeOps().permit(c, req.Operation()); err != nil {
		return nil, err
	}
	return func(send func(any) error) error {
		return bindings[req.Operation().Name].stream(m, ctx, c, req.Value(), send)
	}, nil
}

// bindings are the functions of all operations by name.
var bindings = map[string]binding{
	"search":          bindFunc((*Memory).readOps, readOps.search),
	"get":             bindFunc((*Memory).readOps, readOps.get),
	"recent":          bindFunc((*Memory).readOps, readOps.recent),
	"related":         bindFunc((*Memory).readOps, readOps.related),
	"load":            bindFunc((*Memory).readOps, readOps.loadOp),
	"context":         bindFunc((*Memory).readOps, readOps.context),
	"todos":           bindFunc((*Memory).readOps, readOps.todos),
	"todo":            bindFunc((*Memory).writeOps, writeOps.todo),
	"todo_add":        bindFunc((*Memory).writeOps, writeOps.todoAdd),
	"complete":        bindFunc((*Memory).readOps, readOps.complete),
	"files":           bindFunc((*Memory).readOps, readOps.files),
	"note":            bindFunc((*Memory).writeOps, writeOps.note),
	"capture":         bindFunc((*Memory).writeOps, writeOps.capture),
	"remember":        bindFunc((*Memory).writeOps, writeOps.remember),
	"forget":          bindFunc((*Memory).adminOps, adminOps.forget),
	"session":         bindFunc((*Memory).writeOps, writeOps.session),
	"edit":            bindFunc((*Memory).writeOps, writeOps.edit),
	"write":           bindFunc((*Memory).writeOps, writeOps.write),
	"profile":         bindFunc((*Memory).writeOps, writeOps.profile),
	"project":         bindFunc((*Memory).writeOps, writeOps.project),
	"item_put":        bindFunc((*Memory).writeOps, writeOps.itemPut),
	"item_get":        bindFunc((*Memory).readOps, readOps.itemGet),
	"item_list":       bindFunc((*Memory).readOps, readOps.itemList),
	"item_delete":     bindFunc((*Memory).writeOps, writeOps.itemDelete),
	"import":          bindFunc((*Memory).adminOps, adminOps.importRecords),
	"export":          bindFunc((*Memory).readOps, readOps.export),
	"resolve":         bindFunc((*Memory).readOps, readOps.resolve),
	"link":            bindFunc((*Memory).writeOps, writeOps.link),
	"unlink":          bindFunc((*Memory).writeOps, writeOps.unlink),
	"links":           bindFunc((*Memory).readOps, readOps.links),
	"compress":        bindFunc((*Memory).adminOps, adminOps.compress),
	"history":         bindFunc((*Memory).adminOps, adminOps.history),
	"journal":         bindFunc((*Memory).adminOps, adminOps.journal),
	"undo":            bindFunc((*Memory).adminOps, adminOps.undo),
	"conflicts":       bindFunc((*Memory).adminOps, adminOps.conflicts),
	"conflicts_merge": bindFunc((*Memory).adminOps, adminOps.conflictsMerge),
	"share_status":    bindFunc((*Memory).adminOps, adminOps.shareStatus),
	"share_push":      bindFunc((*Memory).adminOps, adminOps.sharePush),
	"compact":         bindFunc((*Memory).adminOps, adminOps.compact),
	"wipe_subject":    bindFunc((*Memory).adminOps, adminOps.wipeSubject),
	"check":           bindFunc((*Memory).adminOps, adminOps.check),
	"sync":            bindFunc((*Memory).adminOps, adminOps.syncOp),
	"rebuild":         bindFunc((*Memory).adminOps, adminOps.rebuild),
	"status":          bindFunc((*Memory).adminOps, adminOps.statusOp),
	"operations":      bindFunc((*Memory).readOps, readOps.operations),
	"events":          bindStream((*Memory).adminOps, adminOps.events),
}

// bindFunc returns the binding of a method of the part of the memory that view returns.
func bindFunc[Ops, Request, Answer any](view func(*Memory) Ops,
	f func(Ops, context.Context, Call, *Request) (*Answer, error)) binding {
	return binding{
		do: func(m *Memory, ctx context.Context, c Call, r any) (any, error) {
			answer, err := f(view(m), ctx, c, r.(*Request))
			if err != nil {
				return nil, redactError(err)
			}
			return redactValue(answer), nil
		},
	}
}

func bindStream[Ops, Request any](view func(*Memory) Ops,
	f func(Ops, context.Context, Call, *Request, func(any) error) error) binding {
	return binding{
		stream: func(m *Memory, ctx context.Context, c Call, r any, send func(any) error) error {
			return redactError(f(view(m), ctx, c, r.(*Request),
				func(part any) error { return send(redactValue(part)) }))
		},
	}
}
