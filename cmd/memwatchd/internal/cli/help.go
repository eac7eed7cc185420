package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
)

// newHelp is the command that shows the help of others.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [command]",
		Short: "Explain a command",
		RunE: func(cmd *cobra.Command, args []string) error {
			about := cmd.Root()
			for _, name := range args {
				next := below(about, name)
				if next == nil {
					return UnknownCommand(about, name)
				}
				about = next
			}
			about.InitDefaultHelpFlag() // what is not run has none yet
			about.InitDefaultVersionFlag()
			return about.Help()
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, typed string) (names []string, _ cobra.ShellCompDirective) {
			about := cmd.Root()
			for _, name := range args {
				if about = below(about, name); about == nil {
					return nil, noFiles
				}
			}
			for _, c := range about.Commands() {
				if c.IsAvailableCommand() && strings.HasPrefix(c.Name(), typed) {
					names = append(names, cobra.CompletionWithDesc(c.Name(), c.Short))
				}
			}
			return names, noFiles
		},
	}
}

// below is the command of that name among those of another, nil if it has none.
func below(cmd *cobra.Command, name string) *cobra.Command {
	for _, c := range cmd.Commands() {
		if c.Name() == name {
			return c
		}
	}
	return nil
}

// UnknownCommand says that a command has none of that name, and which one it may
// have been meant to be.
func UnknownCommand(cmd *cobra.Command, name string) error {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return UsageError{Err: fmt.Errorf("unknown command %q for %q%s", name, cmd.CommandPath(), config.Suggestion(name, names))}
}

// OnlyCommands are the arguments of a command that has others below it, and does
// something by itself as well.
func OnlyCommands(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return UnknownCommand(cmd, args[0])
	}
	return nil
}

// flagError says what is wrong with a flag, and which one may have been meant.
func flagError(cmd *cobra.Command, err error) error {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok && unknown.GetSpecifiedShortnames() == "" {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
		err = fmt.Errorf("%w%s", err, config.Suggestion("--"+unknown.GetSpecifiedName(), names))
	}
	return UsageError{Err: err}
}

// WrapHelp makes the help of all commands fit a terminal of so many columns.
func WrapHelp(root *cobra.Command, width int) {
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		out := cmd.OutOrStdout()
		var b bytes.Buffer
		cmd.SetOut(&b)
		help(cmd, args)
		cmd.SetOut(out)
		for line := range strings.Lines(b.String()) {
			io.WriteString(out, wrapColumn(strings.TrimRight(line, "\n"), width)+"\n")
		}
	})
}

// column is what stands before the explanation of a flag, an argument or a command.
var column = regexp.MustCompile(`^ +\S(?:.*?\S)? {2,}`)

// wrapColumn breaks a line of help so that what is broken stands below where it
// begins: in its column, if it has one. An example stays as it is, to be copied.
func wrapColumn(line string, width int) string {
	if strings.HasPrefix(line, "  memwatchd ") {
		return line
	}
	head := column.FindString(line)
	if head == "" || width-len(head) < 16 {
		head = line[:len(line)-len(strings.TrimLeft(line, " "))]
	}
	return head + term.Wrap(line[len(head):], width, strings.Repeat(" ", len(head)))
}
