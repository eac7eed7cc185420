package memory

import (
	"strings"
	"testing"

	"github.com/memwatchd/memwatchd/internal/fakes/golden"
	"github.com/memwatchd/memwatchd/internal/letters"
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
		clean := letters.DropInvisible(text, true)
		if _, found := letters.FirstInvisible(clean, true); found {
			t.Errorf("%+q becomes %+q", text, clean)
		}
		_, foreign := letters.FirstInvisible(strings.ReplaceAll(text, "\r", "\n"), true)
		switch {
		case CheckText(text) != nil:
			return "nobody"
		case foreign:
			return "only a private context"
		case clean != strings.ReplaceAll(text, "\r", ""):
			t.Errorf("%+q becomes %+q", text, clean)
		}
		return "everybody"
	})
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
