package agents

import (
	"reflect"
	"slices"
)

// serverName is what memwatchd is called in the settings of agents.
const serverName = "memwatchd"

// jsonServers are the MCP servers in a settings file in JSON: an object with a
// member for each, by its name.
type jsonServers struct {
	key    string // of the object
	kind   string // what the type of a server that is started is called, if it has one
	list   bool   // whether the command is a list, with its arguments in it
	nested string // key of an object in the object in which servers may be, too
}

// entry is what is written of a server.
func (s jsonServers) entry(c Command) object {
	var o object
	if s.kind != "" {
		o = object{{"type", s.kind}}
	}
	return append(o, s.command(c)...)
}

// command are the members that say what is started.
func (s jsonServers) command(c Command) object {
	words := make([]any, len(c))
	for i, word := range c {
		words[i] = word
	}
	if s.list {
		return object{{"command", words}}
	}
	return object{{"command", words[0]}, {"args", words[1:]}}
}

// find finds the object of all servers and ours in it. Each is nil if it is not
// there.
func (s jsonServers) find(d *jsonDoc) (servers, ours *node, err error) {
	servers, err = d.getKind(d.root, s.key, '{')
	if err != nil || servers == nil {
		return nil, nil, err
	}
	if s.nested != "" {
		inner, err := d.get(servers, s.nested)
		if err != nil {
			return nil, nil, err
		}
		if inner != nil && inner.kind == '{' && ofObjects(inner) {
			if found, err := d.getKind(inner, serverName, '{'); err != nil || found != nil {
				return inner, found, err
			}
		}
	}
	ours, err = d.getKind(servers, serverName, '{')
	return servers, ours, err
}

// ofObjects tells an object of servers from a server of that name.
func ofObjects(n *node) bool {
	return !slices.ContainsFunc(n.items, func(it item) bool { return it.value.kind != '{' })
}

func (s jsonServers) installed(data []byte) ([]Command, error) {
	d, err := readJSON(data)
	if err != nil {
		return nil, err
	}
	_, ours, err := s.find(d)
	if err != nil || ours == nil {
		return nil, err
	}
	m := d.decode(ours).(map[string]any)
	c := Command{}
	for _, v := range []any{m["command"], m["args"]} {
		switch v := v.(type) {
		case string:
			c = append(c, v)
		case []any:
			for _, e := range v {
				if word, ok := e.(string); ok {
					c = append(c, word)
				}
			}
		}
	}
	return []Command{c}, nil
}

func (s jsonServers) install(data []byte, c Command) ([]byte, error) {
	d, err := readJSON(data)
	if err != nil {
		return nil, err
	}
	servers, ours, err := s.find(d)
	switch {
	case err != nil:
		return nil, err
	case servers == nil:
		err = d.add(d.root, s.key, object{{serverName, s.entry(c)}})
		return d.bytes(), err
	case ours == nil:
		err = d.add(servers, serverName, s.entry(c))
		return d.bytes(), err
	}
	for _, it := range ours.items {
		// What an agent calls the address: url, serverUrl, httpUrl.
		if it.key == "url" || it.key == "serverUrl" || it.key == "httpUrl" {
			return nil, errorAt(d.text, it.start, "%s is a server at an address here: uninstall it first", serverName)
		}
	}
	changed := false
	for _, m := range s.command(c) {
		// Each change moves what is behind it.
		_, ours, err := s.find(d)
		if err != nil {
			return nil, err
		}
		value, err := d.get(ours, m.key)
		switch {
		case err != nil:
			return nil, err
		case value == nil:
			err = d.add(ours, m.key, m.value)
		case reflect.DeepEqual(d.decode(value), m.value):
			continue
		default:
			err = d.set(value, m.value)
		}
		if changed = true; err != nil {
			return nil, err
		}
	}
	if !changed {
		return data, nil
	}
	return d.bytes(), nil
}

func (s jsonServers) uninstall(data []byte) ([]byte, error) {
	d, err := readJSON(data)
	if err != nil {
		return nil, err
	}
	for changed := false; ; changed = true {
		servers, ours, err := s.find(d)
		if err != nil {
			return nil, err
		}
		if ours == nil {
			if !changed {
				return data, nil
			}
			return d.bytes(), nil
		}
		outer, _ := d.get(d.root, s.key)
		if servers == outer && servers.only() {
			err = d.removeKey(d.root, s.key)
		} else {
			err = d.removeKey(servers, serverName)
		}
		if err != nil {
			return nil, err
		}
	}
}
