package agents

import (
	"iter"
	"slices"

	"github.com/tailscale/hujson"
)

// jsonHooks is the form of hooks in settings in JSON: commands for a shell, in
// groups, in a list for each event.
//
//	{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "memwatchd hook stop", "timeout": 5}]}]}}
//
// The flat form has no groups, and the version of the file.
//
//	{"version": 1, "hooks": {"sessionStart": [{"type": "command", "command": "memwatchd hook session-start"}]}}
type jsonHooks struct {
	timeout int // time limit of a command, many times the usual run time, in the unit of the agent
	flat    bool
}

type hookGroup struct {
	Hooks []any `json:"hooks"` // one hookCommand
}

type hookCommand struct {
	Type    string `json:"type"`
	Command string `json:"command"`
	Timeout int    `json:"timeout"`
}

// hookLines yields the agent's name of each event, in their order, and the line that runs the
// hook: the command, and the hook's own arguments. The default of --agent is claude-code.
func (a Agent) hookLines(c Command) iter.Seq2[string, string] {
	return func(yield func(event, line string) bool) {
		for _, name := range hookEvents {
			line := slices.Concat(c, []string{"hook", name})
			if a.Name != "claude-code" {
				line = append(line, "--agent", a.Name)
			}
			for _, event := range a.HookEvents(name) {
				if !yield(event, line.String()) {
					return
				}
			}
		}
	}
}

// A handler is a command of memwatchd in the settings, with the values from the root to its
// object.
type handler struct {
	chain   []*hujson.Value
	command Command
}

// findHandlers lists the commands of memwatchd at all events, at any depth.
func (d *jsonDoc) findHandlers() ([]handler, error) {
	chain, err := d.find('{', "hooks")
	if err != nil || len(chain) == 1 {
		return nil, err
	}
	return d.handlersBelow(chain)
}

// handlersBelow lists the commands of memwatchd in the last value of a chain.
func (d *jsonDoc) handlersBelow(chain []*hujson.Value) (found []handler, err error) {
	v := chain[len(chain)-1]
	if v.Value.Kind() == '{' {
		command, err := d.findMember(v, "command")
		if err != nil {
			return nil, err
		}
		if command != nil && command.Value.Kind() == '"' {
			if c, event := findHook(command.Value.(hujson.Literal).String()); event != "" {
				found = append(found, handler{slices.Clone(chain), c})
			}
		}
	}
	for _, m := range itemsOf(v) {
		below, err := d.handlersBelow(append(chain, m.value))
		if err != nil {
			return nil, err
		}
		found = append(found, below...)
	}
	return found, nil
}

func (jsonHooks) listCommands(data []byte) (commands []Command, err error) {
	d, err := readJSON(data)
	if err != nil {
		return nil, err
	}
	handlers, err := d.findHandlers()
	for _, h := range handlers {
		commands = append(commands, h.command)
	}
	return commands, err
}

// addCommand appends a command for each event, in a group of its own, to those of the event.
func (c jsonHooks) addCommand(a Agent, data []byte, command Command) ([]byte, error) {
	d, err := readJSON(data)
	if err == nil && c.flat {
		var version *hujson.Value
		version, err = d.findMember(&d.root, "version")
		if err == nil && version == nil {
			err = d.addItem(&d.root, "version", 1)
		}
	}
	for event, line := range a.hookLines(command) {
		if err == nil {
			var hook any = hookCommand{"command", line, c.timeout}
			if !c.flat {
				hook = hookGroup{[]any{hook}}
			}
			err = d.put(hook, '[', "hooks", event)
		}
	}
	return d.fileContent(err)
}

// removeCommand removes each command from its list, or the group if it has no other, or
// the event or all hooks likewise. Agents reject a group without hooks.
func (jsonHooks) removeCommand(_ Agent, data []byte) ([]byte, error) {
	d, err := readJSON(data)
	for err == nil {
		handlers, failed := d.findHandlers()
		if failed != nil || len(handlers) == 0 {
			return d.fileContent(failed)
		}
		err = d.removeLast(handlers[len(handlers)-1].chain, func(depth int, container *hujson.Value) bool {
			// A group, whose other members matter only with a command; its list, likewise with
			// comments.
			return depth == 3 || depth == 4 && len(itemsOf(container)) == 1 || d.isOnlyItem(container)
		})
	}
	return nil, err
}
