package term

import (
	"bytes"
	"context"
	"testing"
)

// TestFollow checks that the bar stays on one line and is cleared at the end,
// and that short runs show no bar.
func TestFollow(t *testing.T) {
	for _, test := range []struct {
		name  string
		steps [][2]int
		want  string
	}{
		{"long", [][2]int{{0, 4000}, {1990, 4000}, {4000, 4000}},
			"\r\x1b[Kindexing [                              ] 0/4000" +
				"\r\x1b[Kindexing [==============                ] 1990/4000" +
				"\r\x1b[Kindexing [==============================] 4000/4000\r\x1b[K"},
		{"short", [][2]int{{0, 9}, {9, 9}}, ""},
		{"none", nil, ""},
		{"fewer than it began with", [][2]int{{3000, 1000}}, "\r\x1b[Kindexing [==============================] 3000/1000\r\x1b[K"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var b bytes.Buffer
			i := -1
			ShowProgress(t.Context(), &b, func() (int, int, bool) {
				i++
				if i == len(test.steps) {
					return 0, 0, false
				}
				return test.steps[i][0], test.steps[i][1], true
			})
			if got := b.String(); got != test.want {
				t.Errorf("got\n%q\nwant\n%q", got, test.want)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	var b bytes.Buffer
	ShowProgress(ctx, &b, func() (int, int, bool) { cancel(); return 1, 5000, true })
	if got, want := b.String(), clearLine+formatBar(1, 5000)+clearLine; got != want {
		t.Errorf("when the answer has come, got\n%q\nwant\n%q", got, want)
	}
}
