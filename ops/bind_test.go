package ops

import (
	"reflect"
	"testing"

	"github.com/memwatchd/memwatchd/api"
)

// TestBindings checks that every operation of the table is bound to a function
// of its types, and that no binding is left over.
func TestBindings(t *testing.T) {
	bindings := new(Memory).bindAll()
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
