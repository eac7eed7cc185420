package app

import (
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/agents"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/hook"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/testkit"
)

// TestInstalledCommandsAreThere checks that each command that is installed for
// agents is a command of this program.
func TestInstalledCommandsAreThere(t *testing.T) {
	for _, a := range agents.All {
		for _, part := range []agents.Component{agents.MCP, agents.Hooks} {
			if !a.Supports(part) {
				continue
			}
			command := agents.Command{"memwatchd"}
			if part == agents.MCP {
				command = append(command, "mcp")
			}
			data, err := a.Install(part, nil, command)
			testkit.Must(t, err)
			commands, err := a.Installed(part, data)
			if err != nil || len(commands) == 0 {
				t.Fatalf("%s: %v, %v", a.Name, commands, err)
			}
			for _, c := range commands {
				root := NewRoot(io.Discard, io.Discard)
				found, rest, err := root.Find(c[1:])
				if err == nil {
					err = found.ParseFlags(rest)
				}
				if err != nil || len(found.Flags().Args()) > 0 || !strings.HasPrefix(c.String(), found.CommandPath()) {
					t.Errorf("%s starts %v, of which %v is a command", a.Name, c, found.CommandPath())
				}
			}
		}
	}
}

// TestEveryHookIsInstalled checks that each hook is installed for its event, and that
// every event of an agent is one of a hook.
func TestEveryHookIsInstalled(t *testing.T) {
	for _, name := range agents.HookNames() {
		a, _ := agents.Named(name)
		if !slices.ContainsFunc(hook.Events, func(e hook.Event) bool { return len(a.HookEvents(e.Name)) > 0 }) {
			t.Errorf("%s runs no hook", name)
		}
	}
	a, _ := agents.Named("claude-code")
	data, err := a.Install(agents.Hooks, nil, agents.Command{"memwatchd"})
	testkit.Must(t, err)
	var settings struct {
		Hooks map[string][]struct{ Hooks []struct{ Command string } }
	}
	testkit.Must(t, json.Unmarshal(data, &settings))
	got, want := map[string]string{}, map[string]string{}
	for event, groups := range settings.Hooks {
		got[event] = groups[0].Hooks[0].Command
	}
	for _, e := range hook.Events {
		for _, event := range a.HookEvents(e.Name) {
			want[event] = "memwatchd hook " + e.Name
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what is installed (+) is not what there is (-):\n%s", diff)
	}
}
