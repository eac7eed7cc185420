// Memwatchd watches a directory of Markdown files that is somebody's memory,
// keeps an index of it fresh, and answers questions about it over a Unix socket
// and on the command line.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/ipc/client"
)

// What a run of the program ends with.
const (
	exitFailed    = 1
	exitUsage     = 2
	exitUnhealthy = 3
	exitNoDaemon  = 4
)

func main() {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		s := <-signals
		signal.Stop(signals) // the first one asks; the second one finds the default behaviour
		cancel(errSignal{s.(syscall.Signal)})
	}()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// errSignal is the signal that has ended a command. The daemon ends well by one,
// and so does not return it; what waits for an answer, or shows events, has not
// come to its end.
type errSignal struct{ syscall.Signal }

func (s errSignal) Error() string { return s.Signal.String() }

// errUsage marks what the person at the keyboard can put right.
type errUsage struct{ error }

// errUnhealthy is a status that was told, and that is not good.
var errUnhealthy = errors.New("unhealthy")

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return execute(ctx, newRoot(stdout, stderr), args, stderr)
}

func execute(ctx context.Context, root *cobra.Command, args []string, stderr io.Writer) int {
	root.SetArgs(args)
	if isCompletion(args) {
		root.SetIn(noInput{})
	}
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	if errors.Is(err, errUnhealthy) {
		return exitUnhealthy
	}
	if s, ok := errors.AsType[errSignal](context.Cause(ctx)); ok {
		return 128 + int(s.Signal) // as shells have it of what a signal has ended
	}
	fmt.Fprintln(stderr, wrap("memwatchd: "+escapeLine(err.Error()), widthOf(stderr), "    "))
	if _, ok := cmd.Annotations[neverFails]; ok {
		return 0
	}
	switch failure, failed := errors.AsType[*api.Error](err); {
	case errors.Is(err, client.ErrNoDaemon):
		return exitNoDaemon
	case isUsage(err), failed && failure.Code == api.Invalid:
		return exitUsage
	}
	return exitFailed
}

func isUsage(err error) bool {
	_, ok := errors.AsType[errUsage](err)
	return ok
}

// globals are the flags that every command has.
type globals struct {
	config  configFlags
	socket  string
	subject string
	context string
	json    bool
	noColor bool
	verbose bool // only of status

	stdout, stderr io.Writer

	newRoot func(stdout, stderr io.Writer) *cobra.Command // makes all commands
}

func newRoot(stdout, stderr io.Writer) *cobra.Command {
	g := &globals{stdout: stdout, stderr: stderr, newRoot: newRoot}
	root := &cobra.Command{
		Use:           "memwatchd",
		Short:         "A memory of Markdown files, watched, indexed and searchable",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return cmd.Help()
		},
	}
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SetFlagErrorFunc(flagError)
	root.Version = version()
	root.SetVersionTemplate(thisBuild().String())
	root.CompletionOptions.DisableDefaultCmd = true
	wrapHelp(root, widthOf(stdout))

	f := root.PersistentFlags()
	f.StringVar(&g.config.file, "config", "", "configuration file")
	f.StringVar(&g.config.name, "name", "", "name of the memory, when there are several")
	f.StringVar(&g.config.dir, "dir", "", "memory directory")
	f.StringVar(&g.socket, "socket", "", "socket of the daemon")
	f.StringVar(&g.subject, "subject", "", "ask as this subject (the owner if not given)")
	f.StringVar(&g.context, "context", "", "where the answer will be shown: private (if not given), public or unknown")
	f.BoolVar(&g.json, "json", false, "print the answer as it came over the wire")
	f.BoolVar(&g.noColor, "no-color", false, "print without colours")
	completeGlobals(root, g)

	root.AddGroup(&cobra.Group{ID: "daemon", Title: "The daemon:"}, &cobra.Group{ID: "agents", Title: "Connect agents:"}, &cobra.Group{ID: "ask", Title: "Ask it:"},
		&cobra.Group{ID: "shell", Title: "At the command line:"})
	for _, c := range []*cobra.Command{newServe(g), newInit(g), newConfig(g), newService(g), newDoctor(g), newVersion(g)} {
		c.GroupID = "daemon"
		root.AddCommand(c)
	}
	root.AddCommand(newMCP(g), newHook(g), newCompletion(g), newMan(g), newBash(g))
	root.SetHelpCommand(newHelp())
	root.SetHelpCommandGroupID("shell")
	addOperations(root, g)
	return root
}

func newConfig(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "config",
		Short: "Print the configuration in effect",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			c, err := loadConfig(g.config, os.Environ())
			if err != nil {
				return errUsage{err}
			}
			text, err := printConfig(c, effectiveHeader(c))
			if err != nil {
				return err
			}
			_, err = io.WriteString(g.stdout, text)
			return err
		},
	}
}

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return errUsage{fmt.Errorf("%s takes no arguments, and %q is one", cmd.CommandPath(), args[0])}
	}
	return nil
}
