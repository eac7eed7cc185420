package app

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/cli"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/daemon"
)

func newServe(g *cli.Globals) *cobra.Command {
	return cli.AcceptGlobals(&cobra.Command{
		Use:   "serve",
		Short: "Run the daemon: watch the memory and answer requests",
		Long: `Watch the memory and answer requests until SIGINT (Ctrl-C) or SIGTERM. The log goes to standard error.

The daemon needs no configuration file: by default it watches ~/.morph/memory. It waits for a configured directory that is missing, but --dir must name an existing one. With --socket, it listens there instead of on its own socket. SIGHUP reloads the configuration. To run the daemon as a service, use memwatchd service install.`,
		Example: "  memwatchd serve\n  memwatchd serve --name work --dir ~/work/notes",
		Args:    cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			flags := g.Config
			flags.Listen = g.Socket
			c, err := config.Load(flags, os.Environ())
			if err != nil {
				return cli.UsageError{Err: err}
			}
			if err := checkTyped(flags, c); err != nil {
				return err
			}
			syscall.Umask(0o077) // libraries create files too
			return daemon.Run(cmd.Context(), flags, c, g.Stderr)
		},
	}, cli.DaemonFlags)
}

// checkTyped returns an error if the directory of --dir is missing, which is
// probably misspelled. A service manager starts the daemon perhaps before the
// directory is mounted.
func checkTyped(flags config.Flags, c *config.Config) error {
	if flags.Dir == "" || os.Getenv("NOTIFY_SOCKET") != "" {
		return nil
	}
	info, err := os.Stat(c.Memory.Dir)
	if err == nil && !info.IsDir() {
		return cli.Usagef("%s is not a directory: correct --dir", c.Memory.Dir)
	}
	if errors.Is(err, fs.ErrNotExist) {
		flags.Listen = ""
		return cli.Usagef("the memory directory %s does not exist: correct --dir, or create it with `%s`",
			c.Memory.Dir, flags.Command("init"))
	}
	return nil
}
