package api

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestSizes checks the bound of every text parameter of every operation, and
// that no error repeats a long text.
func TestSizes(t *testing.T) {
	unbounded := []string{"context.query", "edit.old_text", "edit.new_text", "write.text", "note.text", "capture.bullets",
		"capture.text", "remember.text", "profile.text", "project.text", "todo.text", "todo_add.text", "item_put.value",
		"import.records"}
	for _, op := range Operations {
		for _, p := range op.Params() {
			if p.Kind() != "string" && p.Kind() != "strings" {
				continue
			}
			size, want := 900_000, slices.Contains(unbounded, op.Name+"."+p.Name)
			if p.Size > 0 {
				size = p.Size + 1
			}
			req := op.NewRequest()
			if err := req.Set(p, strings.Repeat("x", size)); err != nil {
				t.Fatal(err)
			}
			err := req.Check()
			if tooLong := err != nil && strings.HasPrefix(err.Error(), fmt.Sprintf("%s: %d bytes", p.Name, size)); tooLong == want {
				t.Errorf("%s: a %s of %d bytes: %v", op.Name, p.Name, size, err)
			}
			if err != nil && utf8.RuneCountInString(err.Error()) > 3*maxEcho {
				t.Errorf("%s: %s: error of %d bytes", op.Name, p.Name, len(err.Error()))
			}
		}
	}
	long := strings.Repeat("ü", 5000)
	for _, err := range []error{
		Errorf(NotFound, "file %q not found", long),
		Errorf(NotFound, "not found").WithHint("did you mean %q?", long),
		decodeError(t, `{"`+long+`": 1}`),
	} {
		if n := utf8.RuneCountInString(err.Error()); n < maxEcho || n > 2*maxEcho {
			t.Errorf("error of %d characters", n)
		}
	}
}

func decodeError(t *testing.T, body string) error {
	t.Helper()
	op, err := LookUp("search")
	if err != nil {
		t.Fatal(err)
	}
	return op.NewRequest().Decode([]byte(body))
}
