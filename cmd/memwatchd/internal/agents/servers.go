package agents

import (
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

// findServer returns the deepest object on the path to the servers, the keys that it
// lacks, and the entry of memwatchd, or nil if it is missing.
func (s jsonServers) findServer(d *jsonDoc) (at *hujson.Value, missing []string, entry *hujson.Value, err error) {
	at = &d.root
	for i, key := range s.path {
		inner, err := d.findKind(at, key, '{')
		if err != nil {
			return nil, nil, nil, err
		}
		if s.short && i == 1 && !isServers(inner) {
			// Version 1: another server, or none yet in an object with other servers.
			if list, _ := listItems(at); len(list) > 0 {
				break
			}
		}
		if inner == nil {
			return at, s.path[i:], nil, nil
		}
		at = inner
	}
	entry, err = d.findKind(at, serverName, '{')
	return at, nil, entry, err
}

// isServers distinguishes an object of servers from a server and from nothing.
func isServers(v *hujson.Value) bool {
	if v == nil {
		return false
	}
	list, _ := listItems(v)
	return !slices.ContainsFunc(list, func(m hujson.ObjectMember) bool { return m.Value.Value.Kind() != '{' })
}

func (s jsonServers) listCommands(data []byte) ([]Command, error) {
	d, err := readJSON(data)
	if err != nil {
		return nil, err
	}
	_, _, entry, err := s.findServer(d)
	if err != nil || entry == nil {
		return nil, err
	}
	return []Command{commandOf(decodeValue(entry))}, nil
}

func (s jsonServers) addCommand(data []byte, c Command) ([]byte, error) {
	d, err := readJSON(data)
	if err != nil {
		return nil, err
	}
	at, missing, entry, err := s.findServer(d)
	switch {
	case err != nil:
		return nil, err
	case entry == nil:
		keys, value := append(slices.Clone(missing), serverName), any(s.newEntry(c))
		for i := len(keys) - 1; i > 0; i-- {
			value = map[string]any{keys[i]: value}
		}
		return d.fileContent(d.addItem(at, keys[0], value))
	}
	for _, m := range entry.Value.(*hujson.Object).Members {
		switch m.Name.Value.(hujson.Literal).String() {
		case "url", "serverUrl", "httpUrl": // the key of an address differs by agent
			return nil, errorAt(d.text, m.Name.StartOffset, "%s is configured as a remote server: uninstall it first", serverName)
		}
	}
	e := s.newEntry(c)
	err = s.updateMember(d, "command", e.Command)
	if err == nil && !s.list {
		err = s.updateMember(d, "args", e.Args)
	} else if err == nil {
		_, _, entry, _ = s.findServer(d)
		if args, _ := d.findMember(entry, "args"); args != nil { // of another agent
			err = d.removeKey(entry, "args")
		}
	}
	return d.fileContent(err)
}

// updateMember sets a member of the entry of memwatchd that has another value.
func (s jsonServers) updateMember(d *jsonDoc, key string, value any) error {
	_, _, entry, err := s.findServer(d)
	if err != nil {
		return err
	}
	if old, err := d.findMember(entry, key); err != nil || old != nil && reflect.DeepEqual(decodeValue(old), value) {
		return err
	}
	return d.setMember(entry, key, value)
}

// removeCommand removes the entry, and each object on its path that would be empty. Agents
// reject a file for servers without the key, so the only member of a file stays.
func (s jsonServers) removeCommand(data []byte) ([]byte, error) {
	d, err := readJSON(data)
	if err != nil {
		return nil, err
	}
	at, missing, entry, err := s.findServer(d)
	if err != nil || entry == nil || missing != nil {
		return d.fileContent(err)
	}
	chain := []*hujson.Value{&d.root} // objects from the root to the servers
	for _, key := range s.path {
		if chain[len(chain)-1] == at {
			break
		}
		inner, _ := d.findMember(chain[len(chain)-1], key)
		chain = append(chain, inner)
	}
	key, object := serverName, at
	for i := len(chain) - 1; i > 0 && isOnlyItem(chain[i]); i-- {
		if list, _ := listItems(chain[i-1]); i == 1 && len(list) == 1 {
			break
		}
		key, object = s.path[i-1], chain[i-1]
	}
	return d.fileContent(d.removeKey(object, key))
}
