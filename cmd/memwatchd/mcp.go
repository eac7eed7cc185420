package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/memwatchd/memwatchd/agents"
	"github.com/memwatchd/memwatchd/ipc/mcp"
)

// profiles are what an agent may be given of the tools.
var profiles = []string{string(mcp.CoreTools), string(mcp.AllTools)}

func newMCP(g *globals) *cobra.Command {
	tools := string(mcp.CoreTools)
	c := &cobra.Command{
		Use:     "mcp",
		Short:   "Give an agent memory, over the Model Context Protocol",
		GroupID: "agents",
		Long: `Speak the Model Context Protocol on standard input and output, for an agent that starts this command itself.

Its tools ask the daemon, which need not run yet: a tool that is used without one says how to start it. They act as the owner, in private, unless --subject and --context say otherwise; nothing that the agent sends changes that.

Without --tools all, the agent is given the core of them: search, get, context, recent, todos, todo, note and remember.`,
		Example: "  memwatchd mcp\n  memwatchd mcp --tools all --subject acct:42 --context public",
		Args:    onlyCommands,
		RunE: func(cmd *cobra.Command, _ []string) error {
			profile, err := mcp.ParseProfile(tools)
			if err != nil {
				return err
			}
			config, client, err := g.connect(cmd)
			if err != nil {
				return err
			}
			if isTerminal(cmd.InOrStdin()) {
				fmt.Fprintln(g.stderr, wrap("This is for agents, which start it and send messages of the Model Context Protocol: memwatchd mcp install puts it into their settings. Ctrl-D ends it.", widthOf(g.stderr), ""))
			}
			b := &mcp.Bridge{Client: client, Profile: profile, Version: version(), Off: !config.Memory.Enabled, Stack: g.stderr}
			return b.Run(cmd.Context(), cmd.InOrStdin(), g.stdout)
		},
	}
	c.Flags().StringVar(&tools, "tools", tools, "which tools the agent is given: core or all")
	c.RegisterFlagCompletionFunc("tools", oneOfThese(profiles...))
	addInstall(c, g, agents.MCP)
	return c
}
