package cli

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
)

// FuzzEscape checks that printed text has no effect on a terminal, and that
// harmless text is printed unchanged.
func FuzzEscape(f *testing.F) {
	for _, s := range []string{"", "plain", "\x1b[2J", "a\r\nb\tc", "\u202egnp.exe", "会议\u2028", "\xff\xfe", "\x00", "\u0085", "\U000e0041", `\n`, "a\u200bb", "ក\u200bក", "\u2060", "👩\u200d👧"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		line, text := term.EscapeLine(s), term.EscapeText(s)
		for _, out := range []string{line, text} {
			if !utf8.ValidString(out) {
				t.Fatalf("%q becomes %q, which is not UTF-8", s, out)
			}
			for _, r := range out {
				if unicode.IsControl(r) && !(out == text && (r == '\n' || r == '\t')) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' {
					t.Fatalf("%q becomes %q, with %U in it", s, out, r)
				}
			}
		}
		if strings.Contains(line, "\n") {
			t.Fatalf("%q becomes %q, which is more than a line", s, line)
		}
		printable := func(r rune) bool { return unicode.IsPrint(r) }
		if utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !printable(r) }) < 0 && line != s {
			t.Fatalf("%q becomes %q without need", s, line)
		}
	})
}

// TestColorIsWanted checks that colors are used on terminals that support them,
// unless a flag or a variable overrides that.
func TestColorIsWanted(t *testing.T) {
	for _, test := range []struct {
		name              string
		env               map[string]string
		noColor           bool
		terminal, without bool // expected on a terminal and on a pipe
	}{
		{"usual", map[string]string{"TERM": "xterm"}, false, true, false},
		{"dumb", map[string]string{"TERM": "dumb"}, false, false, false},
		{"unknown", map[string]string{"TERM": ""}, false, false, false},
		{"NO_COLOR", map[string]string{"TERM": "xterm", "NO_COLOR": "0", "FORCE_COLOR": "1"}, false, false, false},
		{"flag", map[string]string{"TERM": "xterm", "FORCE_COLOR": "1"}, true, false, false},
		{"CLICOLOR", map[string]string{"TERM": "xterm", "CLICOLOR": "0"}, false, false, false},
		{"CLICOLOR_FORCE", map[string]string{"TERM": "dumb", "CLICOLOR_FORCE": "1"}, false, true, true},
		{"FORCE_COLOR", map[string]string{"TERM": "xterm", "FORCE_COLOR": "3"}, false, true, true},
		{"forced off", map[string]string{"TERM": "xterm", "FORCE_COLOR": "0", "CLICOLOR_FORCE": "0"}, false, true, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, name := range []string{"TERM", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "FORCE_COLOR"} {
				t.Setenv(name, test.env[name])
			}
			if got := term.WantsColor(true, test.noColor); got != test.terminal {
				t.Errorf("on a terminal: %v", got)
			}
			if got := term.WantsColor(false, test.noColor); got != test.without {
				t.Errorf("to a pipe: %v", got)
			}
		})
	}
}
