// Package agents edits the settings of programs that work with a language
// model: it locates each program's settings files, and installs and uninstalls
// memwatchd there.
//
// Settings files belong to the user. An edit changes only the entry of
// memwatchd: comments, the order of keys, white space and line ends stay, to
// the byte. An entry in JSON has the style of the file, and one in TOML is a
// block at the end. A second installation changes nothing. Uninstalling
// restores the file, except that an object or a list that was empty before is
// removed with the entry, and that an empty file in JSON becomes {}. The object
// of the servers stays if it is the only member of the file. A defect of a file
// is an [*Error], and the file stays as it is.
//
// The package opens no files: its functions take and return bytes.
package agents

import (
	"path/filepath"
	"slices"
)

// A Component is a part of memwatchd that can be installed in an agent.
type Component string

const (
	MCP   Component = "mcp"  // a server with tools
	Hooks Component = "hook" // commands that the agent runs at its events, or a skill with commands
)

// A Scope determines which settings an agent applies a part to.
type Scope string

const (
	User    Scope = "user"    // the user's, in all projects
	Project Scope = "project" // a project's, in its directory
	Local   Scope = "local"   // the user's, in one project
)

// An Agent is a program that memwatchd can be installed in.
type Agent struct {
	Name  string // name on the command line
	Title string // name that the agent itself uses

	program string                 // its command
	dir     func(m Machine) string // settings directory; the agent is installed if it exists
	parts   map[Component]part
}

// A part is the form of a component in the settings files of each scope.
type part struct {
	syntax
	files map[Scope]locateFunc

	// The confirmation that the agent requires before it uses the part, in each scope or
	// in a project. Empty if it requires none.
	note, projectNote string
}

// A locateFunc returns the files that may contain a part. The first is created if
// none exists.
type locateFunc func(m Machine) []string

// A syntax is the syntax of a part in a settings file.
type syntax interface {
	addCommand(data []byte, c Command) ([]byte, error)
	removeCommand(data []byte) ([]byte, error)
	listCommands(data []byte) ([]Command, error)
}

// A Machine provides the facts about a machine and its user.
type Machine struct {
	Home string // home directory of the user
	Dir  string // directory of the project

	Getenv   func(name string) string
	Exists   func(path string) bool
	Read     func(path string) ([]byte, error) // a missing file is an error as of os.ReadFile
	LookPath func(program string) (string, error)
}

// dirFrom returns the directory that a variable names, or else one below the
// home.
func (m Machine) dirFrom(variable string, below ...string) string {
	if dir := m.Getenv(variable); dir != "" {
		return dir
	}
	return filepath.Join(append([]string{m.Home}, below...)...)
}

func (m Machine) claudeDir() string { return m.dirFrom("CLAUDE_CONFIG_DIR", ".claude") }
func (m Machine) codexDir() string  { return m.dirFrom("CODEX_HOME", ".codex") }
func (m Machine) geminiDir() string { return filepath.Join(m.dirFrom("GEMINI_CLI_HOME"), ".gemini") }
func (m Machine) opencodeDir() string {
	return filepath.Join(m.dirFrom("XDG_CONFIG_HOME", ".config"), "opencode")
}
func (m Machine) skill() string   { return filepath.Join(m.Home, ".agents", "skills", serverName) }
func (m Machine) cursor() string  { return filepath.Join(m.Home, ".cursor") }
func (m Machine) project() string { return m.Dir }

// claudeState returns the file that Claude Code itself writes, which contains
// its servers. It is next to the settings directory, or in the directory that
// CLAUDE_CONFIG_DIR names. A file of the old name in the settings directory
// takes precedence.
func claudeState(m Machine) []string {
	if old := filepath.Join(m.claudeDir(), ".config.json"); m.Exists(old) {
		return []string{old}
	}
	return []string{filepath.Join(m.dirFrom("CLAUDE_CONFIG_DIR"), ".claude.json")}
}

// in returns a place for files in a directory.
func in(dir func(Machine) string, names ...string) locateFunc {
	return func(m Machine) []string {
		files := make([]string, len(names))
		for i, name := range names {
			files[i] = filepath.Join(dir(m), filepath.FromSlash(name))
		}
		return files
	}
}

// All lists the known agents, by name.
var All = []Agent{
	{
		Name: "claude-code", Title: "Claude Code", program: "claude", dir: Machine.claudeDir,
		parts: map[Component]part{
			MCP: {
				syntax:      jsonServers{key: "mcpServers", kind: "stdio"},
				files:       map[Scope]locateFunc{User: claudeState, Project: in(Machine.project, ".mcp.json")},
				projectNote: "Claude Code requires confirmation before it starts a server of a project",
			},
			Hooks: {
				syntax: jsonHooks{events: eventNames, timeout: 5},
				files: map[Scope]locateFunc{
					User:    in(Machine.claudeDir, "settings.json"),
					Project: in(Machine.project, ".claude/settings.json"),
					Local:   in(Machine.project, ".claude/settings.local.json"),
				},
				projectNote: "Claude Code runs hooks of a project in directories that you trust",
			},
		},
	},
	{
		Name: "codex", Title: "Codex", program: "codex", dir: Machine.codexDir,
		parts: map[Component]part{
			MCP: {
				syntax: tomlServers{},
				files: map[Scope]locateFunc{
					User:    in(Machine.codexDir, "config.toml"),
					Project: in(Machine.project, ".codex/config.toml"),
				},
				projectNote: "Codex reads the settings of trusted projects only",
			},
			Hooks: {
				// Codex warns of a longer time limit of SessionEnd.
				syntax: jsonHooks{events: eventNames, args: []string{"--agent", "codex"}, timeout: 3},
				files: map[Scope]locateFunc{
					User:    in(Machine.codexDir, "hooks.json"),
					Project: in(Machine.project, ".codex/hooks.json"),
				},
				note: "Codex runs hooks that you have trusted: run /hooks in Codex",
			},
		},
	},
	{
		Name: "cursor", Title: "Cursor", program: "cursor", dir: Machine.cursor,
		parts: map[Component]part{MCP: {
			syntax: jsonServers{key: "mcpServers", kind: "stdio"},
			files: map[Scope]locateFunc{
				User:    in(Machine.cursor, "mcp.json"),
				Project: in(Machine.project, ".cursor/mcp.json"),
			},
		}},
	},
	{
		Name: "gemini", Title: "Gemini CLI", program: "gemini", dir: Machine.geminiDir,
		parts: map[Component]part{
			MCP: {
				syntax: jsonServers{key: "mcpServers"}, files: geminiSettings,
				note: "Gemini CLI starts servers in trusted directories only",
			},
			Hooks: {
				// The time limit is in milliseconds.
				syntax: jsonHooks{events: geminiEvents, args: []string{"--agent", "gemini"}, timeout: 5000},
				files:  geminiSettings, projectNote: "Gemini CLI warns of the hooks of a project before it runs them",
			},
		},
	},
	{
		Name: "opencode", Title: "opencode", program: "opencode", dir: Machine.opencodeDir,
		parts: map[Component]part{MCP: {
			syntax: jsonServers{key: "mcp", kind: "local", list: true, nested: "servers"},
			files: map[Scope]locateFunc{
				User: in(Machine.opencodeDir, "opencode.json", "opencode.jsonc", "config.json"),
				Project: in(Machine.project, "opencode.json", "opencode.jsonc", ".opencode/opencode.json",
					".opencode/opencode.jsonc"),
			},
		}},
	},
	{
		Name: "skill", Title: "The directory of skills", dir: Machine.skill,
		parts: map[Component]part{Hooks: {
			syntax: skillFile{},
			files: map[Scope]locateFunc{
				User:    in(Machine.skill, "SKILL.md"),
				Project: in(Machine.project, ".agents/skills/memwatchd/SKILL.md"),
			},
		}},
	},
}

// geminiSettings are the settings files of Gemini CLI, for all parts.
var geminiSettings = map[Scope]locateFunc{
	User:    in(Machine.geminiDir, "settings.json"),
	Project: in(Machine.project, ".gemini/settings.json"),
}

// Named returns the agent with a name, and reports whether there is one.
func Named(name string) (Agent, bool) {
	i := slices.IndexFunc(All, func(a Agent) bool { return a.Name == name })
	if i < 0 {
		return Agent{}, false
	}
	return All[i], true
}

// Names returns the names of the agents that support a part, sorted.
func Names(p Component) []string {
	var names []string
	for _, a := range All {
		if a.parts[p].files != nil {
			names = append(names, a.Name)
		}
	}
	return names
}

// HookEvent returns the agent's name of the event of a hook command of
// memwatchd, such as SessionEnd for session-end, or "" if the agent has no such
// event or no hooks.
func (a Agent) HookEvent(command string) string {
	hooks, _ := a.parts[Hooks].syntax.(jsonHooks)
	return hooks.events[command]
}

// OwnsFile reports whether the file of a part contains nothing but memwatchd, so
// that it is removed with the part.
func (a Agent) OwnsFile(p Component) bool { return a.parts[p].syntax == skillFile{} }

// Supports reports whether the agent supports a part in a scope.
func (a Agent) Supports(p Component, s Scope) bool { return a.parts[p].files[s] != nil }

// Files returns the paths of the files that may contain a part, all of which
// the agent reads. It returns at least one path if the agent supports the part
// in that scope, otherwise nil. The files may be missing.
func (a Agent) Files(p Component, s Scope, m Machine) []string {
	if !a.Supports(p, s) {
		return nil
	}
	return a.parts[p].files[s](m)
}

// File returns the path of the file to install a part into: the one that
// contains the part, or the first existing one, or the first. The agent must
// support the part in that scope.
func (a Agent) File(p Component, s Scope, m Machine) string {
	files := a.Files(p, s, m)
	for _, file := range files {
		if data, err := m.Read(file); err == nil {
			if commands, err := a.Installed(p, data); err == nil && len(commands) > 0 {
				return file
			}
		}
	}
	first := slices.IndexFunc(files, m.Exists)
	return files[max(first, 0)]
}

// Note describes the confirmation that the agent requires before it uses a part
// in a scope. It returns "" if none is required.
func (a Agent) Note(p Component, s Scope) string {
	if s != User && a.parts[p].projectNote != "" {
		return a.parts[p].projectNote
	}
	return a.parts[p].note
}

// Install returns the text of a settings file with memwatchd added, or with its
// entry updated. Empty data means a missing file. c starts memwatchd: for hooks
// it is the program and its flags, without the hook's own arguments; for the
// server it is the whole command. If the file has a defect, the error is an
// *[Error]. The agent must support the part.
func (a Agent) Install(p Component, data []byte, c Command) ([]byte, error) {
	return a.parts[p].addCommand(data, c)
}

// Uninstall returns the text of a settings file without memwatchd, regardless
// of its command. A file without memwatchd stays as it is. If the file has a
// defect, the error is an *[Error].
func (a Agent) Uninstall(p Component, data []byte) ([]byte, error) {
	return a.parts[p].removeCommand(data)
}

// Installed returns the commands of memwatchd in a settings file: those of
// hooks in the order of the file, or the one of the server. It returns none if
// memwatchd is not installed. The command of a server at an address is empty.
// If the file has a defect, the error is an *[Error].
func (a Agent) Installed(p Component, data []byte) ([]Command, error) {
	return a.parts[p].listCommands(data)
}
