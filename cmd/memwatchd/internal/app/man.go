package app

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/build"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/cli"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
	"github.com/memwatchd/memwatchd/internal/lazyregexp"
)

// newMan returns the command that writes the manual: one page for each command, from
// its help.
func newMan(g *cli.Globals) *cobra.Command {
	return cli.AcceptGlobals(&cobra.Command{
		Use:   "man DIR",
		Short: "Write the pages of the manual into a directory", GroupID: "shell",
		Long: "Write the pages of the manual into a directory, below man1. To install the pages for " +
			"your account only:\n\n" +
			"  memwatchd man ~/.local/share/man\n  man memwatchd",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.Usagef("man: name the target directory")
			}
			return nil
		},
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := writeManual(cmd.Root(), build.ReadInfo(), args[0]); err != nil {
				return err
			}
			fmt.Fprintln(g.Stdout, "manual written to "+term.EscapeLine(args[0]))
			return nil
		},
	})
}

// writeManual writes the pages to man1 below dir. The pages carry the
// date of the build's commit, so that two builds of a commit have identical
// pages. writeManual modifies the commands of root; root must not be used
// afterwards.
func writeManual(root *cobra.Command, b build.Info, dir string) error {
	dir = filepath.Join(dir, "man1")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root.Long = manualIntro + referenceSections()
	root.DisableAutoGenTag = true
	prepareForManual(root)
	header := &doc.GenManHeader{Section: "1", Date: &b.Time, Source: "memwatchd " + b.Version}
	return doc.GenManTree(root, header, dir)
}

// codeLines matches the indent of lines that help prints unchanged.
var codeLines = lazyregexp.New(`(?m)^  `)

// prepareForManual converts the help of a command and its subcommands to
// Markdown. Lines that help indents by two columns become code.
func prepareForManual(c *cobra.Command) {
	c.Long = codeLines().ReplaceAllString(strings.ReplaceAll(cmp.Or(c.Long, c.Short), ":\n  ", ":\n\n  "), "    ")
	for _, below := range c.Commands() {
		prepareForManual(below)
	}
}

const manualIntro = "Memwatchd watches a directory of Markdown files that is the memory of an agent or a person, " +
	"keeps a full-text index of it " +
	"fresh, and answers requests of people on the command line and of agents. It changes files only on request or " +
	"as configured, " +
	"and every change can be undone.\n\n" +
	"`memwatchd serve` runs the daemon. Most other commands are requests to the daemon. They act as the owner of the memory in a " +
	"private context, unless `--subject` and `--context` select another one.\n\n" +
	"First steps:\n\n" +
	"  memwatchd init\n  memwatchd serve\n  memwatchd search certificate expired\n"

// referenceSections returns the sections about exit status, environment and files,
// as Markdown.
func referenceSections() string {
	var b strings.Builder
	b.WriteString("\n# EXIT STATUS\n")
	for _, e := range cli.ExitStatuses {
		fmt.Fprintf(&b, "\n**%d**\n: %s\n", e.Code, e.Text)
	}
	b.WriteString(`
# ENVIRONMENT

**MEMWATCHD_***
: Every key of the configuration: **journal.keep** is **MEMWATCHD_JOURNAL_KEEP**. **memwatchd config** lists the keys.

**XDG_CONFIG_HOME**, **XDG_STATE_HOME**, **XDG_CACHE_HOME**, **XDG_RUNTIME_DIR**
: Where the configuration, the state with the journal, the index and the socket are.

**NO_COLOR**
: Nothing is printed in colours.

# FILES

*~/.morph/memory/*
: The memory, unless another directory is configured.

*$XDG_CONFIG_HOME/memwatchd/memwatchd.yaml*
: The configuration.

*$XDG_RUNTIME_DIR/memwatchd/memwatchd.sock*
: The socket of the daemon; without that directory, in that of the state.

*$XDG_STATE_HOME/memwatchd/memwatchd/*
: The state. The journal in it is the one thing that cannot be made again from the files.

*$XDG_CACHE_HOME/memwatchd/memwatchd/*
: The index. It can be deleted at any time.
`)
	return b.String()
}
