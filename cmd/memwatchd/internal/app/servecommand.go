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
		Long: `Watch the memory, and answer questions about it, until SIGINT (Ctrl-C) or SIGTERM ends it. The log goes to the standard error.

It needs no configuration: without one it watches ~/.morph/memory, and waits for that directory if it is not there. SIGHUP has it read its configuration again. To have the system start it: memwatchd service install.`,
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
