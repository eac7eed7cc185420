package agents

import (
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
	events  map[string]string // the agent's name of the event of each command
	agent   string            // name of the agent for --agent; empty: the default
	timeout int               // time limit of a command, many times the usual run time, in the unit of the agent
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

// hookLine returns the words that run a hook: the command, and the hook's own arguments.
func hookLine(c Command, event, agent string) Command {
	c = slices.Concat(c, []string{"hook", event})
	if agent != "" {
		c = append(c, "--agent", agent)
	}
	return c
}

// A handler is a command of memwatchd in the settings: an item of each list of a chain,
// from the object of all hooks to the list with the command.
type handler struct {
	lists   []*hujson.Value
	items   []int
	command Command
}

// listHandlers lists the commands of memwatchd at an event. A value that the agent
// rejects is an error.
func (c jsonHooks) listHandlers(d *jsonDoc, hooks *hujson.Value, e int, event string) (found []handler, err error) {
	list, err := d.findKind(hooks, event, '[')
	if err != nil {
		return nil, err
	}
	add := func(list *hujson.Value, h int, lists []*hujson.Value, items []int) error {
		one := &list.Value.(*hujson.Array).Elements[h]
		if one.Value.Kind() != '{' {
			return errorAt(d.text, one.StartOffset, "a hook must be an object, in braces")
		}
		command, err := d.findMember(one, "command")
		if err != nil || command == nil || command.Value.Kind() != '"' {
			return err
		}
		if c, name := findHook(command.Value.(hujson.Literal).String()); name != "" {
			found = append(found, handler{append(lists, list), append(items, h), c})
		}
		return nil
	}
	for g := range list.Value.(*hujson.Array).Elements {
		if c.flat {
			if err := add(list, g, []*hujson.Value{hooks}, []int{e}); err != nil {
				return nil, err
			}
			continue
		}
		group := &list.Value.(*hujson.Array).Elements[g]
		if group.Value.Kind() != '{' {
			return nil, errorAt(d.text, group.StartOffset, "a group of hooks must be an object, in braces")
		}
		inner, err := d.findKind(group, "hooks", '[')
		if err != nil {
			return nil, err
		}
		if inner == nil {
			continue
		}
		for h := range inner.Value.(*hujson.Array).Elements {
			if err := add(inner, h, []*hujson.Value{hooks, list}, []int{e, g}); err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

// findHandlers lists the commands of memwatchd at all events. Events without a name in
// memwatchd may have values of any form.
func (c jsonHooks) findHandlers(d *jsonDoc) (found []handler, err error) {
	hooks, err := d.findKind(&d.root, "hooks", '{')
	if err != nil || hooks == nil {
		return nil, err
	}
	list, _ := listItems(hooks)
	for e, m := range list {
		name := m.Name.Value.(hujson.Literal).String()
		handlers, err := c.listHandlers(d, hooks, e, name)
		for _, known := range c.events {
			if err != nil && known == name {
				return nil, err
			}
		}
		found = append(found, handlers...)
	}
	return found, nil
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

// addCommand leaves a file that has exactly the wanted commands as it is. Otherwise it
// removes those of memwatchd and adds the wanted ones.
func (c jsonHooks) addCommand(data []byte, command Command) ([]byte, error) {
	var want []string
	for _, name := range hookEvents {
		if c.events[name] != "" {
			want = append(want, hookLine(command, name, c.agent).String())
		}
	}
	has, err := c.listCommands(data)
	if err != nil {
		return nil, err
	}
	lines := make([]string, len(has))
	for i, h := range has {
		lines[i] = h.String()
	}
	slices.Sort(lines)
	if slices.Equal(lines, slices.Sorted(slices.Values(want))) {
		return data, nil
	}
	data, err = c.removeCommand(data)
	if err != nil {
		return nil, err
	}
	d, err := readJSON(data)
	if err == nil && c.flat {
		var version *hujson.Value
		if version, err = d.findMember(&d.root, "version"); err == nil && version == nil {
			err = d.addItem(&d.root, "version", 1)
		}
	}
	for _, name := range hookEvents {
		if err == nil && c.events[name] != "" {
			err = c.addHook(d, c.events[name], hookLine(command, name, c.agent).String())
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
	if hooks == nil {
		return d.addItem(&d.root, "hooks", map[string]any{event: []any{item}})
	}
	list, err := d.findKind(hooks, event, '[')
	if err != nil {
		return err
	}
	if list == nil {
		return d.addItem(hooks, event, []any{item})
	}
	return d.addItem(list, "", item)
}

func (c jsonHooks) removeCommand(data []byte) ([]byte, error) {
	d, err := readJSON(data)
	for err == nil {
		handlers, failed := c.findHandlers(d)
		if failed != nil || len(handlers) == 0 {
			return d.fileContent(failed)
		}
		err = c.removeHook(d, handlers[len(handlers)-1])
	}
	return nil, err
}

// removeHook removes a command from its list, or the group if it has no other, or
// the event or all hooks likewise. Agents reject a group without hooks.
func (c jsonHooks) removeHook(d *jsonDoc, h handler) error {
	for i := len(h.lists) - 1; i >= 0; i-- {
		items, _ := listItems(h.lists[i])
		isGroup := i == 2 // in which a comment stays only beside a command
		if isGroup && len(items) > 1 || !isGroup && !isOnlyItem(h.lists[i]) {
			return d.removeItem(h.lists[i], h.items[i])
		}
	}
	return d.removeKey(&d.root, "hooks")
}
