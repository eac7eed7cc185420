package service

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/cli"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
	"github.com/memwatchd/memwatchd/ipc/client"
)

// NewStop returns the command stop.
func NewStop(g *cli.Globals) *cobra.Command {
	return cli.AcceptGlobals(&cobra.Command{
		Use:   "stop",
		Short: "Stop the daemon",
		Long: "Stop the daemon and wait until it has ended. Requests that it has begun are finished first. " +
			"The next command starts a daemon again.",
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return Stop(cmd, g) },
	}, cli.DaemonFlags)
}

// Stop ends the daemon that g selects, and waits until it has ended.
func Stop(cmd *cobra.Command, g *cli.Globals) error {
	c, dc, err := g.ConnectRunning(cmd)
	if err != nil {
		return err
	}
	return stop(cmd.Context(), g, c, dc)
}

// NewRestart returns the command restart.
func NewRestart(g *cli.Globals) *cobra.Command {
	return cli.AcceptGlobals(&cobra.Command{
		Use:   "restart",
		Short: "Stop the daemon and start it in the background or as its service",
		Args:  cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, dc, err := g.Connect(cmd)
			if err != nil {
				return err
			}
			if u := unitOf(c.Name); u.isInstalled() {
				setRuntimeDir()
				return u.run(cmd.Context(), g, [][]string{u.restart})
			}
			if err := stop(cmd.Context(), g, c, dc); err != nil &&
				(!errors.Is(err, client.ErrNoDaemon) || !c.NamesDir) {
				return err
			}
			if !c.NamesDir {
				g.Config.Dir = c.Memory.Dir // a flag of the stopped daemon may have named it
			}
			return Start(cmd.Context(), g, c)
		},
	}, cli.MemoryFlags)
}

// stop ends the daemon that answers the client.
func stop(ctx context.Context, g *cli.Globals, c *config.Config, dc *client.Client) error {
	status, err := client.Call(ctx, dc, api.StatusRequest{})
	switch {
	case errors.Is(err, client.ErrNoDaemon) && !answers(dc.Socket):
		return fmt.Errorf("%w on %s: nothing to stop", client.ErrNoDaemon, dc.Socket)
	case err != nil:
		return err
	}
	if status.Status == nil || status.PID <= 0 {
		return fmt.Errorf("the daemon on %s does not name its process: stop it where it was started", dc.Socket)
	}
	if u := unitOf(c.Name); u.isInstalled() {
		return fmt.Errorf("a service runs the daemon: use `%s`", term.ShellLine(u.halt...))
	}
	switch is, err := dc.IsServer(ctx, status.PID); {
	case err != nil:
		return err
	case !is:
		return fmt.Errorf("the daemon on %s is not process %d of this system, as in a container: "+
			"stop it where it was started", dc.Socket, status.PID)
	}
	if err := syscall.Kill(status.PID, syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop process %d: %w", status.PID, err)
	}
	ctx, cancel := context.WithTimeout(ctx, stopLimit)
	defer cancel()
	for !hasEnded(status.PID) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("process %d has not ended yet: %w", status.PID, context.Cause(ctx))
		case <-time.After(5 * time.Millisecond):
		}
	}
	_, err = fmt.Fprintf(g.Stdout, "Stopped the daemon of %s.\n", term.EscapeLine(c.Memory.Dir))
	return err
}

// hasEnded reports whether a process has ended, even if its parent has not waited
// for it.
func hasEnded(pid int) bool {
	return syscall.Kill(pid, 0) != nil || cli.ProcessState(pid) == "Z"
}

// NewLogs returns the command logs.
func NewLogs(g *cli.Globals) *cobra.Command {
	var follow bool
	c := &cobra.Command{
		Use:   "logs",
		Short: "Show the log of the daemon",
		Long: "Show the last 50 lines of the log of a daemon that runs in the background. If a service runs the daemon, " +
			"show its log by journalctl.",
		Example: "  memwatchd logs -f",
		Args:    cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := config.Load(g.Config, os.Environ())
			if err != nil {
				return cli.UsageError{Err: err}
			}
			if c.OtherDir != "" {
				return cli.UsageError{Err: c.ErrOtherDir()}
			}
			program, args, followFlag := "tail", []string{logPath(c)}, "-F" // also the log that replaces this one
			if u := unitOf(c.Name); u.isInstalled() && system == "linux" {
				program, args, followFlag = "journalctl", []string{"--user", "--unit", u.name}, "--follow"
			} else if config.ExistingPath(logPath(c)) == "" {
				return fmt.Errorf("there is no log %s: no daemon was started in the background "+
					"(memwatchd serve in a terminal logs there)", logPath(c))
			}
			args = append([]string{"-n", "50"}, args...)
			if follow {
				args = append([]string{followFlag}, args...)
			}
			log := exec.CommandContext(cmd.Context(), program, args...)
			log.Stdout, log.Stderr = g.Stdout, g.Stderr
			if err := log.Run(); cmd.Context().Err() == nil {
				return err
			}
			return context.Cause(cmd.Context())
		},
	}
	c.Flags().BoolVarP(&follow, "follow", "f", false, "wait for more, until Ctrl-C")
	return cli.AcceptGlobals(c, cli.MemoryFlags)
}
