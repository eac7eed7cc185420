package agents

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// tomlServers are the MCP servers in a settings file in TOML, as Codex has them:
// a table for each.
//
//	[mcp_servers.memwatchd]
//	command = "memwatchd"
//	args = ["mcp"]
type tomlServers struct{}

var (
	tomlTable   = []string{"mcp_servers", serverName}
	tomlCommand = append(slices.Clone(tomlTable), "command")
	tomlArgs    = append(slices.Clone(tomlTable), "args")
)

// A tomlDoc is a settings file in TOML that is changed by spans.
type tomlDoc struct {
	bom, text   []byte
	eol         string
	server      any // ours, as it is read: nil if it is not there
	expressions []expression
}

// An expression is a line with the name of a table, or a key with its value.
type expression struct {
	path       []string // from the top
	header     bool     // it is the name of a table
	start, end int      // from the beginning of the first line to the end of the last, with the end of the line
	last       int      // of a key: where the last part of it begins
	value      int      // where the value begins
	valueEnd   int
}

func readTOML(data []byte) (*tomlDoc, error) {
	mark, text, err := splitBOM(data)
	if err != nil {
		return nil, err
	}
	d := &tomlDoc{bom: []byte(mark), text: []byte(text)}
	return d, d.parse()
}

func (d *tomlDoc) bytes() []byte { return append(bytes.Clone(d.bom), d.text...) }

// parse reads the text. What the library that knows all of TOML says is believed:
// the expressions are only where things are.
func (d *tomlDoc) parse() error {
	var all map[string]any
	if err := toml.Unmarshal(d.text, &all); err != nil {
		if at, ok := errors.AsType[*toml.DecodeError](err); ok {
			line, column := at.Position()
			return &Error{line, column, strings.TrimPrefix(at.Error(), "toml: ")}
		}
		return errorAt(string(d.text), 0, "%s", strings.TrimPrefix(err.Error(), "toml: "))
	}
	d.eol, d.server = eolOf(string(d.text)), nil
	if servers, ok := all[tomlTable[0]]; ok {
		table, ok := servers.(map[string]any)
		if !ok {
			return errorAt(string(d.text), 0, "%s must be a table", tomlTable[0])
		}
		d.server = table[tomlTable[1]]
	}
	return d.locate()
}

// locate finds where the expressions are.
func (d *tomlDoc) locate() error {
	d.expressions = nil
	var p unstable.Parser
	p.Reset(d.text)
	var table []string
	for p.NextExpression() {
		n := p.Expression()
		e := expression{header: n.Kind != unstable.KeyValue}
		end := 0
		for it := n.Key(); it.Next(); {
			key := it.Node()
			e.path = append(e.path, string(key.Data))
			e.last = int(key.Raw.Offset)
			if e.start == 0 {
				e.start = bytes.LastIndexByte(d.text[:key.Raw.Offset], '\n') + 1
			}
			end = int(key.Raw.Offset + key.Raw.Length)
		}
		if e.header {
			table = e.path
		} else {
			e.path = append(slices.Clone(table), e.path...)
			e.value = end + bytes.IndexByte(d.text[end:], '=') + 1
			e.value += len(d.text[e.value:]) - len(bytes.TrimLeft(d.text[e.value:], " \t"))
			end = int(n.Raw.Offset + n.Raw.Length)
			e.valueEnd = end
		}
		e.end = len(d.text)
		if i := bytes.IndexByte(d.text[end:], '\n'); i >= 0 {
			e.end = end + i + 1
		}
		d.expressions = append(d.expressions, e)
	}
	return p.Error() // none: it was read before
}

// find finds the expression of a path.
func (d *tomlDoc) find(path []string) (e expression, ok bool) {
	i := slices.IndexFunc(d.expressions, func(e expression) bool { return slices.Equal(e.path, path) })
	if i < 0 {
		return e, false
	}
	return d.expressions[i], true
}

// splice puts a text in place of a span, and reads all again.
func (d *tomlDoc) splice(start, end int, text string) error {
	d.text = slices.Concat(d.text[:start], []byte(text), d.text[end:])
	return d.parse()
}

func (tomlServers) installed(data []byte) ([]Command, error) {
	d, err := readTOML(data)
	if err != nil || d.server == nil {
		return nil, err
	}
	table, _ := d.server.(map[string]any)
	c := Command{}
	if program, ok := table["command"].(string); ok {
		c = append(c, program)
	}
	args, _ := table["args"].([]any)
	for _, arg := range args {
		if word, ok := arg.(string); ok {
			c = append(c, word)
		}
	}
	return []Command{c}, nil
}

func (tomlServers) install(data []byte, c Command) ([]byte, error) {
	d, err := readTOML(data)
	if err != nil {
		return nil, err
	}
	if d.server == nil {
		return d.addServer(c)
	}
	table, ok := d.server.(map[string]any)
	if !ok {
		return nil, errorAt(string(d.text), d.where(), "%s must be a table", strings.Join(tomlTable, "."))
	}
	if _, ok := table["url"]; ok {
		return nil, errorAt(string(d.text), d.where(), "%s is a server at an address here: uninstall it first", serverName)
	}
	changed := false
	for _, want := range []struct {
		path  []string
		value any
	}{{tomlCommand, c[0]}, {tomlArgs, anyList(c[1:])}} {
		is, there := table[want.path[2]]
		if there && reflect.DeepEqual(is, want.value) {
			continue
		}
		if err := d.set(want.path, there, renderTOML(want.value)); err != nil {
			return nil, err
		}
		changed = true
	}
	if !changed {
		return data, nil
	}
	return d.bytes(), nil
}

// where is where our server is first spoken of.
func (d *tomlDoc) where() int {
	for _, e := range d.expressions {
		if n := min(len(e.path), len(tomlTable)); slices.Equal(e.path[:n], tomlTable[:n]) {
			return e.start
		}
	}
	return 0
}

// addServer puts our table at the end, where it takes nothing from another.
func (d *tomlDoc) addServer(c Command) ([]byte, error) {
	table := strings.Join([]string{
		"[" + strings.Join(tomlTable, ".") + "]",
		"command = " + renderTOML(c[0]),
		"args = " + renderTOML(anyList(c[1:])),
	}, d.eol)
	switch {
	case len(d.text) == 0:
		table += d.eol
	case d.text[len(d.text)-1] == '\n':
		table = d.eol + table + d.eol
	default:
		table = d.eol + d.eol + table
	}
	where := d.where()
	if err := d.splice(len(d.text), len(d.text), table); err != nil {
		return nil, errorAt(string(d.text), where, "no table can be added to %s as it is written: write each server as a table with a name, [%s.…]", tomlTable[0], tomlTable[0])
	}
	return d.bytes(), nil
}

// set gives a key of our table a value.
func (d *tomlDoc) set(path []string, there bool, value string) error {
	if e, ok := d.find(path); ok {
		return d.splice(e.value, e.valueEnd, value)
	}
	if !there {
		// Behind the key before it, which is written the same way.
		if e, ok := d.find(tomlCommand); ok && !e.header {
			line := string(d.text[e.start:e.last]) + path[2] + " = " + value
			return d.insertLine(e.end, line)
		}
		if e, ok := d.find(tomlTable); ok && e.header {
			return d.insertLine(e.end, path[2]+" = "+value)
		}
		header := "[" + strings.Join(tomlTable, ".") + "]"
		if where := d.where(); slices.ContainsFunc(d.expressions, func(e expression) bool {
			return e.header && len(e.path) > len(tomlTable) && slices.Equal(e.path[:len(tomlTable)], tomlTable)
		}) {
			return d.splice(where, where, header+d.eol+path[2]+" = "+value+d.eol+d.eol)
		}
	}
	return errorAt(string(d.text), d.where(), "%s cannot be changed as it is written: write it as a table with a name, [%s]", serverName, strings.Join(tomlTable, "."))
}

// insertLine puts a line behind the one that ends at an offset.
func (d *tomlDoc) insertLine(at int, line string) error {
	if at == len(d.text) && d.text[at-1] != '\n' {
		return d.splice(at, at, d.eol+line)
	}
	return d.splice(at, at, line+d.eol)
}

// renderTOML writes a string or a list of strings. A string of JSON is one of
// TOML, but for a character that JSON leaves as it is.
func renderTOML(v any) string {
	if list, ok := v.([]any); ok {
		parts := make([]string, len(list))
		for i, e := range list {
			parts[i] = renderTOML(e)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return strings.ReplaceAll(string(encode(v)), "\x7f", `\u007f`)
}

func (tomlServers) uninstall(data []byte) ([]byte, error) {
	d, err := readTOML(data)
	if err != nil {
		return nil, err
	}
	if d.server == nil {
		return data, nil
	}
	for d.server != nil {
		i := slices.IndexFunc(d.expressions, func(e expression) bool {
			return len(e.path) >= len(tomlTable) && slices.Equal(e.path[:len(tomlTable)], tomlTable)
		})
		if i < 0 {
			return nil, errorAt(string(d.text), d.where(), "%s cannot be taken out as it is written: take it out by hand", serverName)
		}
		start, end := d.span(i)
		if err := d.splice(start, end, ""); err != nil {
			return nil, errorAt(string(d.text), 0, "%s cannot be taken out: %v", serverName, err)
		}
	}
	return d.bytes(), nil
}

// span is what is taken away with an expression: of a table all its keys, and
// the empty line that was put before it.
func (d *tomlDoc) span(i int) (start, end int) {
	e := d.expressions[i]
	if !e.header {
		return e.start, e.end
	}
	start, end = e.start, e.end
	for _, next := range d.expressions[i+1:] {
		if next.header {
			break
		}
		end = next.end
	}
	before := string(d.text[:start])
	without := strings.TrimSuffix(before, d.eol)
	switch {
	case start == 0: // the empty line behind it would begin the file
		end += len(d.text[end:]) - len(bytes.TrimPrefix(d.text[end:], []byte(d.eol)))
	case end == len(d.text) && d.text[end-1] != '\n':
		// The file had no end of its last line either.
		start = len(strings.TrimSuffix(without, d.eol))
	case without == "" || strings.HasSuffix(without, "\n"):
		start = len(without)
	}
	return start, end
}
