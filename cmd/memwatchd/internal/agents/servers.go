package agents

import (
	"cmp"
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

// findServer returns the keys from the root to the entry of memwatchd, and the values from
// the root to it, or nil if there is no entry.
func (s jsonServers) findServer(d *jsonDoc) (keys []string, chain []*hujson.Value, err error) {
	keys = append(slices.Clone(s.path), serverName)
	if s.short {
		chain, err = d.find('{', s.path...)
		if len(chain) > 1 && len(itemsOf(chain[1])) > 0 && (len(chain) == 2 || !isServers(chain[2])) {
			// Version 1: another server, or none yet in an object with other servers.
			keys = slices.Delete(keys, 1, 2)
		}
	}
	if err == nil {
		chain, err = d.find('{', keys...)
	}
	if len(chain) <= len(keys) {
		chain = nil
	}
	return keys, chain, err
}

// isServers distinguishes an object of servers from a server.
func isServers(v *hujson.Value) bool {
	return !slices.ContainsFunc(itemsOf(v), func(m item) bool { return m.value.Value.Kind() != '{' })
}

func (s jsonServers) listCommands(data []byte) ([]Command, error) {
	d, err := readJSON(data)
	if err != nil {
		return nil, err
	}
	_, chain, err := s.findServer(d)
	if err != nil || chain == nil {
		return nil, err
	}
	return []Command{commandOf(decodeValue(chain[len(chain)-1]))}, nil
}

// addCommand adds the server, or replaces the command of an existing one and keeps its other
// members.
func (s jsonServers) addCommand(_ Agent, data []byte, c Command) ([]byte, error) {
	d, err := readJSON(data)
	if err != nil {
		return nil, err
	}
	keys, chain, err := s.findServer(d)
	if err != nil {
		return nil, err
	}
	e := s.newEntry(c)
	if chain == nil {
		return d.fileContent(d.put(e, '{', keys...))
	}
	for _, m := range itemsOf(chain[len(chain)-1]) {
		switch m.name {
		case "url", "serverUrl", "httpUrl": // the key of an address differs by agent
			return nil, errorAt(d.text, m.start, "%s is configured as a remote server: uninstall it first", serverName)
		}
	}
	return d.fileContent(cmp.Or(d.setMember(keys, "command", e.Command), d.setMember(keys, "args", e.Args)))
}

// removeCommand removes the entry, and each object on its path that would be empty. Agents
// reject a file for servers without the key, so the only member of a file stays.
func (s jsonServers) removeCommand(_ Agent, data []byte) ([]byte, error) {
	d, err := readJSON(data)
	if err != nil {
		return nil, err
	}
	_, chain, err := s.findServer(d)
	if err != nil || chain == nil {
		return d.fileContent(err)
	}
	return d.fileContent(d.removeLast(chain, func(depth int, container *hujson.Value) bool {
		return d.isOnlyItem(container) && (depth > 1 || len(itemsOf(&d.root)) > 1)
	}))
}
