package memory

import (
	"strings"
	"testing"
)

func TestCheckText(t *testing.T) {
	for _, bad := range []string{"a <!-- id=b -->", "a -->", "a\n<private>\nb", "a </PRIVATE >", "a <private\n>", "a <private\u00a0>", "[Memory:LongTerm:\nSummary]", "x memwatchd:generated", "[Memory:LongTerm:Summary]\n- a", " Long-term Memory (filtered) ", "a\x00", "\x1b[31m", "\xff", "a\x7f"} {
		if CheckText(bad) == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	for _, good := range []string{"", "a < b", "a\n\tb\r\nc", "<privateer>", "see [Memory: of things] there", "a - b --", "喝茶 😀"} {
		if err := CheckText(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
}

// Whatever comes from outside is one entry, wherever it is put, and nothing in
// it is structure.
func FuzzOutsideText(f *testing.F) {
	for _, s := range append(seeds, "[ ] a", "[ ]\na", "[x]: b", "1. a", "12) ", "---", "= =", "| a |\n| - |", ":-", "a\n- b\n# c", "#", "+", "* * *", "_ _ _", "~~~", "`````", "<div>", "- [ ] x", "\\- a", "a\n\n\n    b", "|-|", "a\n|-|", "a ^b", "^b", "- ^b") {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if CheckText(s) != nil || Line(s) == "" {
			return
		}
		l := testLayout()
		const path = "2026-02-04/a.md"
		for text, block := range map[string]Block{Line(s): Paragraph, ListItem(s): Item} {
			src := "# Tasks\n\nabove\n\n" + text + "\n\nbelow\n"
			d := l.Parse(path, []byte(src), testMeta)
			if len(d.Entries) != 3 || len(d.Headings) != 1 || d.Entries[1].Block != block || d.Unsound {
				t.Fatalf("%q becomes %q", s, src)
			}
			e := &d.Entries[1]
			if len(e.Tasks) > 0 || len(e.Attributes) > 0 || e.Given || e.Partition != d.Entries[0].Partition {
				t.Fatalf("%q is read as %+v", text, e)
			}
			if got, want := len(strings.Split(text, "\n")), e.EndLine-e.Line+1; got != want {
				t.Fatalf("%q has %d lines, and is read as %d", text, got, want)
			}
		}
	})
}
