package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/build"
)

func newVersion(g *Globals) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version, the commit and how it was built",
		Args:  NoArgs,
		RunE: func(*cobra.Command, []string) error {
			b := build.ReadInfo()
			if g.JSON {
				_, err := g.Stdout.Write(AsJSON(b))
				return err
			}
			_, err := fmt.Fprint(g.Stdout, b)
			return err
		},
	}
}
