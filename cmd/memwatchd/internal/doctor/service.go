package doctor

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/setup"
	"github.com/memwatchd/memwatchd/service"
)

// lookAtService tells whether the system starts the daemon.
func lookAtService(_ context.Context, e *examination) []finding {
	s := &service.Service{Name: e.config.Name}
	var places []string
	manager := "/run/systemd/system"
	switch runtime.GOOS {
	case "linux":
		for _, dir := range []string{setup.UserUnits(), "/etc/systemd/user", setup.SystemUnits} {
			places = append(places, filepath.Join(dir, s.UnitName()))
		}
	case "darwin":
		manager = "/bin/launchctl"
		dir, err := setup.LaunchAgents()
		if err != nil {
			return nil
		}
		places = append(places, filepath.Join(dir, s.Label()+".plist"))
	}
	here := serviceHere{answers: e.answered, started: true}
	for _, place := range places {
		if _, err := os.Stat(place); err == nil {
			here.file = place
			break
		}
	}
	_, err := os.Stat(manager)
	here.managed = err == nil
	if e.status != nil {
		if group, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", e.status.PID)); err == nil {
			here.started = bytes.Contains(group, []byte("/"+s.UnitName()))
		}
	}
	return here.findings(e.flags.Command)
}

// serviceHere is what there is of a service.
type serviceHere struct {
	managed bool   // the machine has a manager of services
	file    string // what tells it of ours; empty if nothing does
	answers bool   // a daemon does
	started bool   // by the manager, as far as it can be told
}

func (s serviceHere) findings(command func(string) string) []finding {
	switch {
	case s.file == "" && !s.managed:
		return nil
	case s.file == "":
		return []finding{{Mark: note, Text: "the system does not start the daemon: somebody has to, each time", Command: command("service install")}}
	case !s.answers:
		return []finding{{Mark: warning, Text: s.file + " is there, and no daemon answers", Advice: "see what became of it", Command: command("service status")}}
	case !s.started:
		return []finding{{Mark: note, Text: "the daemon was not started by the system, although there is " + s.file, Advice: "end it, and leave it to the system", Command: command("service status")}}
	}
	return well("%s", s.file)
}
