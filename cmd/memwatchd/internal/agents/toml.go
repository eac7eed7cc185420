package agents

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/memwatchd/memwatchd/internal/lazyregexp"
)

// tomlServers is the form of MCP servers in a settings file in TOML: a table for
// each server. The table of memwatchd is between two comments, at the end.
//
//	# memwatchd: begin
//	[mcp_servers.memwatchd]
//	command = "memwatchd"
//	args = ["mcp"]
//	# memwatchd: end
type tomlServers struct{}

const (
	tomlKey     = "mcp_servers"
	tomlTable   = tomlKey + "." + serverName
	removeError = "%s cannot be removed in this notation: delete its lines, starting with this one"
)

// tomlHeader matches the start of a header of the server's table, or of one
// below.
const tomlHeader = `[ \t]*\[[ \t]*["']?mcp_servers["']?[ \t]*\.[ \t]*["']?memwatchd["']?[ \t]*[].]`

var (
	tomlBegin = lazyregexp.New(`(?m)^# memwatchd: begin\r?$`)

	// tomlLines matches the lines of the server: a mark, a member of
	// mcp_servers, or its tables up to the last line that is not blank and no
	// comment. A pattern cannot recognize all of TOML, so replaceText compares
	// the decoded files.
	tomlLines = lazyregexp.New(`(?m)^(?:# memwatchd: (?:begin|end)\r?$\n?` +
		`|[ \t]*(?:mcp_servers[ \t]*\.[ \t]*)?memwatchd[ \t]*[.=].*\n?` +
		`|` + tomlHeader + `.*\n?(?:(?:[ \t]*(?:#.*)?\r?\n)*(?:[ \t]*[^\s[#]|` + tomlHeader + `).*\n?)*)`)

	// tomlBlock matches the lines from one mark to the next.
	tomlBlock = lazyregexp.New(`(?ms)^# memwatchd: begin\r?$.*?^# memwatchd: end\r?$\n?`)
)

// A tomlDoc is a decoded settings file in TOML.
type tomlDoc struct {
	bom, text string
	others    map[string]any // all settings but the server
	server    any            // nil if it is missing
}

func readTOML(data []byte) (*tomlDoc, error) {
	mark, text, err := splitBOM(data)
	if err != nil {
		return nil, err
	}
	d := &tomlDoc{bom: mark, text: text}
	if err := toml.Unmarshal([]byte(text), &d.others); err != nil {
		e := &Error{1, 1, strings.TrimPrefix(err.Error(), "toml: ")}
		if at, ok := errors.AsType[*toml.DecodeError](err); ok {
			e.Line, e.Column = at.Position()
		}
		return nil, e
	}
	servers, ok := d.others[tomlKey].(map[string]any)
	if !ok && d.others[tomlKey] != nil {
		return nil, d.errorAt(tomlKey, "%s must be a table", tomlKey)
	}
	d.server = servers[serverName]
	delete(servers, serverName)
	if len(servers) == 0 {
		delete(d.others, tomlKey)
	}
	return d, nil
}

// errorAt returns an error about the first line with a name that is no comment.
func (d *tomlDoc) errorAt(name, format string, args ...any) error {
	at := regexp.MustCompile(`(?m)^[^#\n]*\b` + name + `\b`).FindStringIndex(d.text)
	return errorAt(d.text, append(at, 0)[0], format, args...)
}

func (tomlServers) listCommands(data []byte) ([]Command, error) {
	d, err := readTOML(data)
	if err != nil || d.server == nil {
		return nil, err
	}
	return []Command{commandOf(d.server)}, nil
}

func (tomlServers) addCommand(data []byte, c Command) ([]byte, error) {
	d, err := readTOML(data)
	if err != nil {
		return nil, err
	}
	text, command, args := d.text, renderTOML(c[0]), renderTOML(anyList(c[1:]))
	if d.server != nil {
		table, ok := d.server.(map[string]any)
		if !ok {
			return nil, d.errorAt(serverName, "%s must be a table", tomlTable)
		}
		if _, ok := table["url"]; ok {
			return nil, d.errorAt(serverName, addressError, serverName)
		}
		if table["command"] == c[0] && reflect.DeepEqual(table["args"], anyList(c[1:])) {
			return data, nil
		}
		delete(table, "command")
		delete(table, "args")
		if len(table) > 0 {
			key := slices.Min(slices.Collect(maps.Keys(table)))
			return nil, d.errorAt(serverName, "%s also has %s: set command = %s and args = %s there, or uninstall it",
				tomlTable, key, command, args)
		}
		text, err = d.removeServer()
		if err != nil {
			return nil, err
		}
	}
	eol := eolOf(text)
	block := strings.Join([]string{
		"# memwatchd: begin",
		"[" + tomlTable + "]",
		"command = " + command,
		"args = " + args,
		"# memwatchd: end",
	}, eol)
	switch {
	case text == "":
		block += eol
	case strings.HasSuffix(text, "\n"):
		block = eol + block + eol
	default:
		block = eol + eol + block
	}
	after, err := d.replaceText(text+block, map[string]any{"command": c[0], "args": anyList(c[1:])})
	if err != nil {
		return nil, d.errorAt(tomlKey, "%s has an unsupported form: write each server as a table, "+
			"[%[1]s.<name>]", tomlKey)
	}
	return after, nil
}

func (tomlServers) removeCommand(data []byte) ([]byte, error) {
	d, err := readTOML(data)
	if err != nil {
		return nil, err
	}
	if d.server == nil {
		return data, nil
	}
	text, err := d.removeServer()
	if err != nil {
		return nil, err
	}
	return []byte(d.bom + text), nil
}

// removeServer returns the text without the lines of the server or, if other
// settings have such lines, without the block.
func (d *tomlDoc) removeServer() (string, error) {
	for _, lines := range []*regexp.Regexp{tomlLines(), tomlBlock()} {
		text := d.withoutLines(lines)
		if _, err := d.replaceText(text, nil); err == nil {
			return text, nil
		}
	}
	return "", d.errorAt(serverName, removeError, tomlTable)
}

// replaceText returns the file with another text, after a check that this
// changes the server as expected and nothing else.
func (d *tomlDoc) replaceText(text string, server any) ([]byte, error) {
	data := []byte(d.bom + text)
	after, err := readTOML(data)
	if err != nil {
		return nil, err
	}
	// As text, because NaN is not equal to itself.
	if fmt.Sprintf("%#v", after.others) != fmt.Sprintf("%#v", d.others) || !reflect.DeepEqual(after.server, server) {
		return nil, errors.New("other settings would change")
	}
	return data, nil
}

// withoutLines returns the text without the matched lines, from the last
// mark that begins a block or from the top, and without the blank line before.
// Comments after the server, and tables that an agent inserted before the last
// mark, stay.
func (d *tomlDoc) withoutLines(lines *regexp.Regexp) string {
	start := 0
	for _, begin := range tomlBegin().FindAllStringIndex(d.text, -1) {
		start = begin[0]
	}
	first := lines.FindStringIndex(d.text[start:])
	if first == nil {
		return d.text
	}
	head, rest, eol := d.text[:start+first[0]], lines.ReplaceAllString(d.text[start+first[0]:], ""), eolOf(d.text)
	switch {
	case head == "":
		rest = strings.TrimPrefix(rest, eol)
	case head == eol || strings.HasSuffix(head, "\n"+eol):
		head = strings.TrimSuffix(head, eol)
	}
	if rest == "" && !strings.HasSuffix(d.text, "\n") { // as before the block was added
		head = strings.TrimSuffix(head, eol)
	}
	return head + rest
}

// renderTOML returns a string or a list of strings as TOML. A string in JSON is
// one in TOML, except for a character that JSON does not escape.
func renderTOML(v any) string {
	return strings.ReplaceAll(string(new(jsonDoc).render(v, "", false)), "\x7f", `\u007f`)
}
