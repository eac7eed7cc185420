package term

import (
	"strings"
	"testing"
)

func TestShowProgress(t *testing.T) {
	var b strings.Builder
	calls := 0
	ShowProgress(t.Context(), &b, func() (done, total int, more bool) {
		calls++
		return 1000, 3000, calls == 1
	})
	if want := clearLine + "indexing [==========                    ] 1000/3000" + clearLine; b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}
