package agents

import (
	"slices"

	"github.com/tailscale/hujson"
)

// hookEvents lists events of Claude Code, in the order in which they happen, and
// their names in memwatchd.
var hookEvents = []hookEvent{
	{"SessionStart", "session-start"},
	{"UserPromptSubmit", "prompt"},
	{"PreCompact", "pre-compact"},
	{"Stop", "stop"},
	{"SessionEnd", "session-end"},
}

type hookEvent struct{ event, command string }

// hookTimeout is the time limit of a hook in seconds, many times the usual run time.
const hookTimeout = 5

// claudeHooks is the form of the hooks of Claude Code: commands for its shell, in
// groups, in a list for each event.
//
//	{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "memwatchd hook stop", "timeout": 5}]}]}}
type claudeHooks struct{}

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
	line               string
}

// handlers lists the commands of memwatchd at an event. A value that Claude Code
// rejects is an error.
func (claudeHooks) handlers(d *jsonDoc, hooks *hujson.Value, e int, event string) ([]handler, error) {
	groups, err := d.getKind(hooks, event, '[')
	if err != nil {
		return nil, err
	}
	var found []handler
	for g := range groups.Value.(*hujson.Array).Elements {
		group := &groups.Value.(*hujson.Array).Elements[g]
		if group.Value.Kind() != '{' {
			return nil, errorAt(d.text, group.StartOffset, "a group of hooks must be an object, in braces")
		}
		list, err := d.getKind(group, "hooks", '[')
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
			command, err := d.get(&one, "command")
			if err != nil {
				return nil, err
			}
			if command == nil || command.Value.Kind() != '"' {
				continue
			}
			if line := command.Value.(hujson.Literal).String(); hookOf(line) != "" {
				found = append(found, handler{hooks, groups, list, e, g, h, line})
			}
		}
	}
	return found, nil
}

// find lists the commands of memwatchd at an event, or at all events if it is
// empty. Events without a name in memwatchd may have values of any form.
func (c claudeHooks) find(d *jsonDoc, event string) ([]handler, error) {
	hooks, err := d.getKind(&d.root, "hooks", '{')
	if err != nil || hooks == nil {
		return nil, err
	}
	var found []handler
	list, _ := items(hooks)
	for e, m := range list {
		name := m.Name.Value.(hujson.Literal).String()
		if event != "" && name != event {
			continue
		}
		handlers, err := c.handlers(d, hooks, e, name)
		if err != nil && slices.ContainsFunc(hookEvents, func(h hookEvent) bool { return h.event == name }) {
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
	handlers, err := c.find(d, "")
	var commands []Command
	for _, h := range handlers {
		words, _ := splitWords(h.line)
		commands = append(commands, words)
	}
	return commands, err
}

func (c claudeHooks) install(data []byte, command Command) ([]byte, error) {
	d, err := readJSON(data)
	for _, e := range hookEvents {
		line := append(append(Command{}, command...), "hook", e.command).String()
		for done := false; err == nil && !done; {
			done, err = c.step(d, e, line)
		}
	}
	if err != nil {
		return nil, err
	}
	return d.result(nil)
}

// step makes one edit towards exactly one command of memwatchd at an event, and
// reports whether the file has that.
func (c claudeHooks) step(d *jsonDoc, e hookEvent, line string) (done bool, err error) {
	handlers, err := c.find(d, e.event)
	if err != nil {
		return false, err
	}
	handlers = slices.DeleteFunc(handlers, func(h handler) bool { return hookOf(h.line) != e.command })
	switch {
	case len(handlers) == 0:
		return true, c.add(d, e.event, line)
	case len(handlers) > 1: // Claude Code would run both
		return false, c.remove(d, handlers[len(handlers)-1])
	case handlers[0].line != line:
		h := handlers[0]
		return true, d.put(&h.list.Value.(*hujson.Array).Elements[h.h], "command", line)
	}
	return true, nil
}

// add appends a group with a command to those of an event.
func (claudeHooks) add(d *jsonDoc, event, line string) error {
	group := hookGroup{[]hookCommand{{"command", line, hookTimeout}}}
	hooks, err := d.getKind(&d.root, "hooks", '{')
	if err != nil {
		return err
	}
	if hooks == nil {
		return d.add(&d.root, "hooks", map[string]any{event: []hookGroup{group}})
	}
	groups, err := d.getKind(hooks, event, '[')
	if err != nil {
		return err
	}
	if groups == nil {
		return d.add(hooks, event, []hookGroup{group})
	}
	return d.add(groups, "", group)
}

func (c claudeHooks) uninstall(data []byte) ([]byte, error) {
	d, err := readJSON(data)
	for err == nil {
		handlers, failed := c.find(d, "")
		if failed != nil || len(handlers) == 0 {
			return d.result(failed)
		}
		err = c.remove(d, handlers[len(handlers)-1])
	}
	return nil, err
}

// remove removes a command from its group, or the group if it has no other, or
// the event or all hooks likewise. Claude Code rejects a group without hooks.
func (claudeHooks) remove(d *jsonDoc, h handler) error {
	if list, _ := items(h.list); len(list) > 1 {
		return d.remove(h.list, h.h)
	}
	if !only(h.event) {
		return d.remove(h.event, h.g)
	}
	if !only(h.hooks) {
		return d.remove(h.hooks, h.e)
	}
	return d.removeKey(&d.root, "hooks")
}
