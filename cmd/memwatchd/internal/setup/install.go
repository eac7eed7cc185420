package setup

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/agents"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/cli"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/service"
	"github.com/memwatchd/memwatchd/ipc/client"
	"github.com/memwatchd/memwatchd/ipc/mcp"
)

// An installer adds a part of memwatchd to the settings of agents, or removes
// it. It only shows the changes, unless write is set.
type installer struct {
	g         *cli.Globals
	component agents.Component
	remove    bool

	agents  []string
	write   bool
	brief   bool // for setup: the memory may be missing, and changes are printed without a diff
	program string
	tools   string
}

// AddInstall adds the commands install and uninstall to the command of a part.
func AddInstall(parent *cobra.Command, g *cli.Globals, part agents.Component) {
	for _, remove := range []bool{false, true} {
		i := &installer{g: g, component: part, remove: remove}
		parent.AddCommand(i.newCommand())
	}
}

func (i *installer) newCommand() *cobra.Command {
	object := "the server of memwatchd"
	if i.component == agents.Hooks {
		object = "the hooks of memwatchd"
	}
	name := "memwatchd " + string(i.component)
	c := &cobra.Command{
		Use:   "install --agent NAME",
		Short: fmt.Sprintf("Add %s to the settings of an agent", object),
		Long: fmt.Sprintf("Add %s to the settings of an agent, or update the existing entry. The command shows "+
			"the change; "+
			"--write applies it. Comments, the order of keys and white space in the rest of the file do not "+
			"change.\n\n"+
			"The flags --config, --name, --dir, --socket, --subject and --context become part of the agent's "+
			"command, with absolute paths. The installation fails if this command would not reach the memory that they "+
			"select.", object),
		Example: fmt.Sprintf("  %s install --agent claude-code\n  %[1]s install --agent claude-code --write", name),
	}
	if i.remove {
		c.Use = "uninstall --agent NAME"
		c.Short = fmt.Sprintf("Remove %s from the settings of an agent", object)
		c.Long = c.Short + ". The command shows the change; --write applies it. The rest of the file does not change."
		c.Example = fmt.Sprintf("  %s uninstall --agent claude-code\n  %[1]s uninstall --agent claude-code --write",
			name)
	}
	c.Args = cli.NoArgs
	c.RunE = func(cmd *cobra.Command, _ []string) error { return i.runInstaller(cmd) }
	f := c.Flags()
	names := agents.Names(i.component)
	f.StringSliceVar(&i.agents, "agent", nil, "comma-separated `list` of agents: "+strings.Join(names, ", "))
	i.g.CompleteFlag(c, "agent", cli.CompleteWords(names...))
	f.BoolVar(&i.write, "write", false, "apply the change")
	cli.AcceptGlobals(c, cli.OutputFlags)
	if i.remove {
		return c
	}
	cli.AcceptGlobals(c, cli.CallerFlags, cli.OutputFlags)
	if i.component == agents.Hooks {
		c.Long += "\n\nFor agents without hooks, --agent skill adds a skill: a file with instructions and commands, " +
			"which many agents read from ~/.agents/skills."
	}
	f.StringVar(&i.program, "program", "",
		"program that the agent starts, such as memwatchd in settings that several machines share (default: the path of this one)")
	if i.component == agents.MCP {
		f.StringVar(&i.tools, "tools", "",
			"tools for the agent: core (default), read, notes, items, all or names of tools, separated by commas")
		i.g.CompleteFlag(c, "tools", cli.CompleteWords(mcp.ToolSets...))
	}
	return c
}

func (i *installer) runInstaller(cmd *cobra.Command) error {
	changes, failed := i.change(cmd)
	if len(changes) > 0 {
		failed = cmp.Or(i.printChanges(changes), failed)
	}
	return failed
}

// change plans the changes and, if write is set, writes them. An installation writes no
// file if one fails. A removal continues with the others.
func (i *installer) change(cmd *cobra.Command) ([]*fileChange, error) {
	m, err := ThisMachine()
	if err != nil {
		return nil, err
	}
	list, err := i.selectAgents(m)
	if err != nil {
		return nil, cli.UsageError{Err: err}
	}
	command, err := i.agentCommand(cmd)
	if err == nil {
		err = i.tryMemory(cmd)
	}
	if err != nil {
		return nil, err
	}
	var changes []*fileChange
	var failed []error
	for _, a := range list {
		some, err := i.planAgent(a, m, command)
		changes = append(changes, some...)
		failed = append(failed, err)
	}
	if err := errors.Join(failed...); err != nil && !i.remove {
		return nil, err
	}
	for _, c := range changes {
		if i.write && c.isNeeded() {
			failed = append(failed, c.writeFile())
		}
	}
	return changes, errors.Join(failed...)
}

// selectAgents returns the agents that --agent names. Its errors list the possible and the
// detected ones.
func (i *installer) selectAgents(m agents.Machine) ([]agents.Agent, error) {
	found := agents.Detected(i.component, m)
	names := agents.Names(i.component)
	detected := "none found on this machine"
	if len(found) > 0 {
		detected = "found on this machine: " + strings.Join(found, ", ")
	}
	if len(i.agents) == 0 {
		return nil, fmt.Errorf("--agent is required: one of %s (%s)", strings.Join(names, ", "), detected)
	}
	var list []agents.Agent
	for _, name := range i.agents {
		if err := config.CheckOneOf(name, names); err != nil {
			return nil, fmt.Errorf("--agent: %w (%s)", err, detected)
		}
		a, _ := agents.Named(name)
		if !slices.ContainsFunc(list, func(other agents.Agent) bool { return other.Name == name }) {
			list = append(list, a)
		}
	}
	return list, nil
}

// agentCommand returns the command that the agent starts, with the given flags. Paths
// are absolute, because an agent may run in any directory.
func (i *installer) agentCommand(cmd *cobra.Command) (agents.Command, error) {
	if i.remove {
		return nil, nil
	}
	program := i.program
	if program == "" {
		var err error
		program, err = cli.InvokedPath()
		if err != nil {
			return nil, fmt.Errorf("find the path of this program (set --program): %w", err)
		}
	}
	flags, err := i.g.Config.Absolute()
	if err != nil {
		return nil, err
	}
	c := append(agents.Command{program}, flags.Words()...)
	if i.g.Socket != "" {
		socket, err := config.AbsolutePath(i.g.Socket)
		if err != nil {
			return nil, err
		}
		c = append(c, "--socket", socket)
	}
	if cmd.Flags().Changed("subject") { // an empty subject is an anonymous caller
		c = append(c, "--subject", i.g.Subject)
	}
	if i.g.Context != "" {
		if err := config.CheckOneOf(i.g.Context, cli.Contexts); err != nil {
			return nil, cli.Usagef("--context: %w", err)
		}
		c = append(c, "--context", i.g.Context)
	}
	if i.component == agents.MCP {
		c = append(c, "mcp")
		if i.tools != "" {
			if _, err := mcp.ParseToolSet(i.tools); err != nil {
				return nil, cli.UsageError{Err: err}
			}
			c = append(c, "--tools", i.tools)
		}
	}
	return c, nil
}

// tryMemory returns an error if the command of the agent would not reach the memory
// that the flags select: another daemon answers, or none answers and none could
// be started for that memory.
func (i *installer) tryMemory(cmd *cobra.Command) error {
	if i.remove || i.brief && !i.write {
		return nil
	}
	c, dc, err := i.g.Connect(cmd)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), tryTimeout)
	defer cancel()
	_, err = client.Call(ctx, dc, api.OperationsRequest{})
	switch {
	case !errors.Is(err, client.ErrNoDaemon):
		return err
	case i.g.Socket != "":
		return err // none is started on a given socket
	case i.g.Config == config.Flags{}:
		return nil // the memory may be created later
	}
	return service.CheckMemory(i.g, c)
}

// tryTimeout bounds the wait for the daemon of the selected memory.
const tryTimeout = 5 * time.Second

// planAgent returns the changes for one agent, and writes nothing.
func (i *installer) planAgent(a agents.Agent, m agents.Machine, command agents.Command) ([]*fileChange, error) {
	files := a.Files(i.component, m)
	if !i.remove {
		files = []string{a.File(i.component, m)}
	}
	if remove := a.Plugin(m); remove != "" && !i.remove {
		return nil, fmt.Errorf("%s has the plugin of memwatchd, with the same tools and hooks: to use its settings instead, "+
			"run `%s`", a.Title, remove)
	}
	var changes []*fileChange
	for _, file := range files {
		c, err := i.planFile(a, file, command)
		if err != nil {
			return nil, err
		}
		if c.isNeeded() || changes == nil {
			changes = append(changes, c)
		}
	}
	if len(changes) > 1 && !changes[0].isNeeded() {
		changes = changes[1:]
	}
	return changes, nil
}

// planFile returns the change of one file.
func (i *installer) planFile(a agents.Agent, file string, command agents.Command) (*fileChange, error) {
	s, err := openSettings(file)
	if err != nil {
		return nil, err
	}
	c := &fileChange{Agent: a.Name, Component: i.component, Scope: "user", File: file, Command: command,
		title: a.Title, settings: s, after: s.data, hadParts: hasParts(a, s.data)}
	switch {
	case !i.remove:
		if installed, err := a.Installed(i.component, s.data); err == nil && len(installed) > 0 {
			c.replaced = installed[0]
		}
		c.after, err = a.Install(i.component, s.data, command)
	case s.link || loadBefores()[s.path].Existed: // the user created the file
		c.after, err = a.Remove(i.component, s.data)
	case s.info != nil:
		c.after, err = a.Uninstall(i.component, s.data)
	}
	if original, known := s.original(); i.remove && err == nil && known && !hasParts(a, c.after) {
		c.after = original
	}
	if at, ok := errors.AsType[*agents.Error](err); ok {
		return nil, fmt.Errorf("%s:%w", file, at)
	} else if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if !i.remove {
		c.Note = a.Note(i.component)
	}
	switch {
	case bytes.Equal(s.data, c.after):
		c.Action = "none"
		return c, nil
	case s.info == nil:
		c.Action = "create"
	default:
		c.Action = "change"
	}
	c.diff = i.g.Diff(file, s.data, c.after)
	c.Diff = c.diff.Hunks
	return c, nil
}

// hasParts reports whether a settings file of an agent contains a part of memwatchd.
func hasParts(a agents.Agent, data []byte) bool {
	return slices.ContainsFunc(components, func(p agents.Component) bool {
		if !a.Supports(p) {
			return false
		}
		commands, err := a.Installed(p, data)
		return err == nil && len(commands) > 0
	})
}

// printChanges prints the planned or written changes.
func (i *installer) printChanges(changes []*fileChange) error {
	var planned error
	if !i.write && !i.brief && slices.ContainsFunc(changes, (*fileChange).isNeeded) {
		planned = cli.ErrNotWritten
	}
	if i.g.JSON {
		_, err := i.g.Stdout.Write(cli.AsJSON(struct {
			Changes []*fileChange `json:"changes"`
		}{changes}))
		return cmp.Or(err, planned)
	}
	p := cli.NewPrinter(i.g.Stdout, i.g.Stderr, config.Default(), i.g.NoColor)
	var b strings.Builder
	for _, c := range changes {
		c.printChange(&b, p, i.remove, i.brief && !i.write)
	}
	_, err := io.WriteString(i.g.Stdout, b.String())
	return cmp.Or(err, planned)
}
