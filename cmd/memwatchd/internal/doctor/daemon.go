package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/cli"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
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
	case errors.Is(e.statusErr, errTimeout):
		advice, command, holder := "", "", vault.Holder{}
		if e.config != nil {
			holder, _ = vault.ReadHolder(filepath.Join(e.config.State.Dir, "lock"))
		}
		switch {
		case holder.PID == 0:
		case cli.ProcessState(holder.PID) == "T":
			advice = fmt.Sprintf("Process %d holds the lock and is suspended. Resume it.", holder.PID)
			command = fmt.Sprintf("kill -CONT %d", holder.PID)
		default:
			advice = fmt.Sprintf("Process %d holds the lock. Restart it.", holder.PID)
			command = fmt.Sprintf("kill %d", holder.PID)
		}
		list.add(problem, advice, command, "A process listens at %s and does not answer within %s.", e.socket,
			statusTime)
	case errors.Is(e.statusErr, fs.ErrPermission):
		list.add(problem, "Run the command as that user, or select your own daemon with --socket.", "", "%v",
			e.statusErr)
	case errors.Is(e.statusErr, client.ErrNoDaemon):
		list.add(problem, "Start a daemon.", e.flags.Command("serve"), "No daemon answers at %s.", e.socket)
	default:
		list.add(problem, "", "", "A request to the daemon at %s failed: %v.", e.socket, e.statusErr)
	}
	return list
}

// inspectSockets reports whether the daemon can listen on the configured sockets.
func inspectSockets(e *examination) (list findings) {
	for i := range e.config.IPC.Listeners {
		l := &e.config.IPC.Listeners[i]
		endpoint, err := l.Endpoint(0)
		if err == nil {
			err = endpoint.Check()
		}
		switch {
		case err != nil:
			list.add(problem, "Correct ipc.listeners, or the directory that the error names.", "", "%v", err)
		case l.Path != "":
			list = append(list, e.socketFindings(l)...)
		}
	}
	return list
}

// socketFindings reports the state of a configured socket.
func (e *examination) socketFindings(l *config.Listener) (list findings) {
	info, err := os.Lstat(l.Path)
	want, _ := strconv.ParseUint(l.Mode, 8, 9)
	switch {
	case errors.Is(err, fs.ErrNotExist) && e.status != nil && slices.Contains(e.status.Sockets, l.Path):
		list.add(problem, "Restart the daemon.", e.restartCommand(e.status.PID),
			"%s was removed while the daemon listened there.", l.Path)
	case errors.Is(err, fs.ErrNotExist):
		list.add(passed, "", "", "%s does not exist yet.", l.Path)
	case err != nil:
		list.add(problem, "", "", "%v", err)
	case info.Mode().Type() != fs.ModeSocket:
		list.add(problem, "Move that file away.", "", "%s is not a socket.", l.Path)
	case errors.Is(e.statusErr, client.ErrNoDaemon) && !errors.Is(e.statusErr,
		fs.ErrPermission) && l.Path == e.socket:
		list.add(note, "", "", "%s is the socket of a daemon that was killed. The next daemon replaces it.", l.Path)
	case info.Mode().Perm() != fs.FileMode(want):
		list.add(warning, "", "chmod "+l.Mode+" "+term.QuoteWord(l.Path),
			"%s has mode %04o, and the configuration has %s.", l.Path, info.Mode().Perm(), l.Mode)
	}
	return list.orPassed("%s has mode %s.", l.Path, l.Mode)
}

// restartCommand returns a command that ends a daemon and starts it again.
func (e *examination) restartCommand(pid int) string {
	return fmt.Sprintf("kill %d; %s", pid, e.flags.Command("serve"))
}

// inspectLocks reports other running daemons that hold a lock of this configuration.
func inspectLocks(e *examination) (list findings) {
	if e.answered && e.status == nil {
		return nil // a daemon without a known process
	}
	seen := map[int]bool{}
	for _, path := range []string{config.RootLock(config.RealPath(e.config.Memory.Dir)),
		filepath.Join(e.config.State.Dir, "lock"), filepath.Join(e.config.Index.Dir, "lock")} {
		holder, running := vault.ReadHolder(path)
		if !running || seen[holder.PID] || e.status != nil && holder.PID == e.status.PID || errors.Is(e.statusErr,
			errTimeout) {
			continue
		}
		seen[holder.PID] = true
		if holder.Socket == e.socket {
			list.add(problem, "Restart the daemon.", e.restartCommand(holder.PID),
				"Process %d holds the lock %s, and its socket %s was removed.", holder.PID, path, holder.Socket)
			continue
		}
		command := fmt.Sprintf("kill %d", holder.PID)
		if filepath.IsAbs(holder.Socket) {
			command = "memwatchd --socket " + term.QuoteWord(holder.Socket) + " status"
		}
		list.add(problem, "Use that daemon, or stop it.", command, "Process %d, another daemon, holds the lock %s.",
			holder.PID, path)
	}
	return list.orPassed("No other daemon uses the directories.")
}

// inspectStateDirs reports whether the daemon accepts its own directories.
func inspectStateDirs(e *examination) (list findings) {
	state, index := e.config.State.Dir, e.config.Index.Dir
	for _, dir := range []string{state, filepath.Join(state, "cookies"), filepath.Join(state, "journal"), index,
		config.RootLocks()} {
		if err := vault.CheckPrivateDir(dir); err != nil {
			list.add(problem, "Correct the permissions. No daemon starts before that.", "", "%v", err)
		}
	}
	return list.orPassed("%s and %s are private.", state, index)
}
