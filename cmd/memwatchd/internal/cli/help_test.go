package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
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

// TestShortHelpWidth checks that summaries are beside the examples if they fit, else below.
func TestShortHelpWidth(t *testing.T) {
	for width, want := range map[int]string{
		0:  "  memwatchd recent   List the newest entries\n",
		44: "  memwatchd recent   List the newest entries\n",
		43: "  memwatchd recent\n      List the newest entries\n",
	} {
		root := &cobra.Command{Use: "memwatchd", Short: "A memory"}
		root.AddCommand(&cobra.Command{Use: "recent", Short: "List the newest entries", Run: func(*cobra.Command, []string) {}})
		addShortHelp(root, new(bool), width)
		var out strings.Builder
		root.SetOut(&out)
		if err := root.Help(); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("width %d: %v\n%s", width, err, &out)
		}
	}
}
