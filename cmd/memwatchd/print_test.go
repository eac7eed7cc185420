package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/memwatchd/memwatchd/ipc"
)

// Whatever stands in a text, what is printed of it does nothing to a terminal;
// and what does nothing is printed as it is.
func FuzzEscape(f *testing.F) {
	for _, s := range []string{"", "plain", "\x1b[2J", "a\r\nb\tc", "\u202egnp.exe", "会议\u2028", "\xff\xfe", "\x00", "\u0085", "\U000e0041", `\n`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		line, text := escapeLine(s), escapeText(s)
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

// On a terminal, places stand out and what matched is marked; escapes stay
// outside of the marks.
func TestHitsInColour(t *testing.T) {
	var b bytes.Buffer
	p := &printer{w: &b, color: true, location: time.UTC, now: time.Date(2026, 2, 5, 12, 0, 0, 0, time.UTC)}
	err := p.print(&ipc.SearchAnswer{Total: 3, Hits: []ipc.Hit{{
		Path: "a.md", Line: 3, Section: "Facts", Time: time.Date(2026, 2, 5, 9, 0, 0, 0, time.UTC),
		Snippet: "the 会议 was\x07 moved", Highlights: [][2]int{{11, 16}, {4, 6}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	want := "\x1b[1ma.md:3\x1b[0m\x1b[2m  Facts  3h\x1b[0m\n" +
		"    the \x1b[1;33m会议\x1b[0m was\\x07\x1b[1;33m move\x1b[0md\n" +
		"\x1b[2m(1 of 3)\x1b[0m\n"
	if got := b.String(); got != want {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
}

func TestAge(t *testing.T) {
	now := time.Date(2026, 2, 5, 12, 0, 0, 0, time.UTC)
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skipf("no time zones here: %v", err)
	}
	p := &printer{location: berlin, now: now}
	for _, test := range []struct {
		t    time.Time
		want string
	}{
		{time.Time{}, ""},
		{now.Add(time.Hour), "now"},
		{now.Add(-59 * time.Second), "now"},
		{now.Add(-59 * time.Minute), "59m"},
		{now.Add(-47 * time.Hour), "47h"},
		{time.Date(2026, 2, 2, 23, 30, 0, 0, time.UTC), "2026-02-03"},
	} {
		if got := p.age(test.t); got != test.want {
			t.Errorf("age of %v is %q, want %q", test.t, got, test.want)
		}
	}
}

// What was taken away is told from what was put in by a sign and by a colour,
// and nothing of it reaches the terminal but as text.
func TestJournalInColour(t *testing.T) {
	var b bytes.Buffer
	p := &printer{w: &b, color: true, location: time.UTC}
	err := p.print(&ipc.JournalAnswer{Writes: []ipc.Wrote{{
		ID: "0hxj0001", Group: "0hxj0001", Time: time.Date(2026, 2, 5, 9, 0, 0, 0, time.UTC), Path: "a.md", To: "b\x1b.md",
		What: "moved", Cause: "archive", Reason: "old", State: "undone", Truncated: true, Problem: "odd",
		Hunks: []ipc.DiffHunk{{Line: 2, Diff: "@@ -1,3 +1,3 @@\n above\r\n-\x1b[2J\r\n+new\r\n below\n\\ No newline at end of file\n"}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	want := "\x1b[1m0hxj0001\x1b[0m  2026-02-05 09:00:00  archive: old  \x1b[1;31m[undone]\x1b[0m\n" +
		"    a.md -> b\\x1b.md\n" +
		"    b\\x1b.md:2\n" +
		"    \x1b[31m- \\x1b[2J\x1b[0m\n" +
		"    \x1b[32m+ new\x1b[0m\n" +
		"    \x1b[2m\\ No newline at end of file\x1b[0m\n" +
		"    \x1b[2m(more was changed than is shown)\x1b[0m\n" +
		"    \x1b[1;31modd\x1b[0m\n"
	if got := b.String(); got != want {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
}
