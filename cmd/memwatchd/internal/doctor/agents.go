package doctor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/adrg/xdg"

	"github.com/memwatchd/memwatchd/agents"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/setup"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
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

// lookAtCompletion tells whether the shell completes our commands.
func lookAtCompletion(context.Context, *examination) []finding {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil
	}
	return completionOf(filepath.Base(os.Getenv("SHELL")), home, xdg.DataHome, xdg.ConfigHome, func(path string) bool {
		_, err := os.Stat(path)
		return err == nil
	})
}

// completionOf looks where a shell finds what it completes with. Where zsh looks
// is known to zsh only; these are the usual places.
func completionOf(shell, home, data, config string, exists func(string) bool) []finding {
	var places []string
	advice := ""
	switch shell {
	case "bash":
		places = []string{filepath.Join(data, "bash-completion/completions/memwatchd"), "/etc/bash_completion.d/memwatchd", "/usr/share/bash-completion/completions/memwatchd", "/usr/local/share/bash-completion/completions/memwatchd"}
	case "zsh":
		places = []string{filepath.Join(home, ".zfunc/_memwatchd"), filepath.Join(home, ".zsh/completions/_memwatchd"), filepath.Join(data, "zsh/site-functions/_memwatchd"), "/usr/share/zsh/site-functions/_memwatchd", "/usr/local/share/zsh/site-functions/_memwatchd", "/opt/homebrew/share/zsh/site-functions/_memwatchd"}
		advice = "~/.zfunc has to be in $fpath before compinit"
	case "fish":
		places = []string{filepath.Join(config, "fish/completions/memwatchd.fish"), "/usr/share/fish/vendor_completions.d/memwatchd.fish", "/usr/local/share/fish/vendor_completions.d/memwatchd.fish"}
	default:
		return nil
	}
	for _, place := range places {
		if exists(place) {
			return well("%s, in %s", shell, place)
		}
	}
	to := term.QuoteWord(places[0])
	return []finding{{Mark: note, Text: shell + " does not complete commands of memwatchd", Advice: advice,
		Command: "mkdir -p " + term.QuoteWord(filepath.Dir(places[0])) + " && memwatchd completion " + shell + " > " + to}}
}
