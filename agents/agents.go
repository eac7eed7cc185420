// Package agents knows the settings of programs that work with a language model:
// where each keeps them, and how memwatchd is put into them and taken out.
//
// Settings are people's files. An edit changes only the entry of memwatchd:
// comments, the order of keys, white space and line ends stay, to the byte. An
// entry in JSON has the style of the file, and one in TOML is a block at the end.
// A second installation changes nothing. Uninstalling restores the file, except
// that an object or a list that was empty before goes with the entry, and that an
// empty file in JSON becomes {}. A defect of a file is an [*Error], and the file
// stays as it is.
//
// It opens no files: bytes come in, bytes go out.
package agents

import (
	"path/filepath"
	"slices"
)

// A Part is what of memwatchd an agent can be given.
type Part string

const (
	MCP   Part = "mcp"  // a server with tools
	Hooks Part = "hook" // commands that the agent runs at its events
)

// A Scope says whose settings are meant.
type Scope string

const (
	User    Scope = "user"    // somebody's own, in all projects
	Project Scope = "project" // a project's, in its directory
	Local   Scope = "local"   // somebody's own in a project
)

// An Agent is a program that can be given memwatchd.
type Agent struct {
	Name  string // as it is called on the command line
	Title string // as it calls itself

	program string                   // its command
	dir     func(m Machine) string   // where it keeps things: it is there if this is
	parts   map[Part]map[Scope]place // where it keeps what
	forms   map[Part]form            // and how

	// What of JSON with comments it does not read. A file with that in it is none
	// to it.
	noComments, noCommas bool
}

// A place lists the files in which something may stand, the one to write first
// if there is none.
type place func(m Machine) []string

// A form is how something is written in a settings file.
type form interface {
	install(data []byte, c Command) ([]byte, error)
	uninstall(data []byte) ([]byte, error)
	installed(data []byte) ([]Command, error)
}

// A Machine is what has to be known of a machine and of who works on it.
type Machine struct {
	Home string // directory of the person
	Dir  string // directory of the project

	Getenv   func(name string) string
	Exists   func(path string) bool
	Read     func(path string) ([]byte, error) // a file that is not there is an error as of os.ReadFile
	LookPath func(program string) (string, error)
}

// or is a directory that a variable names, or else one below the home.
func (m Machine) or(variable string, below ...string) string {
	if dir := m.Getenv(variable); dir != "" {
		return dir
	}
	return filepath.Join(append([]string{m.Home}, below...)...)
}

func (m Machine) claude() string { return m.or("CLAUDE_CONFIG_DIR", ".claude") }
func (m Machine) codex() string  { return m.or("CODEX_HOME", ".codex") }
func (m Machine) gemini() string { return filepath.Join(m.or("GEMINI_CLI_HOME"), ".gemini") }
func (m Machine) opencode() string {
	return filepath.Join(m.or("XDG_CONFIG_HOME", ".config"), "opencode")
}

// claudeState is the file in which Claude Code keeps what it writes itself,
// servers among it. It is beside its directory, unless that was chosen; an old
// name of it in there comes first.
func claudeState(m Machine) []string {
	if old := filepath.Join(m.claude(), ".config.json"); m.Exists(old) {
		return []string{old}
	}
	return []string{filepath.Join(m.or("CLAUDE_CONFIG_DIR"), ".claude.json")}
}

// inProject are files in the directory of a project.
func inProject(names ...string) place {
	return func(m Machine) []string {
		files := make([]string, len(names))
		for i, name := range names {
			files[i] = filepath.Join(m.Dir, filepath.FromSlash(name))
		}
		return files
	}
}

// All are the agents that are known, by their names.
var All = []Agent{
	{
		Name: "claude-code", Title: "Claude Code", program: "claude", dir: Machine.claude,
		parts: map[Part]map[Scope]place{
			MCP: {
				User:    claudeState,
				Project: inProject(".mcp.json"),
			},
			Hooks: {
				User:    func(m Machine) []string { return []string{filepath.Join(m.claude(), "settings.json")} },
				Project: inProject(".claude/settings.json"),
				Local:   inProject(".claude/settings.local.json"),
			},
		},
		forms:      map[Part]form{MCP: jsonServers{key: "mcpServers", kind: "stdio"}, Hooks: claudeHooks{}},
		noComments: true, noCommas: true,
	},
	{
		Name: "codex", Title: "Codex", program: "codex", dir: Machine.codex,
		parts: map[Part]map[Scope]place{MCP: {
			User:    func(m Machine) []string { return []string{filepath.Join(m.codex(), "config.toml")} },
			Project: inProject(".codex/config.toml"),
		}},
		forms: map[Part]form{MCP: tomlServers{}},
	},
	{
		Name: "cursor", Title: "Cursor", program: "cursor", dir: func(m Machine) string { return filepath.Join(m.Home, ".cursor") },
		parts: map[Part]map[Scope]place{MCP: {
			User:    func(m Machine) []string { return []string{filepath.Join(m.Home, ".cursor", "mcp.json")} },
			Project: inProject(".cursor/mcp.json"),
		}},
		forms: map[Part]form{MCP: jsonServers{key: "mcpServers", kind: "stdio"}},
	},
	{
		Name: "gemini", Title: "Gemini CLI", program: "gemini", dir: Machine.gemini,
		parts: map[Part]map[Scope]place{MCP: {
			User:    func(m Machine) []string { return []string{filepath.Join(m.gemini(), "settings.json")} },
			Project: inProject(".gemini/settings.json"),
		}},
		forms:    map[Part]form{MCP: jsonServers{key: "mcpServers"}},
		noCommas: true,
	},
	{
		Name: "opencode", Title: "opencode", program: "opencode", dir: Machine.opencode,
		parts: map[Part]map[Scope]place{MCP: {
			User: func(m Machine) []string {
				return []string{
					filepath.Join(m.opencode(), "opencode.json"),
					filepath.Join(m.opencode(), "opencode.jsonc"),
					filepath.Join(m.opencode(), "config.json"),
				}
			},
			Project: inProject("opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc"),
		}},
		forms: map[Part]form{MCP: jsonServers{key: "mcp", kind: "local", list: true, nested: "servers"}},
	},
}

// Named finds an agent by its name.
func Named(name string) (Agent, bool) {
	i := slices.IndexFunc(All, func(a Agent) bool { return a.Name == name })
	if i < 0 {
		return Agent{}, false
	}
	return All[i], true
}

// Names are the names of those who can be given something, in order.
func Names(p Part) []string {
	var names []string
	for _, a := range All {
		if a.forms[p] != nil {
			names = append(names, a.Name)
		}
	}
	return names
}

// Has says whether the agent can be given something in a scope.
func (a Agent) Has(p Part, s Scope) bool { return a.parts[p][s] != nil }

// Files lists the files in which something may stand: those that the agent reads
// together. There is one at least if it has the part in that scope.
func (a Agent) Files(p Part, s Scope, m Machine) []string {
	if !a.Has(p, s) {
		return nil
	}
	return a.parts[p][s](m)
}

// File is the file to put something into: the one that has it, or the first that
// there is, or the first.
func (a Agent) File(p Part, s Scope, m Machine) string {
	files := a.Files(p, s, m)
	there := ""
	for _, file := range files {
		if !m.Exists(file) {
			continue
		}
		if there == "" {
			there = file
		}
		if data, err := m.Read(file); err == nil {
			if commands, err := a.Installed(p, data); err == nil && len(commands) > 0 {
				return file
			}
		}
	}
	if there == "" && len(files) > 0 {
		return files[0]
	}
	return there
}

// Note is what has to be known of a scope: what the agent asks for before it uses
// what stands there. It is empty if it asks for nothing.
func (a Agent) Note(p Part, s Scope) string {
	switch {
	case a.Name == "claude-code" && s == Project && p == MCP:
		return "Claude Code asks before it starts a server that a project has"
	case a.Name == "claude-code" && s != User && p == Hooks:
		return "Claude Code runs hooks of a project in directories that you trust"
	case a.Name == "codex" && s == Project:
		return "Codex reads settings only of projects that it is told to trust"
	case a.Name == "gemini":
		return "Gemini CLI starts servers only in directories that it is told to trust"
	}
	return ""
}

// Install puts memwatchd into a settings file, or brings it up to date there. The
// command is how it is started, without what says as what: for the hooks the
// program and its flags, for the server what runs it.
func (a Agent) Install(p Part, data []byte, c Command) ([]byte, error) {
	return a.forms[p].install(data, c)
}

// Uninstall takes memwatchd out of a settings file, whatever the command is.
func (a Agent) Uninstall(p Part, data []byte) ([]byte, error) { return a.forms[p].uninstall(data) }

// Installed lists the commands of ours in a settings file: those of hooks in the
// order of the file, or the one of the server. Of a server at an address there is
// an empty one.
func (a Agent) Installed(p Part, data []byte) ([]Command, error) { return a.forms[p].installed(data) }

// Unread returns an error about the first comment, or the first comma behind a last
// item, in a settings file of an agent that does not read these. It returns nil if
// the agent reads the file.
func (a Agent) Unread(p Part, data []byte) *Error {
	if !a.noComments && !a.noCommas {
		return nil
	}
	d, err := readJSON(data)
	if err != nil {
		return nil
	}
	at, noun := len(d.text), "comma behind the last item"
	for v := range d.root.All() {
		list, _ := items(v)
		if n := len(list); n > 0 && list[n-1].Value.AfterExtra != nil {
			at = min(at, list[n-1].Value.EndOffset+len(list[n-1].Value.AfterExtra))
		}
	}
	if a.noComments {
		standard := d.root.Clone()
		standard.Standardize() // replaces comments and these commas with spaces
		for i, c := range standard.Pack()[:at] {
			if d.text[i] != c {
				at, noun = i, "comment"
				break
			}
		}
	}
	if at == len(d.text) {
		return nil
	}
	return errorAt(d.text, at, "%s does not read settings with a %s", a.Title, noun)
}
