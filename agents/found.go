package agents

import (
	"errors"
	"io/fs"
)

// A Finding is an agent found on a machine, with its installations of
// memwatchd.
type Finding struct {
	Agent   Agent
	Dir     string // its settings directory; empty if missing
	Program string // its command; empty if it is not in the path
	Has     []Installation
	Faults  []Fault
}

// An Installation is a command of memwatchd in a settings file.
type Installation struct {
	Part    Part
	Scope   Scope
	File    string
	Command Command
}

// A Fault is a settings file that cannot be read, or that the agent does not read.
type Fault struct {
	File string
	Err  error
}

// Found returns the agents on a machine, by name.
func Found(m Machine) []Finding {
	var list []Finding
	for _, a := range All {
		f := Finding{Agent: a}
		if dir := a.dir(m); m.Exists(dir) {
			f.Dir = dir
		}
		if program, err := m.LookPath(a.program); err == nil {
			f.Program = program
		}
		if f.Dir == "" && f.Program == "" {
			continue
		}
		for _, p := range []Part{MCP, Hooks} {
			for _, s := range []Scope{User, Project, Local} {
				f.look(m, p, s)
			}
		}
		list = append(list, f)
	}
	return list
}

// look adds the installations of a part in one scope.
func (f *Finding) look(m Machine, p Part, s Scope) {
	for _, file := range f.Agent.Files(p, s, m) {
		data, err := m.Read(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var commands []Command
		if err == nil {
			commands, err = f.Agent.Installed(p, data)
		}
		if err == nil {
			if unread := f.Agent.Unread(p, data); unread != nil && len(commands) > 0 {
				err = unread
			}
		}
		if err != nil {
			f.Faults = append(f.Faults, Fault{file, err})
		}
		for _, c := range commands {
			f.Has = append(f.Has, Installation{p, s, file, c})
		}
	}
}
