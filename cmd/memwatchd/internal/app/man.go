package app

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/cpuguy83/go-md2man/v2/md2man"
	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/build"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/cli"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
	"github.com/memwatchd/memwatchd/internal/lazyregexp"
)

// newMan returns the command that writes the manual: one page for each command,
// from its help, and one page for the configuration.
func newMan(g *cli.Globals) *cobra.Command {
	return cli.AcceptGlobals(&cobra.Command{
		Use:   "man DIR",
		Short: "Write the pages of the manual into a directory", GroupID: "shell",
		Long: "Write the pages of the manual into a directory, below man1 and man5. To install the pages for " +
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

// writeManual writes the pages to man1 and man5 below dir. The pages carry the
// date of the build's commit, so that two builds of a commit have identical
// pages. writeManual modifies the commands of root; root must not be used
// afterwards.
func writeManual(root *cobra.Command, b build.Info, dir string) error {
	commands, formats := filepath.Join(dir, "man1"), filepath.Join(dir, "man5")
	for _, dir := range []string{commands, formats} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	root.Long = manualIntro + referenceSections()
	root.DisableAutoGenTag = true
	prepareForManual(root)
	source := "memwatchd " + b.Version
	header := &doc.GenManHeader{Section: "1", Date: &b.Time, Source: source}
	if err := doc.GenManTree(root, header, commands); err != nil {
		return err
	}
	head := fmt.Sprintf("%% \"MEMWATCHD.YAML\" \"5\" \"%s\" \"%s\" \"\"\n", b.Time.Format("Jan 2006"), source)
	return os.WriteFile(filepath.Join(formats, "memwatchd.yaml.5"), md2man.Render([]byte(head+configurationPage())),
		0o644)
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
: Every key of the configuration: **journal.keep** is **MEMWATCHD_JOURNAL_KEEP**.

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

// configurationPage returns the page of the configuration file as Markdown. It
// documents every key from the struct tags that the program uses as well.
func configurationPage() string {
	var b strings.Builder
	b.WriteString("# NAME\nmemwatchd.yaml - configuration of memwatchd\n\n# DESCRIPTION\n" +
		"The configuration is a YAML file: *$XDG_CONFIG_HOME/memwatchd/memwatchd.yaml*, unless **--config** or " +
		"**--name** selects another one. A missing key has its default; an unknown key is an error. Every key can " +
		"also be set in the environment, which overrides the file: **journal.keep** is " +
		"**MEMWATCHD_JOURNAL_KEEP**.\n\n" +
		"**memwatchd config** prints the configuration in effect. On SIGHUP, a daemon reads the file again.\n\n" +
		"Durations are written with their units, as 30ms, 1h30m or 7d; sizes as 16KiB or 4MiB.\n\n# KEYS\n")
	for _, k := range config.Keys {
		fmt.Fprintf(&b, "\n**%s**\n: %s\n", k.Name, keyMeaning(k))
		if t := k.Field.Type; t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct {
			for _, below := range config.KeysOf(t.Elem()) {
				fmt.Fprintf(&b, "\n**%s[].%s**\n: %s\n", k.Name, below.Name, keyMeaning(below))
			}
		}
	}
	b.WriteString("\n# EXAMPLES\nSettings that differ between machines:\n\n    memory:\n      dir: ~/notes\n      " +
		"timezone: Europe/Berlin\n\n" +
		"A second socket for an agent in a sandbox, which sees public memory of one subject only:\n\n" +
		"    ipc:\n      listeners:\n        - path: /run/user/1000/memwatchd/memwatchd.sock\n        - path: " +
		"/srv/groupbot/memory.sock\n" +
		"          subject: acct:42\n          context: public\n          operations: [search, get, context, note]\n" +
		"          mode: \"0660\"\n          group: groupbot\n\n" +
		"# SEE ALSO\n**memwatchd(1)**, **memwatchd-config(1)**, **memwatchd-serve(1)**\n")
	return b.String()
}

// markdownMarks escapes the Markdown characters in the description of a key.
var markdownMarks = strings.NewReplacer("*", `\*`, "_", `\_`, "<", `\<`)

// keyMeaning returns the description of a key with its bounds and its default.
func keyMeaning(k config.Key) string {
	text := k.Tag("doc")
	if list := k.Field.Type; list.Kind() == reflect.Slice && list.Elem().Kind() == reflect.Struct {
		text += ":"
	}
	var more []string
	if low, high := k.Tag("min"), k.Tag("max"); low != "" && high != "" {
		more = append(more, low+" to "+high)
	} else if low != "" {
		more = append(more, "at least "+low)
	}
	if d, ok := k.Field.Tag.Lookup("default"); ok {
		more = append(more, "default "+cmp.Or(d, "empty"))
	}
	if more != nil {
		text += " (" + strings.Join(more, "; ") + ")"
	}
	return markdownMarks.Replace(text)
}
