// Package agents edits the settings of programs that work with a language
// model: it locates each program's settings files, and installs and uninstalls
// memwatchd there. The table in table.go describes the agents.
//
// Settings files belong to the user. An edit changes only the entry of
// memwatchd: comments, the order of keys, white space and line ends stay, to
// the byte. An entry in JSON has the style of the file, and one in TOML or YAML
// is a block of lines. A second installation changes nothing. Uninstalling
// restores the file, except that an object or a list that was empty before is
// removed with the entry, and removes a file that is as an installation creates it.
// The object of the servers stays if it is the only member of the file. A defect of a
// file is an [*Error], and the file stays as it is.
//
// The package opens no files itself: its functions take and return bytes.
package agents

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Component is a part of memwatchd that can be installed in an agent.
type Component string

const (
	MCP   Component = "mcp"  // a server with tools
	Hooks Component = "hook" // commands that the agent runs at its events, or a skill with commands
)

// An Agent is a program that memwatchd can be installed in.
type Agent struct {
	Name  string // name on the command line
	Title string // name that the agent itself uses

	program string   // its command
	dirs    []string // settings directories; the agent is installed if one exists
	parts   map[Component]part
	hooks   hookFormat
	plugin  plugin
}

// A part is the form of a component in the settings files of a user.
type part struct {
	syntax
	// The files that may contain the part, as for Machine.path. The first is created if
	// none exists.
	files []string
	note  string // advice for the user, such as a confirmation that the agent requires
}

// A syntax is the syntax of a part in a settings file of an agent. The servers of JSON
// update an entry; the others add commands to a file without any.
type syntax interface {
	addCommand(a Agent, data []byte, c Command) ([]byte, error)
	removeCommand(a Agent, data []byte) ([]byte, error)
	listCommands(data []byte) ([]Command, error)
}

// A Machine provides the facts about the user of this machine.
type Machine struct {
	Home     string                            // home directory of the user
	Read     func(path string) ([]byte, error) // reads a settings file; a missing one is empty
	LookPath func(program string) (string, error)
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

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
		if a.Supports(p) {
			names = append(names, a.Name)
		}
	}
	return names
}

// Supports reports whether the agent supports a part.
func (a Agent) Supports(p Component) bool { return a.parts[p].files != nil }

// Files returns the paths of the files that may contain a part, all of which
// the agent reads. It returns at least one path if the agent supports the part,
// otherwise nil. The files may be missing.
func (a Agent) Files(p Component, m Machine) (files []string) {
	for _, path := range a.parts[p].files {
		files = append(files, m.path(path))
	}
	return files
}

// File returns the path of the file to install a part into: the one that
// contains the part, or the first existing one, or the first with an existing
// directory, or the first. The agent must support the part.
func (a Agent) File(p Component, m Machine) string {
	files := a.Files(p, m)
	for _, file := range files {
		if data, err := m.Read(file); err == nil {
			if commands, err := a.Installed(p, data); err == nil && len(commands) > 0 {
				return file
			}
		}
	}
	first := slices.IndexFunc(files, exists)
	if first < 0 {
		first = slices.IndexFunc(files, func(file string) bool { return exists(filepath.Dir(file)) })
	}
	return files[max(first, 0)]
}

// Note returns the advice of the agent for a part, or "".
func (a Agent) Note(p Component) string { return a.parts[p].note }

// Install returns the text of a settings file with memwatchd added, or with its
// entry updated. Empty data means a missing file. c starts memwatchd: for hooks
// it is the program and its flags, without the hook's own arguments; for the
// server it is the whole command. If the file has a defect, the error is an
// *[Error]. The agent must support the part.
func (a Agent) Install(p Component, data []byte, c Command) ([]byte, error) {
	s := a.parts[p].syntax
	has, err := s.listCommands(data)
	if err != nil {
		return nil, err
	}
	if _, updates := s.(jsonServers); !updates && len(has) > 0 {
		byText := func(a, b Command) int { return strings.Compare(a.String(), b.String()) }
		fresh, err := s.addCommand(a, nil, c)
		if err != nil {
			return nil, err
		}
		want, err := s.listCommands(fresh)
		if err != nil || slices.EqualFunc(slices.SortedFunc(slices.Values(has), byText),
			slices.SortedFunc(slices.Values(want), byText), slices.Equal) {
			return data, err
		}
		data, err = s.removeCommand(a, data)
		if err != nil {
			return nil, err
		}
	}
	return s.addCommand(a, data, c)
}

// Uninstall returns the text of a settings file without memwatchd, regardless
// of its command, or nil for a file that an installation created. A file without memwatchd
// stays as it is. If the file has a defect, the error is an *[Error].
func (a Agent) Uninstall(p Component, data []byte) ([]byte, error) {
	if commands, err := a.Installed(p, data); err == nil && len(commands) > 0 && len(commands[0]) > 0 {
		c := commands[0]
		if at := slices.Index(c, "hook"); p == Hooks && at > 0 {
			c = c[:at]
		}
		// Another part above this one leaves the blank line between both.
		if created, err := a.Install(p, nil, c); err == nil && bytes.Equal(created, bytes.TrimLeft(data, "\n")) {
			return nil, nil
		}
	}
	return a.Remove(p, data)
}

// Remove is like Uninstall for a file that the user created, such as the target of a
// symbolic link: its text is nil for a skill only.
func (a Agent) Remove(p Component, data []byte) ([]byte, error) {
	return a.parts[p].removeCommand(a, data)
}

// Installed returns the commands of memwatchd in a settings file: those of
// hooks in the order of the file, or the one of the server. It returns none if
// memwatchd is not installed. The command of a server at an address is empty.
// If the file has a defect, the error is an *[Error].
func (a Agent) Installed(p Component, data []byte) ([]Command, error) {
	return a.parts[p].listCommands(data)
}
