package doctor

import (
	"bytes"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/agents"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/build"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/service"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/setup"
	"github.com/memwatchd/memwatchd/internal/lazyregexp"
)

// A programState is the result of comparing a program with the running one.
type programState int

const (
	sameProgram programState = iota
	otherProgram
	noProgram
)

// compareProgram looks a program up and compares it with the running one.
func compareProgram(program string) programState {
	path, err := exec.LookPath(program)
	if err != nil {
		return noProgram
	}
	self, err := os.Executable()
	if err != nil {
		return sameProgram
	}
	x, err := os.Stat(path)
	y, err2 := os.Stat(self)
	if err == nil && err2 == nil && !os.SameFile(x, y) {
		return otherProgram
	}
	return sameProgram
}

// inspectProgram reports whether the daemon and PATH have this program.
func inspectProgram(e *examination) (list findings) {
	if s := e.status; s != nil {
		// The kernel marks the file of a process after an update has replaced it.
		exe, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", s.PID))
		list = versionFindings(s.Version, build.Version(), strings.HasSuffix(exe, " (deleted)"),
			e.restartCommand(s.PID))
	}
	switch compareProgram("memwatchd") {
	case noProgram:
		list.add(note, "In the commands of this report, type the path of this program.", "",
			"PATH does not contain memwatchd.")
	case otherProgram:
		list.add(warning, "Remove one of them, or correct PATH.", "command -v memwatchd",
			"The memwatchd in PATH is a different program.")
	}
	return list.orPassed("memwatchd %s", build.Version())
}

func versionFindings(daemon, this string, replaced bool, restart string) (list findings) {
	switch {
	case daemon != this:
		list.add(warning, "Restart the daemon.", restart, "The daemon has version %s, and this program has %s.",
			daemon, this)
	case replaced:
		list.add(warning, "Restart the daemon.", restart, "The program of the daemon was replaced after its start.")
	}
	return list
}

// inspectService reports whether the system starts the daemon.
func inspectService(e *examination) findings {
	s := &service.Service{Name: e.config.Name}
	places, manager := []string{}, "/run/systemd/system"
	switch runtime.GOOS {
	case "linux":
		for _, dir := range []string{setup.UserUnits(), "/etc/systemd/user", setup.SystemUnits} {
			places = append(places, filepath.Join(dir, s.UnitName()))
		}
	case "darwin":
		manager = "/bin/launchctl"
		home, err := os.UserHomeDir()
		if err != nil {
			return nil
		}
		places = append(places, filepath.Join(home, "Library", "LaunchAgents", s.Label()+".plist"))
	}
	i := serviceState{answers: e.answered, started: true}
	for _, place := range places {
		text, err := os.ReadFile(place)
		if err != nil {
			continue
		}
		i.file = place
		if program := programOf(string(text)); program != "" {
			i.program = compareProgram(program)
		}
		break
	}
	_, err := os.Stat(manager)
	i.managed = err == nil
	if e.status != nil {
		if group, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", e.status.PID)); err == nil {
			i.started = bytes.Contains(group, []byte("/"+s.UnitName()))
		}
	}
	return i.findings(e.flags.Command)
}

// programPattern matches the program that a unit of systemd or an agent of launchd starts.
var programPattern = lazyregexp.New(`(?m)^ExecStart=("(?:[^"\\]|\\.)*"|\S+)|<key>ProgramArguments</key>\s*<array>\s*<string>([^<]*)</string>`)

// programOf returns the path of the program that a unit or an agent starts, or ""
// if the text does not contain one.
func programOf(text string) string {
	m := programPattern().FindStringSubmatch(text)
	switch {
	case m == nil:
		return ""
	case m[1] != "":
		return strings.ReplaceAll(strings.Trim(m[1], `"`), "%%", "%")
	}
	return html.UnescapeString(m[2])
}

// A serviceState describes the service of a machine.
type serviceState struct {
	managed bool         // the machine has a service manager
	file    string       // the unit, or the agent of launchd; empty if there is none
	program programState // that it starts
	answers bool         // a daemon answers
	started bool         // the manager started it, as far as is known
}

func (i serviceState) findings(command func(string) string) (list findings) {
	install, status := command("service install"), command("service status")
	if runtime.GOOS == "darwin" {
		install, status = command("service print"), command("service print")
	}
	switch {
	case i.file == "" && !i.managed:
		return nil
	case i.file == "":
		list.add(note, "", install, "No service starts the daemon after a restart of the machine.")
	case i.program == noProgram:
		list.add(warning, "Install the service again.", install, "%s starts a program that does not exist.", i.file)
	case !i.answers:
		list.add(warning, "Find out why the service does not run.", status, "%s is installed, and no daemon answers.",
			i.file)
	case !i.started:
		list.add(note, "Stop the daemon, then start the service.", status,
			"%s is installed, and did not start the daemon.", i.file)
	case i.program == otherProgram:
		list.add(note, "To change that, install the service again.", install, "%s starts a different program.",
			i.file)
	}
	return list.orPassed("%s starts the daemon.", i.file)
}

// inspectAgents reports which agents are on this machine, and whether their settings
// start this program.
func inspectAgents(e *examination) (list findings) {
	m, err := setup.ThisMachine()
	if err != nil {
		return nil
	}
	for _, a := range agents.DetectAgents(m) {
		list = append(list, agentFindings(a, compareProgram, e.flags.Command)...)
	}
	return list
}

func agentFindings(a agents.Finding, compare func(string) programState, command func(string) string) (list findings) {
	title := a.Agent.Title
	for _, f := range a.Faults {
		list.add(warning, "Correct the file.", "", "%s: %s: %v", title, f.File, f.Err)
	}
	for _, part := range []agents.Component{agents.MCP, agents.Hooks} {
		if !a.Agent.Supports(part, agents.User) {
			continue
		}
		name := map[agents.Component]string{agents.MCP: "tools", agents.Hooks: "hooks"}[part]
		if a.Agent.OwnsFile(part) {
			name = "skill"
		}
		install := command(string(part) + " install --agent " + a.Agent.Name)
		found, worst := agents.Installation{}, sameProgram
		for _, i := range a.Installations {
			if i.Component != part {
				continue
			}
			state := sameProgram // of a server at an address
			if len(i.Command) > 0 {
				state = compare(i.Command[0])
			}
			if found.File == "" || state > worst {
				found, worst = i, state
			}
		}
		switch {
		case found.File == "" && len(a.Faults) > 0:
		case found.File == "":
			list.add(note, "", install, "%s does not have the %s of memwatchd.", title, name)
		case worst == noProgram:
			list.add(warning, "Install the "+name+" again, in "+found.File+".", install,
				"%s starts %s, which does not exist.", title, found.Command[0])
		case worst == otherProgram && strings.HasPrefix(filepath.Base(found.Command[0]), "memwatchd"):
			list.add(note, "To change that, install the "+name+" again, in "+found.File+".", install,
				"%s starts %s, a different program.", title, found.Command[0])
		default:
			list.add(passed, "", "", "%s has the %s of memwatchd.", title, name)
		}
	}
	return list
}
