package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/agents"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/build"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/service"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/setup"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
	"github.com/memwatchd/memwatchd/ipc/client"
	"github.com/memwatchd/memwatchd/vault"
)

// inspectProcess reports whether a daemon answers.
func inspectProcess(e *examination) (list findings) {
	switch {
	case e.status != nil:
		list.add(passed, "", "", "Process %d answers at %s, up %s.", e.status.PID, e.socket, e.status.Uptime)
	case e.answered:
		list.add(note, "Use the socket of the owner: omit --socket.", "",
			"%s is the socket of an agent. There the daemon reports its health only.", e.socket)
	case errors.Is(e.statusErr, context.DeadlineExceeded):
		advice, command := "", ""
		if e.config != nil {
			if holder, _ := vault.ReadHolder(filepath.Join(e.config.StateDir, "lock")); holder.PID != 0 {
				advice = "End the process that holds the lock. The next command starts another."
				command = fmt.Sprintf("kill -CONT %d; kill %[1]d", holder.PID) // it may be suspended
			}
		}
		list.add(problem, advice, command, "A process listens at %s and does not answer within %s.", e.socket,
			statusTime)
	case errors.Is(e.statusErr, fs.ErrPermission):
		list.add(problem, "Run the command as that user, or select your own daemon with --socket.", "", "%v",
			e.statusErr)
	case errors.Is(e.statusErr, client.ErrNoDaemon) && e.starts:
		list.add(note, "The next command starts one.", "", "No daemon answers at %s.", e.socket)
	case errors.Is(e.statusErr, client.ErrNoDaemon):
		list.add(problem, "Start a daemon.", e.flags.Command("serve"), "No daemon answers at %s.", e.socket)
	default:
		list.add(problem, "", "", "The request to the daemon at %s failed: %v", e.socket, e.statusErr)
	}
	return list
}

// inspectLocks reports a daemon that holds a lock of the memory and does not answer at the
// socket.
func inspectLocks(e *examination) (list findings) {
	if e.answered && e.status == nil {
		return nil // a daemon without a known process
	}
	for _, path := range []string{config.RootLock(config.RealPath(e.config.Memory.Dir)),
		filepath.Join(e.config.StateDir, "lock"), filepath.Join(e.config.IndexDir, "lock")} {
		holder, running := vault.ReadHolder(path)
		switch {
		case !running || e.status != nil && holder.PID == e.status.PID ||
			errors.Is(e.statusErr, context.DeadlineExceeded):
			continue
		case holder.Socket == e.socket:
			list.add(problem, "End it. The next command starts another.", fmt.Sprintf("kill %d", holder.PID),
				"Process %d holds the lock %s, and its socket %s was removed.", holder.PID, path, holder.Socket)
		default:
			list.add(problem, "Use that daemon, or stop it.",
				"memwatchd --socket "+term.QuoteWord(holder.Socket)+" status",
				"Process %d, another daemon, holds the lock %s.", holder.PID, path)
		}
		return list
	}
	return list.orPassed("No other daemon uses the directories.")
}

// inspectConfig reports errors of the configuration, values with consequences, and whether
// the daemon uses it.
func inspectConfig(e *examination) (list findings) {
	c := e.config
	if c == nil {
		list.add(problem, "Correct it; config.example.yaml lists all keys. Inspections that need the configuration "+
			"were skipped.", "", "%v", e.configErr)
		return list
	}
	if info, err := os.Stat(c.File); c.File == "" {
		list.add(note, "", e.flags.Command("init"), "There is no configuration file. The defaults are in use.")
	} else if err == nil && info.Mode().Perm()&0o022 != 0 {
		list.add(warning, "The file decides which readers see private entries.", "chmod go-w "+term.QuoteWord(c.File),
			"Other users can write to %s (mode %04o).", c.File, info.Mode().Perm())
	}
	if c.Warning != "" {
		list.add(warning, "", "", "In the configuration, %s.", c.Warning)
	}
	for _, s := range []struct{ key, url string }{
		{"llm.endpoint", c.LLM.Endpoint}, {"embed.endpoint", c.Embed.Endpoint},
		{"share.weaviate.url", c.Share.Weaviate.URL},
	} {
		if u, err := url.Parse(s.url); err == nil && config.IsExposed(u) {
			list.add(warning, fmt.Sprintf("Use https in %s.", s.key), "", "Requests to %s are not encrypted.", u.Host)
		}
	}
	if s := e.status; s != nil && s.Root != c.Memory.Dir {
		list.add(warning, "Reload the configuration of the daemon.", fmt.Sprintf("kill -HUP %d", s.PID),
			"The daemon serves %s, and memory.dir is %s.", s.Root, c.Memory.Dir)
	}
	return list.orPassed("%s", c.File)
}

// inspectDirectory reports whether the memory directory exists, and whether other users
// can read it.
func inspectDirectory(e *examination) (list findings) {
	dir := e.config.Memory.Dir
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		list.add(problem, "Create the directory, or correct memory.dir.", e.flags.Command("init"),
			"memory.dir: %s does not exist.", dir)
		return list
	case err == nil:
		_, err = os.ReadDir(dir)
	}
	if err != nil {
		list.add(problem, "Correct the permissions, or memory.dir.", "", "memory.dir cannot be read: %v", err)
		return list
	}
	if mode := info.Mode().Perm(); mode&0o007 != 0 && isReachable(config.RealPath(dir)) {
		list.add(warning, "Remove the permission, unless you want it.", "chmod go-rwx "+term.QuoteWord(dir),
			"All users of this machine can read private files in %s (mode %04o).", dir, mode)
	}
	if kind, err := vault.FileSystemOf(dir); err == nil && kind.Remote != "" {
		list.add(note,
			"The daemon scans it every "+config.ShortDuration(e.config.Tuning.Poll)+". Prefer a local disk.", "",
			"%s is %s.", dir, kind.Remote)
	}
	return list.orPassed("%s is private.", dir)
}

// isReachable reports whether all users can open files in dir, a path without links.
func isReachable(dir string) bool {
	for {
		info, err := os.Stat(dir)
		if err != nil || info.Mode().Perm()&0o001 == 0 {
			return false
		}
		if dir == filepath.Dir(dir) {
			return true
		}
		dir = filepath.Dir(dir)
	}
}

// inspectProgram reports a daemon from before an update, and a service that does not run.
func inspectProgram(e *examination) (list findings) {
	if s := e.status; s != nil && s.Version != build.Version() {
		list.add(warning, "", e.flags.Command("restart"),
			"The daemon has version %s from before an update; this program has %s.", s.Version, build.Version())
	}
	if e.config != nil && !e.answered {
		if unit := service.Installed(e.config.Name); unit != "" {
			list.add(warning, "Find out why the service does not run.", e.flags.Command("logs"),
				"%s is installed, and no daemon answers.", unit)
		}
	}
	return list.orPassed("memwatchd %s", build.Version())
}

// inspectAgents reports which agents are on this machine, and whether their settings
// start a program that exists.
func inspectAgents(e *examination) (list findings) {
	m, err := setup.ThisMachine()
	if err != nil {
		return nil
	}
	for _, a := range agents.DetectAgents(m) {
		list = append(list, agentFindings(a, e.flags.Command)...)
	}
	return list
}

// agentFindings returns the findings about the settings of an agent. command completes a
// command line for this memory.
func agentFindings(a agents.Finding, command func(string) string) (list findings) {
	title := a.Agent.Title
	for _, f := range a.Faults {
		list.add(warning, "Correct the file.", "", "%s: %s: %v", title, f.File, f.Err)
	}
	switch {
	case a.Plugin != "" && len(a.Installations) > 0:
		list.add(warning, "Remove the plugin, or run `memwatchd hook uninstall` and `memwatchd mcp uninstall`.", a.Plugin,
			"%s has the plugin of memwatchd and its settings: each session gets everything twice.", title)
	case a.Plugin != "":
		list.add(passed, "", "", "%s has the plugin of memwatchd.", title)
		return list
	}
	for _, part := range []agents.Component{agents.MCP, agents.Hooks} {
		name := map[agents.Component]string{agents.MCP: "tools", agents.Hooks: "hooks"}[part]
		if a.Agent.Name == "skill" {
			name = "skill"
		}
		install := command(string(part) + " install --agent " + a.Agent.Name)
		gone := ""
		for _, i := range a.Installations {
			if i.Component == part && len(i.Command) > 0 { // not a server at an address
				if _, err := exec.LookPath(i.Command[0]); err != nil {
					gone = i.Command[0]
				}
			}
		}
		switch {
		case gone != "":
			list.add(warning, "Install the "+name+" again.", install, "%s starts %s, which does not exist.", title,
				gone)
		case a.Has(part):
			list.add(passed, "", "", "%s has the %s of memwatchd.", title, name)
		case a.Agent.Supports(part) && len(a.Faults) == 0:
			list.add(note, "", install, "%s does not have the %s of memwatchd.", title, name)
		}
	}
	return list
}
