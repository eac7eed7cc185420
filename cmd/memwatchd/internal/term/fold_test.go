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
		{"emoji", "👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧👍🏽", "👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧\n  👍🏽"},
		{"long word", "see https://example.org/a-long-path-indeed for it", "see https://\n  example.org/a-long-\n  path-indeed for it"},
		{"one word", "see 0123456789012345678901234567890 there", "see\n  01234567890123456789\n  01234567890 there"},
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

// FuzzFold checks that Fold removes only spaces and that each part fits the
// width.
func FuzzFold(f *testing.F) {
	f.Add("one two three 四五六 seven", 24)
	f.Add("一，二", 2)
	f.Add("    - a  list item with-a-dash and e\u0301 and 👩‍👩‍👧, http://example.org/x?y=z ", 9)
	f.Fuzz(func(t *testing.T, text string, width int) {
		line := EscapeLine(text)
		if width < 2 || width > 200 || widest(line) > width { // no fold can satisfy the limit
			return
		}
		at := 0
		for _, part := range Fold(line, width) {
			if part[0] < at || part[1] < part[0] || strings.Trim(line[at:part[0]], " ") != "" {
				t.Fatalf("%q loses %q", line, line[at:part[0]])
			}
			at = part[1]
			if w := uniseg.StringWidth(line[part[0]:part[1]]); w > width {
				t.Fatalf("%q has a part with %d columns: %q", line, w, line[part[0]:part[1]])
			}
		}
		if rest := line[at:]; strings.Trim(rest, " ") != "" {
			t.Fatalf("%q loses %q at its end", line, rest)
		}
	})
}

// FuzzCut checks that a shortened text fits and contains the mark.
func FuzzCut(f *testing.F) {
	f.Add("a/b/c/第一章/e", 7)
	f.Add("一二三四五六", 4)
	f.Fuzz(func(t *testing.T, text string, width int) {
		s := EscapeLine(text)
		if width < 2 || width > 200 || uniseg.StringWidth(s) <= width {
			return
		}
		for _, cut := range []string{cutMiddle(s, width), CutEnd(s, width), CutPath(s, "/", width)} {
			if uniseg.StringWidth(cut) > width || !strings.Contains(cut, "…") {
				t.Errorf("%q cut to %d columns is %q", s, width, cut)
			}
		}
	})
}

func widest(s string) int {
	widest := 0
	for g := uniseg.NewGraphemes(s); g.Next(); {
		widest = max(widest, g.Width())
	}
	return widest
}

func TestCut(t *testing.T) {
	for _, test := range []struct {
		s     string
		width int
		want  string
	}{
		{"Facts > Work > Projects > Shop", 30, "Facts > Work > Projects > Shop"},
		{"Facts > Work > Projects > Shop", 28, "Facts > … > Projects > Shop"},
		{"Facts > Work > Projects > Shop", 18, "Facts > … > Shop"},
		{"Facts > Work > Projects > Shop", 12, "… > Shop"},
		{"Facts > Work > Projects > Shopping", 7, "Sho…ing"},
		{"长期记忆 > 关键事实 > 项目", 20, "长期记忆 > … > 项目"},
		{"一个很长的标题在这里", 9, "一个…这里"},
		{"one heading that is long", 11, "one h…long"},
	} {
		if got := CutPath(test.s, " > ", test.width); got != test.want {
			t.Errorf("%q cut to %d columns is %q, want %q", test.s, test.width, got, test.want)
		}
	}
}
