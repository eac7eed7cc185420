package cli

import (
	"strings"
	"testing"
	"time"
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

func TestAge(t *testing.T) {
	now := time.Date(2026, 2, 5, 12, 0, 0, 0, time.UTC)
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skipf("no time zones here: %v", err)
	}
	for _, test := range []struct {
		t           time.Time
		want, piped string
	}{
		{time.Time{}, "", ""},
		{now.Add(time.Hour), "now", "2026-02-05"},
		{now.Add(-59 * time.Second), "now", "2026-02-05"},
		{now.Add(-59 * time.Minute), "59m", "2026-02-05"},
		{now.Add(-47 * time.Hour), "47h", "2026-02-03"},
		{time.Date(2026, 2, 2, 23, 30, 0, 0, time.UTC), "2d", "2026-02-03"},
		{now.AddDate(0, 0, -59), "59d", "2025-12-08"},
		{now.AddDate(0, 0, -62), "2mo", "2025-12-05"},
		{now.AddDate(-1, -10, 0), "22mo", "2024-04-05"},
		{now.AddDate(-2, 0, -1), "2y", "2024-02-04"},
	} {
		for width, want := range map[int]string{80: test.want, 0: test.piped} {
			p := &Printer{location: berlin, now: now, width: width}
			if got := p.formatAge(test.t); got != want {
				t.Errorf("age of %v, %d columns, is %q, want %q", test.t, width, got, want)
			}
		}
	}
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
