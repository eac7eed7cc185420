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
	key    string // of the object
	kind   string // type of a server that the agent starts, if it has one
	list   bool   // whether the command is a list with the arguments
	nested string // key of an object in the object that may have servers as well
}

// An entry is a server in the settings, with its members in order.
type entry struct {
	Type    string `json:"type,omitempty"`
	Command any    `json:"command"`
	Args    any    `json:"args,omitempty"`
}

func (s jsonServers) newEntry(c Command) entry {
	if s.list {
		return entry{s.kind, anyList(c), nil}
	}
	return entry{s.kind, c[0], anyList(c[1:])}
}

// anyList returns words as encoding/json and go-toml decode a list.
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

// findServer returns the object of all servers and the entry of memwatchd. Each is nil
// if it is missing.
func (s jsonServers) findServer(d *jsonDoc) (servers, entry *hujson.Value, err error) {
	servers, err = d.findKind(&d.root, s.key, '{')
	if err != nil || servers == nil {
		return nil, nil, err
	}
	if s.nested != "" {
		inner, err := d.findMember(servers, s.nested)
		if err != nil {
			return nil, nil, err
		}
		if inner != nil && containsObjects(inner) {
			if found, err := d.findKind(inner, serverName, '{'); err != nil || found != nil {
				return inner, found, err
			}
		}
	}
	entry, err = d.findKind(servers, serverName, '{')
	return servers, entry, err
}

// containsObjects distinguishes an object of servers from a server.
func containsObjects(v *hujson.Value) bool {
	list, _ := listItems(v)
	return v.Value.Kind() == '{' &&
		!slices.ContainsFunc(list, func(m hujson.ObjectMember) bool { return m.Value.Value.Kind() != '{' })
}

func (s jsonServers) listCommands(data []byte) ([]Command, error) {
	d, err := readJSON(data)
	if err != nil {
		return nil, err
	}
	_, entry, err := s.findServer(d)
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
	servers, entry, err := s.findServer(d)
	switch {
	case err != nil:
		return nil, err
	case servers == nil:
		return d.fileContent(d.addItem(&d.root, s.key, map[string]any{serverName: s.newEntry(c)}))
	case entry == nil:
		return d.fileContent(d.addItem(servers, serverName, s.newEntry(c)))
	}
	for _, m := range entry.Value.(*hujson.Object).Members {
		switch m.Name.Value.(hujson.Literal).String() {
		case "url", "serverUrl", "httpUrl": // the key of an address differs by agent
			return nil, errorAt(d.text, m.Name.StartOffset, addressError, serverName)
		}
	}
	e := s.newEntry(c)
	err = s.updateMember(d, "command", e.Command)
	if err == nil && !s.list {
		err = s.updateMember(d, "args", e.Args)
	}
	return d.fileContent(err)
}

// addressError is the error about a server that memwatchd cannot have installed.
const addressError = "%s is configured as a remote server: uninstall it first"

// updateMember sets a member of the entry of memwatchd that has another value.
func (s jsonServers) updateMember(d *jsonDoc, key string, value any) error {
	_, entry, err := s.findServer(d)
	if err != nil {
		return err
	}
	if old, err := d.findMember(entry, key); err != nil || old != nil && reflect.DeepEqual(decodeValue(old), value) {
		return err
	}
	return d.setMember(entry, key, value)
}

func (s jsonServers) removeCommand(data []byte) ([]byte, error) {
	d, err := readJSON(data)
	for err == nil {
		servers, entry, failed := s.findServer(d)
		if failed != nil || entry == nil {
			return d.fileContent(failed)
		}
		outer, _ := d.findMember(&d.root, s.key)
		keys, _ := listItems(&d.root)
		// Agents reject a file for servers without the key.
		if servers == outer && isOnlyItem(servers) && len(keys) > 1 {
			err = d.removeKey(&d.root, s.key)
		} else {
			err = d.removeKey(servers, serverName)
		}
	}
	return nil, err
}
