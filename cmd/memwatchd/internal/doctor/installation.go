package doctor

import (
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/agents"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/build"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/service"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/setup"
)

// inspectProgram reports whether the daemon and PATH have this program.
func inspectProgram(e *examination) (list findings) {
	if s := e.status; s != nil {
		// The kernel marks the file of a process after an update has replaced it.
		exe, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", s.PID))
		if s.Version != build.Version() || strings.HasSuffix(exe, " (deleted)") {
			list.add(warning, "", e.flags.Command("restart"),
				"The daemon has version %s from before an update; this program has %s.", s.Version, build.Version())
		}
	}
	if _, err := exec.LookPath("memwatchd"); err != nil {
		list.add(note, "In the commands of this report, type the path of this program.", "",
			"PATH does not contain memwatchd.")
	}
	return list.orPassed("memwatchd %s", build.Version())
}

// inspectService reports whether the service manager starts the daemon at login.
func inspectService(e *examination) (list findings) {
	unit := service.Installed(e.config.Name)
	switch {
	case unit == "":
		list.add(note, "", e.flags.Command("service install"), "No service starts the daemon at login.")
	case !e.answered:
		list.add(warning, "Find out why the service does not run.", e.flags.Command("logs"),
			"%s is installed, and no daemon answers.", unit)
	}
	return list.orPassed("%s starts the daemon.", unit)
}

// inspectAgents reports which agents are on this machine, and whether their settings
// start a program that exists.
func inspectAgents(e *examination) (list findings) {
	m, err := setup.ThisMachine()
	if err != nil {
		return nil
	}
	for _, a := range agents.DetectAgents(m) {
		list = append(list, agentFindings(a, exec.LookPath, e.flags.Command)...)
	}
	return list
}

func agentFindings(
	a agents.Finding, lookPath func(string) (string, error), command func(string) string,
) (list findings) {
	title := a.Agent.Title
	for _, f := range a.Faults {
		list.add(warning, "Correct the file.", "", "%s: %s: %v", title, f.File, f.Err)
	}
	for _, part := range []agents.Component{agents.MCP, agents.Hooks} {
		if !a.Agent.Supports(part) {
			continue
		}
		name := map[agents.Component]string{agents.MCP: "tools", agents.Hooks: "hooks"}[part]
		if a.Agent.OwnsFile(part) {
			name = "skill"
		}
		install := command(string(part) + " install --agent " + a.Agent.Name)
		found, fault := false, false
		for _, i := range a.Installations {
			if i.Component != part {
				continue
			}
			found = true
			if len(i.Command) == 0 { // a server at an address
				continue
			}
			if _, err := lookPath(i.Command[0]); err != nil && !fault {
				fault = true
				list.add(warning, "Install the "+name+" again, in "+i.File+".", install,
					"%s starts %s, which does not exist.", title, i.Command[0])
			}
		}
		switch {
		case found && !fault:
			list.add(passed, "", "", "%s has the %s of memwatchd.", title, name)
		case !found && len(a.Faults) == 0:
			list.add(note, "", install, "%s does not have the %s of memwatchd.", title, name)
		}
	}
	return list
}
