package app

import (
	"os"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/cli"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/daemon"
)

func newServe(g *cli.Globals) *cobra.Command {
	return &cobra.Command{
		Use:   "serve",
		Short: "Run the daemon: watch the memory and answer requests",
		Long: `Watch the memory and answer requests until SIGINT (Ctrl-C) or SIGTERM. The log goes to standard error.

The daemon needs no configuration file: by default it watches ~/.morph/memory, and waits for that directory if it is missing. SIGHUP reloads the configuration. To run the daemon as a service, use memwatchd service install.`,
		Example: "  memwatchd serve\n  memwatchd serve --name work --dir ~/work/notes",
		Args:    cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := config.Load(g.Config, os.Environ())
			if err != nil {
				return cli.UsageError{Err: err}
			}
			syscall.Umask(0o077) // libraries create files too
			return daemon.Run(cmd.Context(), g.Config, c, g.Stderr)
		},
	}
}
