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
		Long: `Speak the Model Context Protocol on standard input and output, for an agent that starts this command itself.

Its tools ask the daemon, which need not run yet: a tool that is used without one says how to start it. They act as the owner, in private, unless --subject and --context say otherwise; nothing that the agent sends changes that.

Without --tools all, the agent is given the core of them: search, get, context, recent, todos, todo, note and remember.`,
		Example: "  memwatchd mcp\n  memwatchd mcp --tools all --subject acct:42 --context public",
		Args:    cli.OnlyCommands,
		RunE: func(cmd *cobra.Command, _ []string) error {
			profile, err := mcp.ParseToolSet(tools)
			if err != nil {
				return err
			}
			config, client, err := g.Connect(cmd)
			if err != nil {
				return err
			}
			if term.IsTerminal(cmd.InOrStdin()) {
				fmt.Fprintln(g.Stderr,
					term.Wrap("This is for agents, which start it and send messages of the Model Context "+
						"Protocol: memwatchd mcp install puts it into their settings. Ctrl-D "+
						"ends it.", term.Width(g.Stderr), ""))
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
