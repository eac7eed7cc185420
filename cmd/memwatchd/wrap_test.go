package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

func TestWrap(t *testing.T) {
	for _, test := range []struct{ name, line, want string }{
		{"short", "fits as it is", "fits as it is"},
		{"words", "one two three four five six seven", "one two three four\n  five six seven"},
		{"wide", "今天我参加了一场音乐会，非常精彩。", "今天我参加了一场音乐\n  会，非常精彩。"},
		{"no comma first", "今天我参加了一场音乐，会", "今天我参加了一场音\n  乐，会"},
		{"long word", "see https://example.org/a-long-path-indeed for it", "see https://\n  example.org/a-long-\n  path-indeed for it"},
		{"styled", "one \x1b[1mtwo three four five\x1b[0m six", "one \x1b[1mtwo three four\n  five\x1b[0m six"},
		{"styled at the end", "\x1b[1mall\x1b[0m", "\x1b[1mall\x1b[0m"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := wrap(test.line, 22, "  "); got != test.want {
				t.Errorf("got\n%q\nwant\n%q", got, test.want)
			}
			if got := wrap(test.line, 0, "  "); got != test.line {
				t.Errorf("without a width %q becomes %q", test.line, got)
			}
		})
	}
}

// Wrapping changes nothing but spaces; and no line is wider than it may be that
// could have been broken.
func FuzzWrap(f *testing.F) {
	f.Add("one two three 四五六 seven", 4, 9)
	f.Add("一，二", 0, 1)
	f.Fuzz(func(t *testing.T, text string, from, to int) {
		text = escapeLine(text)
		line := text
		if from >= 0 && from < to && to < len(text) && utf8.RuneStart(text[from]) && utf8.RuneStart(text[to]) {
			line = text[:from] + "\x1b[1m" + text[from:to] + "\x1b[0m" + text[to:]
		}
		const width, indent = 24, "    "
		got := wrap(line, width, indent)
		bare := strings.NewReplacer(" ", "", "\n", "").Replace
		if bare(got) != bare(line) {
			t.Fatalf("%q becomes %q", line, got)
		}
		for l := range strings.Lines(got) {
			plain := strings.Trim(styleCode.ReplaceAllString(l, ""), " \n")
			_, rest, _, _ := uniseg.FirstLineSegmentInString(plain, -1)
			if rest != "" && uniseg.StringWidth(plain) > width {
				t.Fatalf("a line of %q is too wide: %q", line, plain)
			}
		}
	})
}
