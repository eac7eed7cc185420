package term

import "testing"

func TestEscape(t *testing.T) {
	for in, want := range map[string][2]string{ // a name, a text
		"a\u00adb":     {`a\u00adb`, "a\u00adb"},
		"a\u3164.md":   {`a\u3164.md`, "a\u3164.md"},
		"\u115f\u1160": {`\u115f\u1160`, "\u115f\u1160"},
		"\uffa0":       {`\uffa0`, "\uffa0"},
		"\u2800":       {`\u2800`, "\u2800"},
		"\u180e":       {`\u180e`, `\u180e`},
		"\U000e0041":   {`\U000e0041`, `\U000e0041`},
		"a\u200bb":     {`a\u200bb`, `a\u200bb`},
		"a\nb":         {`a\nb`, "a\nb"},
		"ก\u200bข":     {"ก\u200bข", "ก\u200bข"},
		"a\xff":        {`a\xff`, `a\xff`},
		"👩\u200d💻 é":   {"👩\u200d💻 é", "👩\u200d💻 é"},
	} {
		if got := [2]string{EscapeName(in), EscapeText(in)}; got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
