package app

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/memwatchd/memwatchd/agents"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/build"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/cli"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/setup"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
	"github.com/memwatchd/memwatchd/ipc/mcp"
)

func newMCP(g *cli.Globals) *cobra.Command {
	tools := string(mcp.CoreTools)
	c := &cobra.Command{
		Use:     "mcp",
		Short:   "Serve the memory to an agent over the Model Context Protocol",
		GroupID: "agents",
		Long: `Serve the Model Context Protocol on standard input and output, for an agent that starts this command itself.

The tools send requests to the daemon, and start one in the background if none runs. The tools act as the owner in a private context, unless --subject and --context select another scope. Messages of the agent cannot change this scope.

By default, the agent gets the core tools: search, get, context, recent, todos, todo, note and remember.`,
		Example: "  memwatchd mcp\n  memwatchd mcp --tools all --subject acct:42 --context public",
		Args:    cli.OnlyCommands,
		RunE: func(cmd *cobra.Command, _ []string) error {
			profile, err := mcp.ParseToolSet(tools)
			if err != nil {
				return err
			}
			config, client, err := g.ConnectOrStart(cmd)
			if err != nil {
				return err
			}
			if term.IsTerminal(cmd.InOrStdin()) {
				fmt.Fprintln(g.Stderr,
					term.Wrap("This command is for agents, which start it and send messages of the Model Context "+
						"Protocol. To add it to the settings of an agent, run memwatchd mcp install. Ctrl-D "+
						"ends the command.", term.Width(g.Stderr), ""))
			}
			b := &mcp.Bridge{Client: client, ToolSet: profile, Version: build.Version(), Off: !config.Memory.Enabled,
				Stack: g.Stderr}
			return b.Run(cmd.Context(), cmd.InOrStdin(), g.Stdout)
		},
	}
	c.Flags().StringVar(&tools, "tools", tools, "tools for the agent: core or all")
	c.RegisterFlagCompletionFunc("tools", cli.CompleteWords(setup.Profiles...))
	setup.AddInstall(c, g, agents.MCP)
	return c
}
