package ops

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/memwatchd/memwatchd/api"
)

// TestBindings checks that every operation of the table is bound to a function
// of its types, and that no binding is left over.
func TestBindings(t *testing.T) {
	for _, op := range api.Operations {
		b, ok := bindings[op.Name]
		switch {
		case !ok:
			t.Errorf("%s is not bound to a function", op.Name)
		case reflect.PointerTo(b.request) != reflect.TypeOf(op.NewRequest().Value()), reflect.PointerTo(b.answer) != reflect.TypeOf(op.NewAnswer()):
			t.Errorf("%s has other types than its function, which has %v and %v", op.Name, b.request, b.answer)
		case (b.stream != nil) != op.Stream:
			t.Errorf("%s: Stream is %t, and its function disagrees", op.Name, op.Stream)
		}
	}
	if len(bindings) != len(api.Operations) {
		t.Errorf("%d functions are bound for %d operations", len(bindings), len(api.Operations))
	}
}

// TestStopping checks that a request that ends because the daemon stops reports that.
func TestStopping(t *testing.T) {
	m := readOpsCase(t, &txtar.Archive{}).disk(t).memory
	stops := api.Errorf(api.Unavailable, "the daemon stops")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stops)
	op := lookUp(t, "note")
	if _, err := (&opsRequest{op: op, request: []byte(`{"text": "tea"}`)}).direct(ctx, m); !errors.Is(err, stops) {
		t.Errorf("a note is answered with %v", err)
	}
}
