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
	for _, args := range [][]string{{"--help"}, {"help", "--all"}, {"context", "--help"}, {"item", "--help"}, {"session", "write", "--help"}} {
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

// TestShortHelp checks that the help of the program alone consists of commands
// with arguments that they accept.
func TestShortHelp(t *testing.T) {
	var out bytes.Buffer
	if status := Run(t.Context(), nil, nil, &out, &out); status != 0 {
		t.Fatalf("status %d: %s", status, &out)
	}
	examples := 0
	for line := range strings.Lines(out.String()) {
		example, summary, ok := strings.Cut(strings.TrimPrefix(line, "  memwatchd "), "   ")
		if !ok || !strings.HasPrefix(line, "  ") {
			continue
		}
		examples++
		c, args, err := NewRoot(&out, &out).Find(strings.Fields(example))
		if err == nil {
			err = c.ParseFlags(args)
		}
		if err == nil && c.Args != nil {
			err = c.Args(c, c.Flags().Args())
		}
		if err != nil || !strings.Contains(summary, c.Short) {
			t.Errorf("%q: command %q, %v", line, c.CommandPath(), err)
		}
	}
	if examples != 8 {
		t.Errorf("%d examples:\n%s", examples, &out)
	}
}
