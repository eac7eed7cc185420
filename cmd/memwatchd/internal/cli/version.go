package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/build"
)

func newVersion(g *Globals) *cobra.Command {
	licenses := false
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version, the commit and the build",
		Args:  NoArgs,
		RunE: func(*cobra.Command, []string) error {
			b := build.ReadInfo()
			switch {
			case licenses:
				_, err := io.WriteString(g.Stdout, build.Licenses)
				return err
			case g.JSON:
				_, err := g.Stdout.Write(AsJSON(b))
				return err
			}
			_, err := fmt.Fprint(g.Stdout, b)
			return err
		},
	}
	c.Flags().BoolVar(&licenses, "licenses", false, "print the licenses of the libraries in this program")
	rejectTogether(c, "licenses", "json")
	return AcceptGlobals(c, []string{"json"})
}
