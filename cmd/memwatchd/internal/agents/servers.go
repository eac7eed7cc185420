package agents

import (
	"cmp"
	"reflect"
	"slices"

	"github.com/tailscale/hujson"
)

// serverName is the name of memwatchd in the settings of agents.
const serverName = "memwatchd"

// jsonServers is the form of MCP servers in a settings file in JSON: an object
// with a member for each server.
type jsonServers struct {
	path  []string // keys of the object, from the root
	kind  string   // type of a server that the agent starts, if it has one
	list  bool     // whether the command is a list with the arguments
	tools bool     // whether an entry lists the tools to use
	short bool     // whether the servers can be members of the object of the first key instead
}

// An entry is a server in the settings, with its members in order.
type entry struct {
	Type    string `json:"type,omitempty"`
	Command any    `json:"command"`
	Args    any    `json:"args,omitempty"`
	Tools   any    `json:"tools,omitempty"`
}

func (s jsonServers) newEntry(c Command) entry {
	if s.list {
		return entry{s.kind, anyList(c), nil, nil}
	}
	e := entry{s.kind, c[0], anyList(c[1:]), nil}
	if s.tools {
		e.Tools = []string{"*"}
	}
	return e
}

// anyList returns words as encoding/json, go-toml and yaml decode a list.
func anyList(words []string) []any {
	list := make([]any, len(words))
	for i, word := range words {
		list[i] = word
	}
	return list
}

// commandOf returns the command of a decoded entry, without values of other types.
func commandOf(server any) Command {
	c := Command{}
	m, _ := server.(map[string]any)
	for _, key := range []string{"command", "args"} {
		list, ok := m[key].([]any)
		if !ok {
			list = []any{m[key]}
		}
		for _, v := range list {
			if word, ok := v.(string); ok {
				c = append(c, word)
			}
		}
	}
	return c
}

// findServer returns the steps from the root to the entry of memwatchd, and the keys that
// are missing after them.
func (s jsonServers) findServer(d *jsonDoc) (chain []step, missing []string, err error) {
	keys := append(slices.Clone(s.path), serverName)
	at := &d.root
	for i := 0; i < len(keys); i++ {
		member, err := d.findKind(at, keys[i], '{')
		if err != nil {
			return nil, nil, err
		}
		switch {
		case s.short && len(chain) == 1 && len(keys) == 3 && !isServers(member.value()) && len(itemsOf(at)) > 0:
			// Version 1: another server, or none yet in an object with other servers.
			keys = slices.Delete(keys, i, i+1)
			i--
			continue
		case member.at < 0:
			return chain, keys[i:], nil
		}
		chain = append(chain, member)
		at = member.value()
	}
	return chain, nil, nil
}

// isServers distinguishes an object of servers from a server and from nothing.
func isServers(v *hujson.Value) bool {
	return v != nil && !slices.ContainsFunc(itemsOf(v), func(m item) bool { return m.value.Value.Kind() != '{' })
}

func (s jsonServers) listCommands(data []byte) ([]Command, error) {
	d, err := readJSON(data)
	if err != nil {
		return nil, err
	}
	chain, missing, err := s.findServer(d)
	if err != nil || missing != nil {
		return nil, err
	}
	return []Command{commandOf(decodeValue(chain[len(chain)-1].value()))}, nil
}

func (s jsonServers) addCommand(_ Agent, data []byte, c Command) ([]byte, error) {
	d, err := readJSON(data)
	if err != nil {
		return nil, err
	}
	chain, missing, err := s.findServer(d)
	if err != nil {
		return nil, err
	}
	at := &d.root // the last object of the chain
	if len(chain) > 0 {
		at = chain[len(chain)-1].value()
	}
	if missing != nil {
		value := any(s.newEntry(c))
		for i := len(missing) - 1; i > 0; i-- {
			value = map[string]any{missing[i]: value}
		}
		return d.fileContent(d.addItem(at, missing[0], value))
	}
	for _, m := range itemsOf(at) {
		switch m.name {
		case "url", "serverUrl", "httpUrl": // the key of an address differs by agent
			return nil, errorAt(d.text, m.start, "%s is configured as a remote server: uninstall it first", serverName)
		}
	}
	e := s.newEntry(c)
	return d.fileContent(cmp.Or(s.updateMember(d, "command", e.Command), s.updateMember(d, "args", e.Args)))
}

// updateMember sets a member of the entry of memwatchd that has another value. Without a
// value, it removes the member, such as that of another agent.
func (s jsonServers) updateMember(d *jsonDoc, key string, value any) error {
	chain, _, err := s.findServer(d)
	if err != nil {
		return err
	}
	entry := chain[len(chain)-1].value()
	old, err := d.findMember(entry, key)
	switch {
	case err != nil || old.at < 0 && value == nil || old.at >= 0 && reflect.DeepEqual(decodeValue(old.value()), value):
		return err
	case value == nil:
		return d.removeItem(entry, old.at)
	}
	return d.setMember(entry, key, value)
}

// removeCommand removes the entry, and each object on its path that would be empty. Agents
// reject a file for servers without the key, so the only member of a file stays.
func (s jsonServers) removeCommand(_ Agent, data []byte) ([]byte, error) {
	d, err := readJSON(data)
	if err != nil {
		return nil, err
	}
	chain, missing, err := s.findServer(d)
	if err != nil || missing != nil {
		return d.fileContent(err)
	}
	return d.fileContent(d.removeChain(chain, func(depth int, container *hujson.Value) bool {
		return d.isOnlyItem(container) && (depth > 1 || len(itemsOf(&d.root)) > 1)
	}))
}
