package doctor

import (
	"context"
	"fmt"
	"strings"

	"github.com/memwatchd/memwatchd/agents"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/setup"
)

// lookAtAgents tells which agents there are, and what of memwatchd they have.
func lookAtAgents(_ context.Context, e *examination) (list []finding) {
	m, err := setup.ThisMachine()
	if err != nil {
		return nil
	}
	for _, a := range agents.Found(m) {
		runs := func(program string) bool { _, err := m.LookPath(program); return err == nil }
		list = append(list, agentOf(a, runs, e.flags.Command)...)
	}
	return list
}

// agentOf judges what an agent has. What it lacks is only a note: nobody has to
// give it anything.
func agentOf(a agents.Finding, runs func(string) bool, command func(string) string) (list []finding) {
	title := a.Agent.Title
	for _, f := range a.Faults {
		list = append(list, finding{Mark: warning, Text: fmt.Sprintf("%s: %s: %v", title, f.File, f.Err), Advice: "correct the file"})
	}
	var has []string
	for _, part := range []struct {
		part agents.Part
		what string
	}{{agents.MCP, "the tools of memwatchd"}, {agents.Hooks, "the hooks of memwatchd"}} {
		if !a.Agent.Has(part.part, agents.User) {
			continue
		}
		install := command(string(part.part) + " install --agent " + a.Agent.Name)
		found, told := false, false
		for _, i := range a.Has {
			if i.Part != part.part {
				continue
			}
			found = true
			if len(i.Command) > 0 && !runs(i.Command[0]) && !told { // a server at an address has none
				told = true
				list = append(list, finding{Mark: warning, Text: fmt.Sprintf("%s starts %s for %s, and there is no such program", title, i.Command[0], part.what),
					Advice: "it stands in " + i.File + "; put it there anew", Command: install})
			}
		}
		switch {
		case !found && len(a.Faults) == 0:
			list = append(list, finding{Mark: note, Text: title + " does not have " + part.what, Command: install})
		case found && !told:
			has = append(has, part.what)
		}
	}
	if has != nil {
		list = append(list, well("%s has %s", title, strings.Join(has, " and "))...)
	}
	return list
}
