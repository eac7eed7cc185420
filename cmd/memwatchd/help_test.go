package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rivo/uniseg"
)

// What is broken in help stands in its column; examples are not broken.
func TestWrapColumn(t *testing.T) {
	for line, want := range map[string]string{
		"  -h, --help   help for a command":          "  -h, --help   help for a\n               command",
		"      --x int  as many as are configured":   "      --x int  as many as are\n               configured",
		"Find entries by their words, or not":        "Find entries by their words, or\nnot",
		"  memwatchd search words that are too many": "  memwatchd search words that are too many",
		"short": "short",
	} {
		if got := wrapColumn(line, 31); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
}

// The help of every command fits the terminal, and says what it says in a file.
func TestHelpFits(t *testing.T) {
	var wide, narrow bytes.Buffer
	for _, args := range [][]string{{"--help"}, {"context", "--help"}, {"item", "--help"}, {"session", "write", "--help"}} {
		for width, out := range map[int]*bytes.Buffer{0: &wide, 90: &narrow} {
			root := newRoot(out, out)
			wrapHelp(root, width)
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
