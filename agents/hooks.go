package agents

import "slices"

// hookEvents are the events of Claude Code, in the order in which they happen,
// and what memwatchd calls them.
var hookEvents = []hookEvent{
	{"SessionStart", "session-start"},
	{"UserPromptSubmit", "prompt"},
	{"PreCompact", "pre-compact"},
	{"Stop", "stop"},
	{"SessionEnd", "session-end"},
}

type hookEvent struct{ event, command string }

// hookTimeout is after how many seconds the agent gives up on a hook: many times
// what one takes, and less than anybody waits.
const hookTimeout = 5

// claudeHooks are the hooks of Claude Code: commands for its shell, in groups, in
// a list for each event.
//
//	{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "memwatchd hook stop", "timeout": 5}]}]}}
type claudeHooks struct{}

// A handler is where a command of ours stands: in the list of a group, which is
// in the list of an event, which is in the object of all.
type handler struct {
	hooks, event, list *node
	e, g, h            int // which item of hooks, event and list it is
	command            *node
	line               string
}

// handlers lists our commands at an event. What is not as Claude Code wants it is
// an error: it would not read the file.
func (claudeHooks) handlers(d *jsonDoc, hooks *node, e int) ([]handler, error) {
	event := hooks.items[e]
	groups, err := d.getKind(hooks, event.key, '[')
	if err != nil {
		return nil, err
	}
	var found []handler
	for g, group := range groups.items {
		if group.value.kind != '{' {
			return nil, errorAt(d.text, group.start, "a group of hooks must be an object, in braces")
		}
		list, err := d.getKind(group.value, "hooks", '[')
		if err != nil {
			return nil, err
		}
		if list == nil {
			continue
		}
		for h, one := range list.items {
			if one.value.kind != '{' {
				return nil, errorAt(d.text, one.start, "a hook must be an object, in braces")
			}
			command, err := d.get(one.value, "command")
			if err != nil {
				return nil, err
			}
			if command == nil || command.kind != '"' {
				continue
			}
			if line := d.decode(command).(string); hookOf(line) != "" {
				found = append(found, handler{hooks, groups, list, e, g, h, command, line})
			}
		}
	}
	return found, nil
}

// at lists our commands at an event of a name.
func (c claudeHooks) at(d *jsonDoc, event string) ([]handler, error) {
	hooks, err := d.getKind(d.root, "hooks", '{')
	if err != nil || hooks == nil {
		return nil, err
	}
	for e, it := range hooks.items {
		if it.key == event {
			return c.handlers(d, hooks, e)
		}
	}
	return nil, nil
}

// all lists our commands at all events. Those of others may be anything.
func (c claudeHooks) all(d *jsonDoc) ([]handler, error) {
	hooks, err := d.getKind(d.root, "hooks", '{')
	if err != nil || hooks == nil {
		return nil, err
	}
	var found []handler
	for e, it := range hooks.items {
		handlers, err := c.handlers(d, hooks, e)
		if err != nil && slices.ContainsFunc(hookEvents, func(h hookEvent) bool { return h.event == it.key }) {
			return nil, err
		}
		found = append(found, handlers...)
	}
	return found, nil
}

func (c claudeHooks) installed(data []byte) ([]Command, error) {
	d, err := readJSON(data)
	if err != nil {
		return nil, err
	}
	handlers, err := c.all(d)
	var commands []Command
	for _, h := range handlers {
		words, _ := splitWords(h.line)
		commands = append(commands, words)
	}
	return commands, err
}

func (c claudeHooks) install(data []byte, command Command) ([]byte, error) {
	d, err := readJSON(data)
	if err != nil {
		return nil, err
	}
	for _, e := range hookEvents {
		line := append(append(Command{}, command...), "hook", e.command).String()
		if err := c.installOne(d, e.event, e.command, line); err != nil {
			return nil, err
		}
	}
	return d.bytes(), nil
}

// installOne sees to it that one event has our command once.
func (c claudeHooks) installOne(d *jsonDoc, event, name, line string) error {
	for done := false; ; {
		handlers, err := c.at(d, event)
		if err != nil {
			return err
		}
		changed := false
		kept := 0
		for _, h := range handlers {
			switch {
			case hookOf(h.line) != name:
				continue
			case kept == 0 && h.line == line:
			case kept == 0:
				err, changed = d.set(h.command, line), true
			default: // it would be run twice
				err, changed = c.removeOne(d, h), true
			}
			kept++
			if err != nil {
				return err
			}
			if changed {
				break
			}
		}
		if kept == 0 && !done {
			return c.add(d, event, line)
		}
		if done = true; !changed {
			return nil
		}
	}
}

// add puts a group with our command behind those of an event.
func (claudeHooks) add(d *jsonDoc, event, line string) error {
	group := object{{"hooks", []any{object{{"type", "command"}, {"command", line}, {"timeout", hookTimeout}}}}}
	hooks, err := d.getKind(d.root, "hooks", '{')
	if err != nil {
		return err
	}
	if hooks == nil {
		return d.add(d.root, "hooks", object{{event, []any{group}}})
	}
	groups, err := d.getKind(hooks, event, '[')
	if err != nil {
		return err
	}
	if groups == nil {
		return d.add(hooks, event, []any{group})
	}
	return d.add(groups, "", group)
}

func (c claudeHooks) uninstall(data []byte) ([]byte, error) {
	d, err := readJSON(data)
	if err != nil {
		return nil, err
	}
	for changed := false; ; changed = true {
		handlers, err := c.all(d)
		if err != nil {
			return nil, err
		}
		if len(handlers) == 0 {
			if !changed {
				return data, nil
			}
			return d.bytes(), nil
		}
		if err := c.removeOne(d, handlers[len(handlers)-1]); err != nil {
			return nil, err
		}
	}
}

// removeOne takes a command out of its group, a group that has no other out of
// its list, and so on up: Claude Code refuses a file with a group without hooks.
func (claudeHooks) removeOne(d *jsonDoc, h handler) error {
	if len(h.list.items) > 1 {
		return d.remove(h.list, h.h)
	}
	if !h.event.only() {
		return d.remove(h.event, h.g)
	}
	if !h.hooks.only() {
		return d.remove(h.hooks, h.e)
	}
	return d.removeKey(d.root, "hooks")
}
