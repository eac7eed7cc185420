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

// listHandlers lists the commands of memwatchd at an event. A value that Claude Code
// rejects is an error.
func (claudeHooks) listHandlers(d *jsonDoc, hooks *hujson.Value, e int, event string) ([]handler, error) {
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
			if line := command.Value.(hujson.Literal).String(); hookOf(line) != "" {
				found = append(found, handler{hooks, groups, list, e, g, h, line})
			}
		}
	}
	return found, nil
}

// findHandlers lists the commands of memwatchd at an event, or at all events if it is
// empty. Events without a name in memwatchd may have values of any form.
func (c claudeHooks) findHandlers(d *jsonDoc, event string) ([]handler, error) {
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
		if err != nil && slices.ContainsFunc(hookEvents, func(h hookEvent) bool { return h.event == name }) {
			return nil, err
		}
		found = append(found, handlers...)
	}
	return found, nil
}

func (c claudeHooks) listCommands(data []byte) ([]Command, error) {
	d, err := readJSON(data)
	if err != nil {
		return nil, err
	}
	handlers, err := c.findHandlers(d, "")
	var commands []Command
	for _, h := range handlers {
		words, _ := splitWords(h.line)
		commands = append(commands, words)
	}
	return commands, err
}

func (c claudeHooks) addCommand(data []byte, command Command) ([]byte, error) {
	d, err := readJSON(data)
	for _, e := range hookEvents {
		line := append(append(Command{}, command...), "hook", e.command).String()
		for done := false; err == nil && !done; {
			done, err = c.installEvent(d, e, line)
		}
	}
	if err != nil {
		return nil, err
	}
	return d.fileContent(nil)
}

// installEvent makes one edit towards exactly one command of memwatchd at an event, and
// reports whether the file has that.
func (c claudeHooks) installEvent(d *jsonDoc, e hookEvent, line string) (done bool, err error) {
	handlers, err := c.findHandlers(d, e.event)
	if err != nil {
		return false, err
	}
	handlers = slices.DeleteFunc(handlers, func(h handler) bool { return hookOf(h.line) != e.command })
	switch {
	case len(handlers) == 0:
		return true, c.addHook(d, e.event, line)
	case len(handlers) > 1: // Claude Code would run both
		return false, c.removeHook(d, handlers[len(handlers)-1])
	case handlers[0].line != line:
		h := handlers[0]
		return true, d.setMember(&h.list.Value.(*hujson.Array).Elements[h.h], "command", line)
	}
	return true, nil
}

// addHook appends a group with a command to those of an event.
func (claudeHooks) addHook(d *jsonDoc, event, line string) error {
	group := hookGroup{[]hookCommand{{"command", line, hookTimeout}}}
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

func (c claudeHooks) removeCommand(data []byte) ([]byte, error) {
	d, err := readJSON(data)
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
// the event or all hooks likewise. Claude Code rejects a group without hooks.
func (claudeHooks) removeHook(d *jsonDoc, h handler) error {
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
