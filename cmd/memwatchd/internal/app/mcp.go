package app

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/agents"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/build"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/cli"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/setup"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
	"github.com/memwatchd/memwatchd/ipc/mcp"
)

func newMCP(g *cli.Globals) *cobra.Command {
	tools, externalKey := string(mcp.CoreTools), ""
	c := &cobra.Command{
		Use:     "mcp",
		Short:   "Serve the memory to an agent over the Model Context Protocol",
		GroupID: "agents",
		Long: `Serve the Model Context Protocol on standard input and output, for an agent that starts this command itself.

The tools send requests to the daemon, and start one in the background if none runs. The tools act as the owner in a private context, unless --subject, --external-key and --context select another scope. Messages of the agent cannot change this scope.

By default, the agent gets the core tools: search, get, context, recent, todos, todo, note, remember, session, edit and forget. With --tools read, it gets those of them that change nothing, with --tools notes those that replace and remove nothing. With --tools items, it can also save, list and delete items, and with --tools all, it gets all tools. --tools put,list,delete,get selects tools by name.`,
		Example: "  memwatchd mcp\n  memwatchd mcp --tools all --subject acct:42 --context public\n" +
			"  memwatchd mcp --external-key telegram:123456",
		Args: cli.OnlyCommands,
		RunE: func(cmd *cobra.Command, _ []string) error {
			profile, err := mcp.ParseToolSet(tools)
			if err != nil {
				return err
			}
			config, client, err := g.ConnectOrStart(cmd)
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("external-key") {
				if err := cli.CheckExternalKey(cmd, externalKey); err != nil {
					return err
				}
				client.Scope.ExternalKey = &externalKey
			}
			if term.IsTerminal(cmd.InOrStdin()) {
				fmt.Fprintln(g.Stderr, "This command is for agents, which start it and send messages of the Model Context "+
					"Protocol. To add it to the settings of an agent, run memwatchd mcp install. Ctrl-D ends the command.")
			}
			b := &mcp.Bridge{Client: client, ToolSet: profile, Version: build.Version(), Off: !config.Memory.Enabled,
				Stack: g.Stderr}
			if dir, err := os.Getwd(); err == nil {
				b.Project = strings.ToValidUTF8(config.Project(dir), "\uFFFD")
			}
			return b.Run(cmd.Context(), cmd.InOrStdin(), g.Stdout)
		},
	}
	c.Flags().StringVar(&tools, "tools", tools,
		"tools for the agent: core, read, notes, items, all or names of tools, separated by commas")
	g.CompleteFlag(c, "tools", cli.CompleteWords(mcp.ToolSets...))
	c.Flags().StringVar(&externalKey, "external-key", "",
		"act as the account of this user of a channel: <channel>:<id>")
	setup.AddInstall(c, g, agents.MCP)
	return cli.AcceptGlobals(c, cli.CallerFlags)
}
