package agents

import "slices"

// A Finding is an agent found on a machine, with its installations of
// memwatchd.
type Finding struct {
	Agent         Agent
	Installations []Installation
	Faults        []Fault
	Plugin        string // command that removes the plugin of memwatchd, "" for none
}

// An Installation is a command of memwatchd in a settings file.
type Installation struct {
	Component Component
	File      string
	Command   Command
}

// A Fault is a settings file that cannot be read.
type Fault struct {
	File string
	Err  error
}

// DetectAgents returns the agents of which the machine has the settings
// directory or the program, sorted by name. Settings files that cannot be read
// are faults of the result.
func DetectAgents(m Machine) []Finding {
	var list []Finding
	for _, a := range All {
		_, err := m.LookPath(a.program)
		if err != nil && !slices.ContainsFunc(a.dirs, func(dir string) bool { return exists(m.path(dir)) }) {
			continue
		}
		f := Finding{Agent: a, Plugin: a.Plugin(m)}
		for _, p := range []Component{MCP, Hooks} {
			f.addInstallations(m, p)
		}
		list = append(list, f)
	}
	return list
}

// Detected returns the names of the agents found on a machine that support a part, sorted.
func Detected(p Component, m Machine) (names []string) {
	for _, f := range DetectAgents(m) {
		if f.Agent.Supports(p) {
			names = append(names, f.Agent.Name)
		}
	}
	return names
}

// Has reports whether a part of memwatchd is installed in the settings of the user.
func (f Finding) Has(p Component) bool {
	return slices.ContainsFunc(f.Installations, func(i Installation) bool { return i.Component == p })
}

func (f *Finding) addInstallations(m Machine, p Component) {
	for _, file := range f.Agent.Files(p, m) {
		data, err := m.Read(file)
		var commands []Command
		if err == nil {
			commands, err = f.Agent.Installed(p, data)
		}
		if err != nil {
			f.Faults = append(f.Faults, Fault{file, err})
		}
		for _, c := range commands {
			f.Installations = append(f.Installations, Installation{p, file, c})
		}
	}
}
