// Package app combines the commands of the other packages into the program.
package app

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/cli"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/console"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/doctor"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/hook"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/service"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/setup"
	"github.com/memwatchd/memwatchd/internal/ops"
	"github.com/memwatchd/memwatchd/vault"
)

// Main runs the program with the arguments of the process and exits with its
// status.
func Main() {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		s := <-signals
		signal.Stop(signals) // a second signal has its default effect
		cancel(cli.ErrSignal{Signal: s.(syscall.Signal)})
	}()
	os.Exit(Run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// Run runs the program with args and returns its exit status. If stdin is nil, it is the
// standard input of the process.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot(stdout, stderr, args)
	root.SetIn(stdin)
	return cli.Execute(ctx, root, args, stderr)
}

// NewRoot returns the root command with all subcommands.
func NewRoot(stdout, stderr io.Writer) *cobra.Command { return newRoot(stdout, stderr, nil) }

// newRoot returns the root command with the subcommands that the command line may
// name.
func newRoot(stdout, stderr io.Writer, args []string) *cobra.Command {
	g := &cli.Globals{Stdout: stdout, Stderr: stderr, Args: args, NewRoot: NewRoot, OpenRoot: openRoot, Diff: ops.Diff,
		Start: service.Start, Waiting: hook.Waiting}
	others := []*cobra.Command{setup.NewSetup(g), setup.NewUninstall(g), newServe(g), setup.NewInit(g),
		service.NewCommand(g), service.NewStop(g),
		service.NewRestart(g), service.NewLogs(g), doctor.NewCommand(g)}
	for _, c := range others {
		c.GroupID = "daemon"
	}
	others = append(others, console.NewCommand(g), newMCP(g), hook.NewCommand(g), newMerge())
	root := cli.NewRoot(g, others...)
	cli.RejectGlobals(root)
	return root
}

// openRoot looks up files through the vault, which does not block on a dead
// disk.
func openRoot(c *config.Config) *cli.Root {
	root := &cli.Root{Dir: c.Memory.Dir, Folders: c.Folders()}
	root.Has = func(path string) (exists, known bool) {
		dir, below := root.Locate(path)
		v := &vault.Vault{Dir: dir}
		if _, dir := v.Directory(below); dir {
			return true, true
		}
		_, err := v.Stat(below)
		if errors.Is(err, vault.ErrRoot) {
			return false, false
		}
		return !errors.Is(err, fs.ErrNotExist), true
	}
	return root
}
