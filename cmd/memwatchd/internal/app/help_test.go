package app

import (
	"bytes"
	"strings"
	"testing"
)

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
