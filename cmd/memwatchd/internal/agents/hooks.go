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
	Hooks []hookCommand `json:"hooks"`
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
			if event := a.HookEvent(name); event != "" && !yield(event, line.String()) {
				return
			}
		}
	}
}

// A handler is a command of memwatchd in the settings, with the steps from the root to its
// object.
type handler struct {
	chain   []step
	command Command
}

// findHandlers lists the commands of memwatchd at all events, at any depth.
func (c jsonHooks) findHandlers(d *jsonDoc) (found []handler, err error) {
	var walk func(chain []step) error
	walk = func(chain []step) error {
		v := chain[len(chain)-1].value()
		if v.Value.Kind() == '{' {
			member, err := d.findMember(v, "command")
			if err != nil {
				return err
			}
			if command := member.value(); command != nil && command.Value.Kind() == '"' {
				if c, event := findHook(command.Value.(hujson.Literal).String()); event != "" {
					found = append(found, handler{slices.Clone(chain), c})
				}
			}
		}
		for i := range itemsOf(v) {
			if err := walk(append(chain, step{v, i})); err != nil {
				return err
			}
		}
		return nil
	}
	hooks, err := d.findKind(&d.root, "hooks", '{')
	if err == nil && hooks.at >= 0 {
		err = walk([]step{hooks})
	}
	return found, err
}

func (c jsonHooks) listCommands(data []byte) (commands []Command, err error) {
	d, err := readJSON(data)
	if err != nil {
		return nil, err
	}
	handlers, err := c.findHandlers(d)
	for _, h := range handlers {
		commands = append(commands, h.command)
	}
	return commands, err
}

func (c jsonHooks) addCommand(a Agent, data []byte, command Command) ([]byte, error) {
	d, err := readJSON(data)
	if err == nil && c.flat {
		var version step
		version, err = d.findMember(&d.root, "version")
		if err == nil && version.at < 0 {
			err = d.addItem(&d.root, "version", 1)
		}
	}
	for event, line := range a.hookLines(command) {
		if err == nil {
			err = c.addHook(d, event, line)
		}
	}
	return d.fileContent(err)
}

// addHook appends a command, in a group of its own, to those of an event.
func (c jsonHooks) addHook(d *jsonDoc, event, line string) error {
	var item any = hookCommand{"command", line, c.timeout}
	if !c.flat {
		item = hookGroup{[]hookCommand{{"command", line, c.timeout}}}
	}
	hooks, err := d.findKind(&d.root, "hooks", '{')
	if err != nil {
		return err
	}
	if hooks.at < 0 {
		return d.addItem(&d.root, "hooks", map[string]any{event: []any{item}})
	}
	list, err := d.findKind(hooks.value(), event, '[')
	if err != nil {
		return err
	}
	if list.at < 0 {
		return d.addItem(hooks.value(), event, []any{item})
	}
	return d.addItem(list.value(), "", item)
}

// removeCommand removes each command from its list, or the group if it has no other, or
// the event or all hooks likewise. Agents reject a group without hooks.
func (c jsonHooks) removeCommand(_ Agent, data []byte) ([]byte, error) {
	d, err := readJSON(data)
	for err == nil {
		handlers, failed := c.findHandlers(d)
		if failed != nil || len(handlers) == 0 {
			return d.fileContent(failed)
		}
		err = d.removeChain(handlers[len(handlers)-1].chain, func(depth int, container *hujson.Value) bool {
			// A group, whose other members matter only with a command; its list, likewise with
			// comments.
			return depth == 3 || depth == 4 && len(itemsOf(container)) == 1 || d.isOnlyItem(container)
		})
	}
	return nil, err
}
