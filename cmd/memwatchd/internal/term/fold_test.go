package term

import (
	"strings"
	"testing"

	"github.com/rivo/uniseg"
)

func TestWrap(t *testing.T) {
	for _, test := range []struct{ name, line, want string }{
		{"nothing", "", ""},
		{"short", "fits as it is", "fits as it is"},
		{"words", "one two three four five six seven", "one two three four\n  five six seven"},
		{"wide", "今天我参加了一场音乐会，非常精彩。", "今天我参加了一场音乐\n  会，非常精彩。"},
		{"no comma first", "今天我参加了一场音乐，会", "今天我参加了一场音\n  乐，会"},
		{"accents", "e\u0301e\u0301e\u0301e\u0301e\u0301 e\u0301e\u0301e\u0301e\u0301e\u0301 e\u0301e\u0301e\u0301e\u0301e\u0301 x", "e\u0301e\u0301e\u0301e\u0301e\u0301 e\u0301e\u0301e\u0301e\u0301e\u0301 e\u0301e\u0301e\u0301e\u0301e\u0301 x"},
		{"address", "see https://example.org/a-long-path-indeed for it", "see\n  https://example.org/a-long-path-indeed\n  for it"},
		{"options", "run a-program --with/a-path --x", "run a-program\n  --with/a-path --x"},
		{"mixed", "我用 Go 写的工具 memwatchd很快", "我用 Go 写的工具\n  memwatchd很快"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := Wrap(test.line, 22, "  "); got != test.want {
				t.Errorf("got\n%q\nwant\n%q", got, test.want)
			}
			if got := Wrap(test.line, 0, "  "); got != test.line {
				t.Errorf("without a width %q becomes %q", test.line, got)
			}
		})
	}
}

// FuzzFold checks that Fold removes only spaces and that each part that contains a space
// fits the width.
func FuzzFold(f *testing.F) {
	f.Add("one two three 四五六 seven", 24)
	f.Add("一，二", 2)
	f.Add("    - a  list item with-a-dash and e\u0301 and 👩‍👩‍👧, http://example.org/x?y=z ", 9)
	f.Fuzz(func(t *testing.T, text string, width int) {
		line := EscapeLine(text)
		if width < 2 || width > 200 {
			return
		}
		at := 0
		for _, part := range Fold(line, 0, width) {
			if part[0] < at || part[1] < part[0] || strings.Trim(line[at:part[0]], " ") != "" {
				t.Fatalf("%q loses %q", line, line[at:part[0]])
			}
			at = part[1]
			shown := strings.TrimLeft(line[part[0]:part[1]], " ")
			if w := uniseg.StringWidth(shown); w > width && strings.Contains(shown, " ") && part[0] > 0 {
				t.Fatalf("%q has a part with %d columns: %q", line, w, shown)
			}
		}
		if rest := line[at:]; strings.Trim(rest, " ") != "" {
			t.Fatalf("%q loses %q at its end", line, rest)
		}
	})
}
