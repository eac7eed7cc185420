package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
)

// firstCommands are the commands that a newcomer needs, as examples.
var firstCommands = []string{
	"setup",
	"note The certificate expires in May",
	"search certificate",
	"recent",
	"todo list",
	"journal",
	"find",
	"doctor",
}

// addShortHelp lets the root command show the examples of firstCommands instead of
// its full help, unless all is set.
func addShortHelp(root *cobra.Command, all *bool) {
	full := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if cmd != root || *all {
			full(cmd, args)
			return
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s\n\n%s\n"+
			"memwatchd help COMMAND explains a command, memwatchd help --all lists all of them.\n", root.Short,
			examplesOf(root))
	})
}

// examplesOf returns firstCommands with their summaries.
func examplesOf(root *cobra.Command) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	for _, example := range firstCommands {
		if c, _, err := root.Find(strings.Fields(example)); err == nil {
			fmt.Fprintf(w, "  memwatchd %s\t%s\n", example, c.Short)
		}
	}
	w.Flush()
	return b.String()
}

// newHelp returns the command that shows the help of other commands. Its flag sets
// all.
func newHelp(all *bool) *cobra.Command {
	c := &cobra.Command{
		Use:   "help [command]",
		Short: "Explain a command",
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, _ := cmd.Root().Find(args)
			if len(rest) > 0 {
				return UnknownCommand(about, rest[0])
			}
			about.InitDefaultHelpFlag() // commands get these flags only when they run
			about.InitDefaultVersionFlag()
			return about.Help()
		},
	}
	c.Flags().BoolVarP(all, "all", "a", false, "list all commands")
	return AcceptGlobals(c)
}

// findSubcommand returns the subcommand with that name, or nil.
func findSubcommand(cmd *cobra.Command, name string) *cobra.Command {
	for _, c := range cmd.Commands() {
		if c.Name() == name {
			return c
		}
	}
	return nil
}

// removedCommands maps removed commands to what to use instead.
var removedCommands = map[string]string{
	"conflicts show": "run `memwatchd conflicts list PATH`",
	"todo plan":      "run `memwatchd status` to show how many boxes wait, and why",
	"embed":          "run `memwatchd status`, which counts the texts that are embedded and pending",
	"import items": "write lines with the record type Item, and run `memwatchd import jsonl FILE`; docs/internals/" +
		"compatibility.md has the command for SQLite",
	"import basic-memory":   "add the directory of the notes to roots in the configuration, or copy it into the memory",
	"man":                   "run `make man` in the sources; packages contain the pages",
	"session list":          "run `memwatchd context --format summary`",
	"restore":               "run `memwatchd undo`, or move the lines from the archive, which is a Markdown file",
	"service print":         "run `memwatchd service install`, which prints the path of the unit",
	"service status":        "run `memwatchd doctor`",
	"item delete-namespace": "run `memwatchd item delete NAMESPACE --all`",
	"item visibility":       "run `memwatchd item put NAMESPACE KEY --visibility public_ok`, which keeps the value",
	"share plan":            "run `memwatchd share status`, which counts the entries",
	"share forget-host":     "in a memory whose memory.host is that name, set share.publish to []",
	"share verify":          "run `memwatchd share init`, which compares the store with the files and repairs it",
}

// UnknownCommand returns an error for an unknown subcommand, with the most
// similar name.
func UnknownCommand(cmd *cobra.Command, name string) error {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	if hint, ok := removedCommands[strings.TrimPrefix(cmd.CommandPath()+" "+name, cmd.Root().Name()+" ")]; ok {
		return Usagef("%s %s was removed: %s", cmd.CommandPath(), name, hint)
	}
	return Usagef("unknown command %q for %q%s", name, cmd.CommandPath(), config.SuggestName(name, names))
}

// ShowHelp runs a command that only has subcommands.
func ShowHelp(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// OnlyCommands validates the arguments of a runnable command that has
// subcommands. It returns an error for the first argument, which is an unknown
// subcommand, or nil without arguments.
func OnlyCommands(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return UnknownCommand(cmd, args[0])
	}
	return nil
}

// flagError returns a usage error. For an unknown flag it contains the most
// similar flag.
func flagError(cmd *cobra.Command, err error) error {
	if rejected, ok := errors.AsType[UsageError](err); ok {
		return rejected // without the words of pflag about an invalid value
	}
	if cmd.HasSubCommands() { // the flag may belong to an unknown subcommand, which is the mistake
		if err := cmd.ValidateArgs(cmd.Flags().Args()); err != nil {
			return err
		}
	}
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	invalid, isInvalid := errors.AsType[*pflag.InvalidValueError](err)
	switch {
	case isInvalid && invalid.GetFlag().Value.Type() == "bool":
		err = fmt.Errorf("--%s: %q is not true or false", invalid.GetFlag().Name, invalid.GetValue())
	case ok && unknown.GetSpecifiedShortnames() != "":
		err = fmt.Errorf("%w: put -- before text that begins with a dash", err)
	case ok:
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				names = append(names, "--"+f.Name)
			}
		})
		name := "--" + unknown.GetSpecifiedName()
		switch {
		case name == "--write" && slices.Contains(names, "--dry-run"):
			err = fmt.Errorf("%w: %s writes at once, and --dry-run shows the changes first", err, cmd.CommandPath())
		case name == "--days" && slices.Contains(names, "--since"):
			err = fmt.Errorf("%w: use --since, such as --since 3d", err)
		default:
			err = fmt.Errorf("%w%s", err, config.SuggestName(name, names))
		}
	}
	return UsageError{Err: err}
}
