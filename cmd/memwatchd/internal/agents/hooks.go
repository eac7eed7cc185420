package agents

import (
	"maps"
	"slices"

	"github.com/tailscale/hujson"
)

// hookEvents lists the hook commands of memwatchd, in the order in which their
// events happen.
var hookEvents = []string{"session-start", "prompt", "pre-compact", "stop", "session-end"}

// jsonHooks is the form of hooks in settings in JSON: commands for a shell, in
// groups, in a list for each event.
//
//	{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "memwatchd hook stop", "timeout": 5}]}]}}
type jsonHooks struct {
	events  map[string]string // the agent's name of the event of each command
	args    []string          // further arguments of each command
	timeout int               // time limit of a command, many times the usual run time, in the unit of the agent
}

// eventNames are the names of events that most agents use.
var eventNames = map[string]string{
	"session-start": "SessionStart", "prompt": "UserPromptSubmit", "pre-compact": "PreCompact", "stop": "Stop",
	"session-end": "SessionEnd",
}

// geminiEvents are the names of events in Gemini CLI.
var geminiEvents = map[string]string{
	"session-start": "SessionStart", "prompt": "BeforeAgent", "pre-compact": "PreCompress", "stop": "AfterAgent",
	"session-end": "SessionEnd",
}

type hookGroup struct {
	Hooks []hookCommand `json:"hooks"`
}

type hookCommand struct {
	Type    string `json:"type"`
	Command string `json:"command"`
	Timeout int    `json:"timeout"`
}

// A handler is a command of memwatchd in the settings: hook h in the list of group
// g in the list of event e.
type handler struct {
	hooks, event, list *hujson.Value
	e, g, h            int
	line               *hujson.Value
	command            Command
	name               string // event of the command
	alone              bool   // whether the line contains no other command
}

// listHandlers lists the commands of memwatchd at an event. A value that the agent
// rejects is an error.
func (jsonHooks) listHandlers(d *jsonDoc, hooks *hujson.Value, e int, event string) ([]handler, error) {
	groups, err := d.findKind(hooks, event, '[')
	if err != nil {
		return nil, err
	}
	var found []handler
	for g := range groups.Value.(*hujson.Array).Elements {
		group := &groups.Value.(*hujson.Array).Elements[g]
		if group.Value.Kind() != '{' {
			return nil, errorAt(d.text, group.StartOffset, "a group of hooks must be an object, in braces")
		}
		list, err := d.findKind(group, "hooks", '[')
		if err != nil {
			return nil, err
		}
		if list == nil {
			continue
		}
		for h, one := range list.Value.(*hujson.Array).Elements {
			if one.Value.Kind() != '{' {
				return nil, errorAt(d.text, one.StartOffset, "a hook must be an object, in braces")
			}
			command, err := d.findMember(&one, "command")
			if err != nil {
				return nil, err
			}
			if command == nil || command.Value.Kind() != '"' {
				continue
			}
			if c, name, alone := findHook(command.Value.(hujson.Literal).String()); name != "" {
				found = append(found, handler{hooks, groups, list, e, g, h, command, c, name, alone})
			}
		}
	}
	return found, nil
}

// findHandlers lists the commands of memwatchd at an event, or at all events if it is
// empty. Events without a name in memwatchd may have values of any form.
func (c jsonHooks) findHandlers(d *jsonDoc, event string) ([]handler, error) {
	hooks, err := d.findKind(&d.root, "hooks", '{')
	if err != nil || hooks == nil {
		return nil, err
	}
	var found []handler
	list, _ := listItems(hooks)
	for e, m := range list {
		name := m.Name.Value.(hujson.Literal).String()
		if event != "" && name != event {
			continue
		}
		handlers, err := c.listHandlers(d, hooks, e, name)
		if err != nil && slices.Contains(slices.Collect(maps.Values(c.events)), name) {
			return nil, err
		}
		found = append(found, handlers...)
	}
	return found, nil
}

func (c jsonHooks) listCommands(data []byte) ([]Command, error) {
	d, err := readJSON(data)
	if err != nil {
		return nil, err
	}
	handlers, err := c.findHandlers(d, "")
	var commands []Command
	for _, h := range handlers {
		commands = append(commands, h.command)
	}
	return commands, err
}

func (c jsonHooks) addCommand(data []byte, command Command) ([]byte, error) {
	d, err := readJSON(data)
	if err == nil {
		err = c.checkAlone(d)
	}
	for _, name := range hookEvents {
		line := Command(slices.Concat(command, []string{"hook", name}, c.args)).String()
		for done := false; err == nil && !done; {
			done, err = c.installEvent(d, name, line)
		}
	}
	return d.fileContent(err)
}

// installEvent makes one edit towards exactly one command of memwatchd at an event, and
// reports whether the file has that.
func (c jsonHooks) installEvent(d *jsonDoc, name, line string) (done bool, err error) {
	event := c.events[name]
	handlers, err := c.findHandlers(d, event)
	if err != nil {
		return false, err
	}
	handlers = slices.DeleteFunc(handlers, func(h handler) bool { return h.name != name })
	switch {
	case len(handlers) == 0:
		return true, c.addHook(d, event, line)
	case len(handlers) > 1: // the agent would run both
		return false, c.removeHook(d, handlers[len(handlers)-1])
	case handlers[0].line.Value.(hujson.Literal).String() != line:
		h := handlers[0]
		return true, d.setMember(&h.list.Value.(*hujson.Array).Elements[h.h], "command", line)
	}
	return true, nil
}

// checkAlone returns an error if a line of a hook also runs other commands, which
// belong to the user.
func (c jsonHooks) checkAlone(d *jsonDoc) error {
	handlers, err := c.findHandlers(d, "")
	for _, h := range handlers {
		if !h.alone {
			return errorAt(d.text, h.line.StartOffset, "the hook also runs other commands: remove %s hook %s from it first",
				serverName, h.name)
		}
	}
	return err
}

// addHook appends a group with a command to those of an event.
func (c jsonHooks) addHook(d *jsonDoc, event, line string) error {
	group := hookGroup{[]hookCommand{{"command", line, c.timeout}}}
	hooks, err := d.findKind(&d.root, "hooks", '{')
	if err != nil {
		return err
	}
	if hooks == nil {
		return d.addItem(&d.root, "hooks", map[string]any{event: []hookGroup{group}})
	}
	groups, err := d.findKind(hooks, event, '[')
	if err != nil {
		return err
	}
	if groups == nil {
		return d.addItem(hooks, event, []hookGroup{group})
	}
	return d.addItem(groups, "", group)
}

func (c jsonHooks) removeCommand(data []byte) ([]byte, error) {
	d, err := readJSON(data)
	if err == nil {
		err = c.checkAlone(d)
	}
	for err == nil {
		handlers, failed := c.findHandlers(d, "")
		if failed != nil || len(handlers) == 0 {
			return d.fileContent(failed)
		}
		err = c.removeHook(d, handlers[len(handlers)-1])
	}
	return nil, err
}

// removeHook removes a command from its group, or the group if it has no other, or
// the event or all hooks likewise. Agents reject a group without hooks.
func (jsonHooks) removeHook(d *jsonDoc, h handler) error {
	if list, _ := listItems(h.list); len(list) > 1 {
		return d.removeItem(h.list, h.h)
	}
	if !isOnlyItem(h.event) {
		return d.removeItem(h.event, h.g)
	}
	if !isOnlyItem(h.hooks) {
		return d.removeItem(h.hooks, h.e)
	}
	return d.removeKey(&d.root, "hooks")
}
