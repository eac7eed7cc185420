package app

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/cli"
)

// TestCommandsExplainThemselves checks that each command documents each of its
// parameters, and that no parameter reuses the name of a global flag.
func TestCommandsExplainThemselves(t *testing.T) {
	root := NewRoot(io.Discard, io.Discard)
	for _, op := range api.Operations {
		for i := range op.Commands {
			way := &op.Commands[i]
			c, _, err := root.Find(strings.Fields(way.Words))
			if err != nil || !c.Runnable() || c.Short == "" {
				t.Errorf("%s: no such command, or nothing is said of it: %v", way.Words, err)
				continue
			}
			for _, p := range op.Params() {
				argument := slices.Contains(cli.Arguments(op, way), p)
				switch {
				case p.Doc == "":
					t.Errorf("%s: %s is not explained", op.Name, p.Name)
				case argument && !strings.Contains(c.Long, "  "+p.Name+" "):
					t.Errorf("%s: the argument %s is not in its help:\n%s", way.Words, p.Name, c.Long)
				case !argument && !p.Scope && way.TakesParam(p) && root.PersistentFlags().Lookup(p.Flag) != nil:
					t.Errorf("%s: --%s means something else; give %s another flag", way.Words, p.Flag, p.Name)
				}
			}
		}
	}
}
