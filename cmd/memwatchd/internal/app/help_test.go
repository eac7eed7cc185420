package app

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rivo/uniseg"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/cli"
)

// TestHelpFits checks that the help of each command fits the terminal and
// contains the same words as without wrapping.
func TestHelpFits(t *testing.T) {
	var wide, narrow bytes.Buffer
	for _, args := range [][]string{{"--help"}, {"context", "--help"}, {"item", "--help"}, {"session", "write", "--help"}} {
		for width, out := range map[int]*bytes.Buffer{0: &wide, 90: &narrow} {
			root := NewRoot(out, out)
			cli.WrapHelp(root, width)
			root.SetArgs(args)
			if err := root.Execute(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got, want := strings.Fields(narrow.String()), strings.Fields(wide.String()); strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("wrapped help is\n%s", &narrow)
	}
	for line := range strings.Lines(narrow.String()) {
		if w := uniseg.StringWidth(strings.TrimRight(line, "\n")); w > 90 && !strings.HasPrefix(line, "  memwatchd ") {
			t.Errorf("a line is %d columns wide: %s", w, line)
		}
	}
}
