package memory

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/memwatchd/memwatchd/internal/fakes/golden"
)

func FuzzCleanLine(f *testing.F) {
	for _, s := range append(seeds, "<!-->", "<<private>", "<private \r>", "[Memory:a]\r[Memory:b]", "<!<!-- ---->") {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if err := CheckText(CleanLine(s)); err != nil {
			t.Errorf("%q becomes %q: %v", s, CleanLine(s), err)
		}
	})
}

// TestInvisible checks which writers may write a text, and that a text keeps its visible characters
// or loses exactly the others. Repeated characters are invisible to each other.
func TestInvisible(t *testing.T) {
	golden.Table(t, "invisible", func(t *testing.T, in []string) string {
		text := in[0]
		clean := DropInvisible(text, true)
		if _, found := FirstInvisible(clean, true); found {
			t.Errorf("%+q becomes %+q", text, clean)
		}
		switch {
		case CheckText(text) != nil:
			return "nobody"
		case CheckForeign(text) != nil:
			return "only a private context"
		case clean != strings.ReplaceAll(text, "\r", ""):
			t.Errorf("%+q becomes %+q", text, clean)
		}
		return "everybody"
	})
}

// TestEscapeJSON checks that the result is the same value, without characters
// that harm a terminal.
func TestEscapeJSON(t *testing.T) {
	for _, s := range []string{"", "plain 会议 👩\u200d👧", "\u009b31m", "a\u202eb\u2066", "\u200b\ufeff\u2060", "\U000e0041\U000e007f", "\x7f\x1b", "\u2028", "\\u202e", "\"\t\n"} {
		b, err := json.Marshal(map[string]string{s: s})
		if err != nil {
			t.Fatal(err)
		}
		out := EscapeJSON(b, false)
		var back map[string]string
		if err := json.Unmarshal(out, &back); err != nil || len(back) != 1 || back[s] != s {
			t.Errorf("%q becomes %s, %v", s, out, err)
		}
		if _, found := FirstInvisible(string(out), false); found {
			t.Errorf("%q becomes %q", s, out)
		}
	}
}

func TestSectionName(t *testing.T) {
	golden.Table(t, "sectionnames", func(t *testing.T, in []string) string {
		name := sectionName(in[0])
		if SameSection(in[0], "Tasks") != (name == "tasks") {
			t.Errorf("SameSection(%q, Tasks) differs from %q", in[0], name)
		}
		return name
	})
	for _, pair := range [][2]string{{"1. Alpha", "2. Alpha"}, {"2.1 Release", "2.2 Release"}, {"Tasks", "Done"}} {
		if SameSection(pair[0], pair[1]) {
			t.Errorf("SameSection(%q, %q) = true", pair[0], pair[1])
		}
	}
}
