// Package cli implements the commands of the program that call a daemon: they
// are generated from the table of operations in package api.
//
// NewRoot returns the root command, to which other packages add their commands,
// and Execute runs it. A Globals contains the global flags; its method Connect
// returns a client of the daemon. A Printer prints answers as text. The package
// also generates help and shell completion.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/build"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
	"github.com/memwatchd/memwatchd/ipc/client"
)

// NeverFails is the annotation of commands that exit with status 0 even after a
// usage error.
const NeverFails = "never fails"

// Exit statuses of the program.
const (
	ExitNothing   = 1
	ExitUsage     = 2
	ExitUnhealthy = 3
	ExitNoDaemon  = 4
	ExitFailed    = 5
)

// ExitStatuses describes the exit statuses, for the manual.
var ExitStatuses = []struct {
	Code int
	Text string
}{
	{0, "The command succeeded."},
	{ExitNothing, "Nothing was found, by a command that searches or lists."},
	{ExitUsage, "The command line or the configuration is invalid."},
	{ExitUnhealthy, "The answer reports a problem."},
	{ExitNoDaemon, "No daemon answers."},
	{ExitFailed, "The command failed."},
}

// An ErrSignal is the signal that interrupted a command before its end, such as
// one that waits for an answer or shows events. The daemon ends normally after
// a signal and therefore does not return an ErrSignal.
type ErrSignal struct{ syscall.Signal }

// Error returns the name of the signal.
func (s ErrSignal) Error() string { return s.Signal.String() }

// A UsageError is an error that the user can correct, in the command line or
// the configuration.
type UsageError struct{ Err error }

// Usagef returns a [UsageError] with a formatted message.
func Usagef(format string, args ...any) error { return UsageError{Err: fmt.Errorf(format, args...)} }

// Error returns the message of the wrapped error.
func (e UsageError) Error() string { return e.Err.Error() }

// Unwrap returns the wrapped error.
func (e UsageError) Unwrap() error { return e.Err }

// ErrUnhealthy reports that the status, which was already shown, is not
// healthy.
var ErrUnhealthy = errors.New("unhealthy")

// ErrNothing reports that the answer, which was already shown, lists nothing.
var ErrNothing = errors.New("nothing found")

// Execute runs the command that args select and returns the exit status.
func Execute(ctx context.Context, root *cobra.Command, args []string, stderr io.Writer) int {
	root.SetArgs(args)
	if isCompletion(args) {
		root.SetIn(noInput{})
	}
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	if errors.Is(err, ErrUnhealthy) {
		return ExitUnhealthy
	}
	if errors.Is(err, ErrNothing) {
		return ExitNothing
	}
	if s, ok := errors.AsType[ErrSignal](context.Cause(ctx)); ok {
		return 128 + int(s.Signal) // as in shells
	}
	asJSON := wantsJSON(root, args)
	err = explainError(cmd, err, asJSON)
	if asJSON {
		stderr.Write(AsJSON(api.Failure{Error: failureOf(err)}))
	} else {
		fmt.Fprintln(stderr, "memwatchd: "+term.EscapeLine(err.Error()))
	}
	if neverFails(root, args) {
		return 0
	}
	_, usage := errors.AsType[UsageError](err)
	switch failure, failed := errors.AsType[*api.Error](err); {
	case errors.Is(err, client.ErrNoDaemon):
		return ExitNoDaemon
	case usage, failed && (failure.Code == api.Invalid || failure.Code == api.Misdirected):
		return ExitUsage
	}
	return ExitFailed
}

// neverFails reports whether a command line is that of a command that never fails. The
// command that cobra finds may be another: it omits the word after an unknown flag.
func neverFails(root *cobra.Command, args []string) bool {
	words, _ := skipGlobals(root, args)
	c, _, err := root.Find(words)
	_, ok := c.Annotations[NeverFails]
	return ok && err == nil
}

// explainError returns an error of the daemon in the terms of the command line: with
// flags in place of parameters, and with a way to reach the memory of --dir. As JSON,
// the commands of hints are those of the daemon.
func explainError(cmd *cobra.Command, err error, asJSON bool) error {
	failure, ok := errors.AsType[*api.Error](err)
	if !ok || failure.Error() != err.Error() {
		return err
	}
	e := *failure
	if e.Code == api.Misdirected {
		e.Hint = cmp.Or(hintOtherDir(cmd), e.Hint)
	}
	if param, rest, ok := strings.Cut(e.Message, ": "); ok {
		e.Message = cmp.Or(flagOf(cmd, param), param) + ": " + rest
	}
	e = *e.Rename(func(name string) string { return nameOnCommandLine(cmd, name) })
	if !asJSON {
		e.Hint = nameMemory(e.Hint, cmd)
	}
	return &e
}

// flagOf returns the flag of a parameter on a command, or "" if it has none.
func flagOf(cmd *cobra.Command, param string) (flag string) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		v, ok := f.Value.(*paramFlag)
		if ok && v.param.Name == param || f.Name == param && (param == "subject" || param == "context") {
			flag = "--" + f.Name
		}
	})
	return flag
}

// nameOnCommandLine returns the flag of a parameter, or the command of an operation, for
// [api.Rename].
func nameOnCommandLine(cmd *cobra.Command, name string) string {
	flag := flagOf(cmd, name)
	word, arguments, command := strings.Cut(name, " ")
	if op, err := api.LookUp(word); err == nil && flag == "" && len(op.Commands) > 0 {
		return "`memwatchd " + op.Commands[0].Words + api.TextIf(command, " "+arguments) + "`"
	}
	if command { // of a shell
		return ""
	}
	return cmp.Or(flag, name)
}

// nameMemory adds the flags of a command line that select the memory to the commands that a
// hint names, unless they have such flags: they are for the same memory as the command that
// shows the hint.
func nameMemory(hint string, cmd *cobra.Command) string {
	var flags []string
	for _, name := range DaemonFlags {
		if f := cmd.Flags().Lookup(name); f != nil && f.Changed {
			flags = append(flags, "--"+name, f.Value.String())
		}
	}
	if len(flags) == 0 {
		return hint
	}
	const program = "`memwatchd "
	parts := strings.Split(hint, program)
	for i, rest := range parts[1:] {
		if !strings.HasPrefix(rest, "--") {
			parts[i+1] = term.ShellLine(flags...) + " " + rest
		}
	}
	return strings.Join(parts, program)
}

// hintOtherDir returns the way to reach the memory of --dir if another daemon
// answered, or "" if the command line selects the daemon otherwise.
func hintOtherDir(cmd *cobra.Command) string {
	dir, _ := cmd.Flags().GetString("dir")
	if dir == "" || cmd.Flags().Changed("name") || cmd.Flags().Changed("config") || cmd.Flags().Changed("socket") {
		return ""
	}
	flags := config.Flags{Dir: dir, Name: config.NameFor(dir)}
	if _, err := os.Stat(dir); err != nil {
		return fmt.Sprintf("%s does not exist: create the memory with `%s`", dir, flags.Command("init"))
	}
	return fmt.Sprintf("add --name %s: the command then starts a daemon for this directory; or run `%s`", flags.Name,
		flags.Command("serve"))
}

// wantsJSON reports whether the command line has the flag --json. After an error in
// an earlier flag, --json was not parsed.
func wantsJSON(root *cobra.Command, args []string) bool {
	parsed, _ := root.PersistentFlags().GetBool("json")
	if i := slices.Index(args, "--"); i >= 0 {
		args = args[:i]
	}
	return parsed || slices.Contains(args, "--json")
}

// failureOf returns an error in the form of the daemon's errors.
func failureOf(err error) *api.Error {
	failure, ok := errors.AsType[*api.Error](err)
	if ok && failure.Error() == err.Error() {
		return failure
	}
	code := api.Internal
	_, usage := errors.AsType[UsageError](err)
	switch {
	case ok:
		code = failure.Code
	case usage:
		code = api.Invalid
	case errors.Is(err, client.ErrNoDaemon):
		code = api.Unavailable
	}
	return api.Errorf(code, "%v", err)
}

// Globals holds the global flags and the dependencies of the commands.
type Globals struct {
	Config  config.Flags
	Socket  string
	Subject string
	Context string
	JSON    bool
	NoColor bool
	oneline bool // flag of journal only
	output  output

	knowsRoot bool // the configuration of Connect names the root that the daemon serves
	namesDir  bool // the configuration of Connect or a flag names the memory directory

	Stdout, Stderr io.Writer

	// Args is the command line; if it is nil, there are all commands.
	Args []string

	// Functions that app provides, because this package must not import theirs.
	// OpenRoot may be nil: paths then stay as typed.
	NewRoot  func(stdout, stderr io.Writer) *cobra.Command         // returns the root command with all commands
	OpenRoot func(c *config.Config) *Root                          // opens a memory directory
	Diff     func(path string, before, after []byte) api.FileDiff  // difference of two texts, without credentials
	Start    func(context.Context, *Globals, *config.Config) error // starts a daemon in the background
	Waiting  func(*client.Client) int                              // number of statements of hooks not saved yet
}

// NewRoot returns the root command with the global flags, the commands of this package
// and others.
func NewRoot(g *Globals, others ...*cobra.Command) *cobra.Command {
	root := &cobra.Command{
		Use:           "memwatchd",
		Short:         "A memory of Markdown files, watched, indexed and searchable",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          OnlyCommands,
		RunE: func(cmd *cobra.Command, args []string) error {
			var typed string
			cmd.Flags().Visit(func(f *pflag.Flag) { typed = f.Name })
			if typed != "" {
				return Usagef("--%s needs a command: run `memwatchd help` to list commands", typed)
			}
			return ShowHelp(cmd, args)
		},
	}
	root.SetOut(g.Stdout)
	root.SetErr(g.Stderr)
	root.SetFlagErrorFunc(flagError)
	root.Version = build.Version()
	root.SetVersionTemplate(build.ReadInfo().String())
	root.CompletionOptions.DisableDefaultCmd = true

	f := root.PersistentFlags()
	f.StringVar(&g.Config.File, "config", "", "configuration file")
	f.StringVar(&g.Config.Name, "name", "", "name of the memory, when there are several")
	f.StringVar(&g.Config.Dir, "dir", "", "memory directory")
	f.StringVar(&g.Socket, "socket", "", "socket of the daemon")
	f.StringVar(&g.Subject, "subject", "", "act as this subject (default: the owner)")
	f.StringVar(&g.Context, "context", "", "where the answer is shown: private (default), public or unknown")
	f.BoolVar(&g.JSON, "json", false, "print the answer as JSON, and errors as JSON on standard error")
	f.BoolVar(&g.NoColor, "no-color", false, "disable colors")
	completeGlobals(root, g)

	root.AddGroup(&cobra.Group{ID: "daemon", Title: "The daemon:"},
		&cobra.Group{ID: "agents", Title: "Connect agents:"},
		&cobra.Group{ID: "ask", Title: "Read and write the memory:"},
		&cobra.Group{ID: "shell", Title: "Help and completion:"})
	for _, c := range []*cobra.Command{newConfig(g), newVersion(g)} {
		c.GroupID = "daemon"
		root.AddCommand(c)
	}
	root.AddCommand(newCompletion(g))
	all := new(bool)
	addShortHelp(root, all)
	root.SetHelpCommand(newHelp(all))
	root.SetHelpCommandGroupID("shell")
	root.AddCommand(others...)
	root.AddCommand(newOpen(g))
	addOperations(root, g)
	return root
}

func newConfig(g *Globals) *cobra.Command {
	return AcceptGlobals(&cobra.Command{
		Use:   "config",
		Short: "Print the configuration in effect",
		Args:  NoArgs,
		RunE: func(*cobra.Command, []string) error {
			c, err := config.Load(g.Config, os.Environ())
			if err != nil {
				return UsageError{Err: err}
			}
			_, err = io.WriteString(g.Stdout, config.FormatYAML(c, config.SourceComment(c)))
			return err
		},
	}, MemoryFlags)
}

// OneArg returns a function that returns an error with a message, unless there is one
// argument.
func OneArg(message string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return UsageError{Err: errors.New(message)}
		}
		return nil
	}
}

// NoArgs returns an error if there are arguments.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return Usagef("%s takes no arguments, but got %q", cmd.CommandPath(), args[0])
	}
	return nil
}
