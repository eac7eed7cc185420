package setup

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/agents"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/cli"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/service"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
	"github.com/memwatchd/memwatchd/internal/lazyregexp"
	"github.com/memwatchd/memwatchd/ipc/client"
	"github.com/memwatchd/memwatchd/memory"
)

var components = []agents.Component{agents.MCP, agents.Hooks}

// NewSetup returns the command setup.
func NewSetup(g *cli.Globals) *cobra.Command {
	var names, watch []string
	var atLogin bool
	c := &cobra.Command{
		Use:   "setup",
		Short: "Create a memory, connect your agents and try it",
		Long: "Create a memory and its configuration, add tools and hooks to the settings of agents, and start the daemon at " +
			"login. On a terminal, the command asks for the directory, the agents, the import of their transcripts and the " +
			"start at login, unless a flag answers. It shows each change, writes it, saves and finds a note, and prints how to undo all of it.\n\n" +
			"Without a terminal, it does only what flags select.",
		Example: "  memwatchd setup\n  memwatchd setup --dir ~/notes --agent claude-code,codex --service",
		Args:    cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			m, err := ThisMachine()
			if err != nil {
				return err
			}
			known := slices.Concat(agents.Names(agents.MCP), agents.Names(agents.Hooks))
			for _, name := range names {
				if err := config.CheckOneOf(name, known); err != nil {
					return cli.Usagef("--agent: %w", err)
				}
			}
			if err := ask(cmd, g, m, &names, &watch, &atLogin); err != nil {
				return err
			}
			return setUp(cmd, g, names, watch, atLogin)
		},
	}
	c.Flags().StringSliceVar(&names, "agent", nil, "comma-separated `list` of agents to connect (default: none)")
	c.Flags().BoolVar(&atLogin, "service", false, "start the daemon at login")
	c.Flags().Bool("no-transcripts", false, "do not ask whether to import the transcripts of agents")
	g.CompleteFlag(c, "agent", cli.CompleteWords(agents.Names(agents.MCP)...))
	return cli.AcceptGlobals(c, cli.MemoryFlags)
}

// ask asks on a terminal for the settings that no flag selects.
func ask(cmd *cobra.Command, g *cli.Globals, m agents.Machine, names, watch *[]string, atLogin *bool) error {
	given := cmd.Flags().Changed
	if !term.IsTerminal(cmd.InOrStdin()) {
		if !given("agent") && !given("service") && g.Config == (config.Flags{}) {
			return cli.Usagef("setup asks its questions on a terminal: set --dir, --agent or --service")
		}
		return nil
	}
	answers := bufio.NewReader(cmd.InOrStdin())
	question := func(text, otherwise string) (string, error) {
		fmt.Fprintf(g.Stdout, "%s [%s]: ", text, term.EscapeLine(otherwise))
		line, err := cli.ReadAnswer(cmd.Context(), answers)
		if err != nil {
			fmt.Fprintln(g.Stdout)
			return "", errors.New("setup: nothing was changed")
		}
		return cmp.Or(strings.TrimSpace(line), otherwise), nil
	}
	c, err := config.Load(g.Config, os.Environ())
	if err != nil {
		return cli.UsageError{Err: err}
	}
	if !c.NamesDir {
		g.Config.Dir, err = question("Directory of the memory", abbreviateHome(c.Memory.Dir))
		if err != nil {
			return err
		}
	}
	found := agents.Detected(agents.MCP, m)
	if !given("agent") && len(found) > 0 {
		for wrong := errors.New(""); wrong != nil; {
			list, err := question("Agents to connect, or none", strings.Join(found, ","))
			if err != nil {
				return err
			}
			*names = strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
			*names = slices.DeleteFunc(*names, func(name string) bool { return name == "none" })
			wrong = nil
			for _, name := range *names {
				wrong = cmp.Or(wrong, config.CheckOneOf(name, found))
			}
			if wrong != nil {
				fmt.Fprintln(g.Stdout, term.EscapeLine(wrong.Error()))
			}
		}
	}
	have := slices.DeleteFunc(slices.Clone(config.TranscriptAgents),
		func(name string) bool { return !slices.Contains(found, name) })
	if !given("no-transcripts") && c.File == "" && len(have) > 0 {
		answer, err := question("Import the transcripts of "+strings.Join(have, ", ")+
			" as private files, past and future ones, yes or no", "no")
		if err != nil {
			return err
		}
		if strings.HasPrefix(strings.ToLower(answer), "y") {
			*watch = have
		}
	}
	if !given("service") {
		answer, err := question("Start the daemon at login, yes or no", "yes")
		if err != nil {
			return err
		}
		*atLogin = strings.HasPrefix(strings.ToLower(answer), "y")
	}
	return nil
}

// setUp creates the memory, connects agents and installs the service, as the commands
// for each do, and tries the memory.
func setUp(cmd *cobra.Command, g *cli.Globals, names, watch []string, atLogin bool) error {
	c, err := config.Load(g.Config, os.Environ())
	if err != nil {
		return cli.UsageError{Err: err}
	}
	fmt.Fprintf(g.Stdout, "This memory is used, and created if it does not exist: %s\n", term.EscapeLine(c.Memory.Dir))
	if atLogin {
		fmt.Fprintf(g.Stdout, "This file starts the daemon at login: %s\n", term.EscapeLine(service.Path(c.Name)))
	}
	named := *g
	g.Config.Dir = "" // the configuration names it
	m, err := ThisMachine()
	if err != nil {
		return err
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		a, _ := agents.Named(name)
		remove := a.Plugin(m)
		if remove != "" {
			fmt.Fprintf(g.Stdout, "%s has the plugin of memwatchd: its settings stay. To use them instead, run `%s` before.\n",
				a.Title, remove)
		}
		return remove != ""
	})
	i := &installer{g: g, brief: true}
	supporting := func(p agents.Component) []string {
		return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
			return !slices.Contains(agents.Names(p), name)
		})
	}
	if err := i.runAll(cmd, supporting); err != nil {
		return err
	}
	fmt.Fprintln(g.Stdout)
	if err := createMemory(&named, false, false, "", "", watch...); err != nil {
		return err
	}
	fmt.Fprintln(g.Stdout)
	i.write = true
	if err := i.runAll(cmd, supporting); err != nil {
		return err
	}
	if atLogin {
		if err := service.Install(cmd.Context(), g); err != nil { // as in a container
			fmt.Fprintf(g.Stderr, "memwatchd: %s; commands and agents start the daemon\n", term.EscapeLine(err.Error()))
		}
	}
	for _, words := range [][]string{{"note", "memwatchd is set up"},
		{"search", "--limit", "1", "memwatchd is set up"}} {
		words = append(g.Config.Words(), words...)
		fmt.Fprintf(g.Stdout, "\n$ %s\n", term.EscapeLine(term.ShellLine(append([]string{"memwatchd"}, words...)...)))
		root := g.NewRoot(g.Stdout, g.Stderr)
		root.SetIn(strings.NewReader(""))
		if status := cli.Execute(cmd.Context(), root, words, g.Stderr); status != 0 {
			return fmt.Errorf("setup: the memory does not work yet: run `%s`", g.Config.Command("doctor"))
		}
	}
	_, daemon, err := g.Connect(cmd)
	if err != nil {
		return err
	}
	check, err := client.Call(cmd.Context(), daemon, api.CheckRequest{})
	if err != nil {
		return err
	}
	mixed := slices.DeleteFunc(check.Problems, func(p api.FileProblem) bool { return p.Code != memory.PrivateMarked })
	if len(mixed) > 0 {
		fmt.Fprintf(g.Stdout, "\nPrivate text makes all of its public file private in %s. To split them: %s\n",
			api.Plural(len(mixed), "file"), g.Config.Command("check --fix"))
	}
	fmt.Fprintf(g.Stdout, "\nTo remove all of this, but no file of the memory: %s\n",
		g.Config.Command("uninstall --write"))
	return nil
}

// runAll runs the installer for each part of memwatchd, with the agents that names returns
// for the part. An installation ends with the first error.
func (i *installer) runAll(cmd *cobra.Command, names func(agents.Component) []string) (err error) {
	for _, i.component = range components {
		i.agents = names(i.component)
		if len(i.agents) > 0 && (err == nil || i.remove) {
			err = errors.Join(err, i.runInstaller(cmd))
		}
	}
	return err
}

// NewUninstall returns the command uninstall.
func NewUninstall(g *cli.Globals) *cobra.Command {
	var write bool
	c := &cobra.Command{
		Use:   "uninstall",
		Short: "Remove memwatchd from agents, login and configuration",
		Long: "Remove the entries of memwatchd from the settings of all agents, the start at login, and the configuration that " +
			"setup or init wrote, and stop the daemon. The memory stays. The command shows the changes; --write applies them.",
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			m, err := ThisMachine()
			if err != nil {
				return err
			}
			return uninstall(cmd, g, m, write)
		},
	}
	c.Flags().BoolVar(&write, "write", false, "apply the changes")
	return cli.AcceptGlobals(c, cli.MemoryFlags)
}

// uninstall shows or applies the removal. An agent that fails does not keep the others.
func uninstall(cmd *cobra.Command, g *cli.Globals, m agents.Machine, write bool) error {
	found := agents.DetectAgents(m)
	i := &installer{g: g, remove: true, write: write, brief: true}
	failed := []error{i.runAll(cmd, func(p agents.Component) (names []string) {
		for _, f := range found {
			if f.Has(p) {
				names = append(names, f.Agent.Name)
			}
		}
		return names
	})}
	for _, f := range found {
		if f.Plugin != "" {
			fmt.Fprintf(g.Stdout, "%s: the plugin of memwatchd stays. To remove it, run `%s`\n", f.Agent.Name, f.Plugin)
		}
	}
	c, err := config.Load(g.Config, os.Environ())
	if err != nil {
		return errors.Join(append(failed, err)...)
	}
	if unit := service.Installed(c.Name); unit != "" && !write {
		fmt.Fprintf(g.Stdout, "would remove %s\n", term.EscapeLine(unit))
	} else if unit != "" {
		failed = append(failed, service.Uninstall(cmd.Context(), g))
	} else if write {
		failed = append(failed, stopDaemon(cmd, g))
	}
	switch text, err := os.ReadFile(c.File); {
	case err != nil: // there is none
	case !starterLines().Match(text):
		fmt.Fprintf(g.Stdout, "%s stays, because it was changed\n", term.EscapeLine(c.File))
	case !write:
		fmt.Fprintf(g.Stdout, "would remove %s\n", term.EscapeLine(c.File))
	default:
		failed = append(failed, os.Remove(c.File))
		fmt.Fprintf(g.Stdout, "removed %s\n", term.EscapeLine(c.File))
	}
	if !write {
		failed = append(failed, cli.ErrNotWritten)
	} else if _, err := os.Stat(c.Memory.Dir); err == nil {
		fmt.Fprintf(g.Stdout, "The memory %s stays. To remove the undo history and the index as well:\n  rm -r %s %s\n",
			term.EscapeLine(c.Memory.Dir), term.QuoteWord(c.StateDir), term.QuoteWord(c.IndexDir))
	}
	return errors.Join(failed...)
}

// stopDaemon stops a daemon that runs in the background.
func stopDaemon(cmd *cobra.Command, g *cli.Globals) error {
	err := service.Stop(cmd, g)
	if errors.Is(err, client.ErrNoDaemon) {
		return nil
	}
	return err
}

// starterLines matches a configuration that contains nothing but settings that setup and
// init write.
var starterLines = lazyregexp.New(`^(?:(?:#.*|name: .*|memory:|imports:|todosync:|visibility:|  (?:dir|watch|timezone|` +
	`owner|layout|daily|host|users|append_only|sessions): .*)\n)*$`)
