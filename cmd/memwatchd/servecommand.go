package main

import (
	"os"

	"github.com/spf13/cobra"
)

func newServe(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "serve",
		Short: "Watch the memory, and answer questions about it",
		Long: `Watch the memory, and answer questions about it, until SIGINT (Ctrl-C) or SIGTERM ends it. The log goes to the standard error.

It needs no configuration: without one it watches ~/.morph/memory, and waits for that directory if it is not there. SIGHUP has it read its configuration again. To have the system start it: memwatchd service install.`,
		Example: "  memwatchd serve\n  memwatchd serve --name work --dir ~/work/notes",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := loadConfig(g.config, os.Environ())
			if err != nil {
				return errUsage{err}
			}
			return runDaemon(cmd.Context(), g.config, c, g.stderr)
		},
	}
}
