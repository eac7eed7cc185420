package cli

import (
	"testing"
)

// TestWrapColumn checks that continuation lines stay in their column and that
// examples are not wrapped.
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
