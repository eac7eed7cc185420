package agents

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"gopkg.in/yaml.v3"
)

// A block is the form of a part in TOML or YAML: lines after a comment that marks them. No
// editor of these languages keeps every byte, so a block is edited as text, and the
// decoded files are compared.
type block struct {
	key    string // of the root, that the block belongs to
	mark   string // comment, which differs by block of a file
	decode func(text string) (map[string]any, error)
	inside bool // YAML: the lines are members of the mapping of the key
	lines  func(c Command) []string
	hook   func(event, line string) []string // the lines of a hook, in place of a server
}

// The forms of servers and of hooks, below a key of the root. A block in TOML is at the end of
// the file:
//
//	# Added by memwatchd
//	[mcp_servers.memwatchd]
//	command = "memwatchd"
//	args = ["mcp"]
//
// In YAML, the lines follow the line of the key, or are at the end of the file with it.
var (
	tomlServers = block{key: "mcp_servers", mark: serverMark, decode: decodeTOML, lines: func(c Command) []string {
		return []string{"[mcp_servers." + serverName + "]", "command = " + quote(c[0]), "args = " + quoteList(c[1:])}
	}}
	tomlHooks = block{key: "hooks", mark: serverMark, decode: decodeTOML, hook: func(event, line string) []string {
		return []string{"[[hooks]]", "event = " + quote(event), "command = " + quote(line), "timeout = 5"}
	}}
	yamlServers = block{key: "mcp_servers", mark: serverMark + " (tools)", decode: decodeYAML, inside: true,
		lines: func(c Command) []string {
			return []string{serverName + ":", "  command: " + quote(c[0]), "  args: " + quoteList(c[1:])}
		}}
	yamlHooks = block{key: "hooks", mark: serverMark + " (hooks)", decode: decodeYAML, inside: true,
		hook: func(event, line string) []string {
			return []string{event + ":", "  - command: " + quote(line), "    timeout: 5"}
		}}
)

// linesOf returns the lines for a command, without the mark.
func (b block) linesOf(a Agent, c Command) (lines []string) {
	if b.hook == nil {
		return b.lines(c)
	}
	for event, line := range a.hookLines(c) {
		lines = append(lines, b.hook(event, line)...)
	}
	return lines
}

const serverMark = "Added by memwatchd"

// quote returns a string that JSON, TOML and YAML have in common, except for a character
// that JSON does not escape.
func quote(text string) string {
	return strings.ReplaceAll(string(encodeJSON(text)), "\x7f", `\u007f`)
}

func quoteList(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = quote(word)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

func decodeTOML(text string) (root map[string]any, err error) {
	if err := toml.Unmarshal([]byte(text), &root); err != nil {
		e := &Error{1, 1, strings.TrimPrefix(err.Error(), "toml: ")}
		if at, ok := err.(*toml.DecodeError); ok {
			e.Line, e.Column = at.Position()
		}
		return nil, e
	}
	return root, nil
}

var yamlLine = regexp.MustCompile(`line (\d+): `)

func decodeYAML(text string) (root map[string]any, err error) {
	if err := yaml.Unmarshal([]byte(text), &root); err != nil {
		e := &Error{1, 1, strings.TrimPrefix(err.Error(), "yaml: ")}
		if m := yamlLine.FindStringSubmatch(e.Text); m != nil {
			e.Line, _ = strconv.Atoi(m[1])
			e.Text = strings.ReplaceAll(strings.TrimPrefix(e.Text, m[0]), "\n", " ")
		}
		return nil, e
	}
	return root, nil
}

// A blockDoc is a decoded settings file.
type blockDoc struct {
	bom, text string
	others    string // all settings but those of memwatchd
	commands  []Command
}

// read parses a settings file and separates the parts of memwatchd from the others.
func (b block) read(data []byte) (d *blockDoc, err error) {
	d = &blockDoc{}
	d.bom, d.text, err = splitBOM(data)
	if err != nil {
		return nil, err
	}
	root, err := b.decode(d.text)
	if err != nil {
		return nil, err
	}
	if root == nil { // an empty file in YAML
		root = map[string]any{}
	}
	if root[b.key] != nil {
		if _, ok := root[b.key].(map[string]any); !ok && b.hook == nil {
			return nil, b.errorAt(d, b.key, "%s must be a table", b.key)
		}
		if rest := d.cut(root[b.key], 0); rest == nil {
			delete(root, b.key)
		} else {
			root[b.key] = rest
		}
	}
	d.others = fmt.Sprintf("%#v", root) // as text, because NaN is not equal to itself
	return d, nil
}

// cut returns a value without the server and the hooks of memwatchd, or nil if nothing is
// left, and adds their commands to d.
func (d *blockDoc) cut(value any, depth int) any {
	switch v := value.(type) {
	case map[string]any:
		if line, ok := v["command"].(string); ok && depth > 0 {
			if c, event := findHook(line); event != "" {
				d.commands = append(d.commands, c)
				return nil
			}
		}
		for key, inner := range v {
			if key == serverName && depth == 0 {
				d.commands = append(d.commands, commandOf(inner))
				delete(v, key)
			} else if depth == 0 {
				v[key] = d.cut(inner, depth+1)
				if v[key] == nil && inner != nil {
					delete(v, key)
				}
			}
		}
		if len(v) == 0 {
			return nil
		}
	case []any:
		var rest []any
		for _, inner := range v {
			if left := d.cut(inner, depth+1); left != nil {
				rest = append(rest, left)
			}
		}
		if rest == nil {
			return nil
		}
		return rest
	}
	return value
}

// errorAt returns an error about the first line with a name that is no comment.
func (b block) errorAt(d *blockDoc, name, format string, args ...any) error {
	at := regexp.MustCompile(`(?m)^[^#\n]*\b` + name + `\b`).FindStringIndex(d.text)
	return errorAt(d.text, append(at, 0)[0], format, args...)
}

func (b block) listCommands(data []byte) ([]Command, error) {
	d, err := b.read(data)
	if err != nil {
		return nil, err
	}
	return d.commands, nil
}

func (b block) addCommand(a Agent, data []byte, c Command) ([]byte, error) {
	d, err := b.read(data)
	if err != nil {
		return nil, err
	}
	text := b.insert(d.text, append([]string{"# " + b.mark}, b.linesOf(a, c)...))
	after, err := b.read([]byte(d.bom + text))
	if err != nil || after.others != d.others || after.commands == nil {
		return nil, b.errorAt(d, b.key, "%s has an unsupported form: write each member on lines of its own", b.key)
	}
	return []byte(d.bom + text), nil
}

// insert returns the text with lines: below the key, or at the end after a blank line.
func (b block) insert(text string, lines []string) string {
	eol := eolOf(text)
	added := strings.Join(lines, eol)
	if b.inside {
		indent := "  "
		if at := regexp.MustCompile(`(?m)^` + b.key + `:[ \t]*(#.*)?\r?\n`).FindStringIndex(text); at != nil {
			if child := regexp.MustCompile(`^(?:[ \t]*(?:#.*)?\r?\n)*( +)[^ #\r\n-]`).FindStringSubmatch(text[at[1]:]); child != nil {
				indent = child[1]
			}
			return text[:at[1]] + indent + strings.Join(lines, eol+indent) + eol + text[at[1]:]
		}
		added = lines[0] + eol + b.key + ":" + eol + indent + strings.Join(lines[1:], eol+indent)
	}
	switch {
	case text == "":
		return added + eol
	case strings.HasSuffix(text, "\n"):
		return text + eol + added + eol
	}
	return text + eol + eol + added
}

// removeCommand removes the mark, its lines, and the blank line before a block at the end.
func (b block) removeCommand(a Agent, data []byte) ([]byte, error) {
	d, err := b.read(data)
	if err != nil || d.commands == nil {
		return data, err
	}
	mark := regexp.MustCompile(`(?m)^[ \t]*# ` + regexp.QuoteMeta(b.mark) + `\r?\n`)
	n := len(b.linesOf(a, Command{""}))
	for _, begin := range mark.FindAllStringIndex(d.text, -1) {
		for _, inside := range []bool{b.inside, false} {
			lines := strings.SplitAfterN(d.text[begin[1]:], "\n", n+2)
			count := n
			if b.inside && !inside { // with the line of the key
				count++
			}
			head, tail, eol := d.text[:begin[0]], strings.Join(lines[min(count, len(lines)):], ""), eolOf(d.text)
			if !inside && (head == eol || strings.HasSuffix(head, "\n"+eol)) {
				head = strings.TrimSuffix(head, eol)
			}
			if tail == "" && !strings.HasSuffix(d.text, "\n") {
				head = strings.TrimSuffix(head, eol)
			}
			after := []byte(d.bom + head + tail)
			if e, err := b.read(after); err == nil && e.others == d.others && e.commands == nil {
				return after, nil
			}
		}
	}
	return nil, b.errorAt(d, serverName, "the entry of memwatchd was changed: delete its lines, starting with this one")
}
