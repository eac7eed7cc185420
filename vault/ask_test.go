package vault

import (
	"errors"
	"testing"
	"time"
)

// TestMistakesInAChange checks that a faulty change fails without side effects.
func TestMistakesInAChange(t *testing.T) {
	before := map[string]string{"a.md": "- [ ] one\n"}
	w := newWriter(t, before)
	panics := func(*File) ([]byte, error) { panic("mistake") }
	for name, test := range map[string]struct {
		do   func() error
		want error
	}{
		"change panics": {func() error {
			_, err := w.Write(t.Context(), Change{Path: "a.md", Requested: true, Edit: panics})
			return err
		}, errPanic},
		"making panics": {func() error {
			_, err := w.Write(t.Context(), Change{Path: "b.md", Requested: true, Edit: panics})
			return err
		}, errPanic},
		"move panics": {func() error {
			_, err := w.Move(t.Context(), "a.md", "c.md", Change{Requested: true, Edit: panics})
			return err
		}, errPanic},
		"change in place": {func() error {
			_, err := w.Write(t.Context(), Change{Path: "a.md", Requested: true, Edit: func(f *File) ([]byte, error) {
				f.Data[3] = 'x'
				return []byte("other\n"), nil
			}})
			return err
		}, errInputModified},
	} {
		if err := test.do(); !errors.Is(err, test.want) {
			t.Errorf("%s: got %v, want %v", name, err, test.want)
		}
	}
	wantFiles(t, w, before)
	if list := w.Journal.List(time.Time{}, "", 0); len(list)+len(w.Journal.Pending()) > 0 {
		t.Errorf("in the journal: %+v", list)
	}
	if _, err := w.Write(t.Context(), newChange("a.md", "[ ]", "[x]")); err != nil {
		t.Error(err)
	}
}
