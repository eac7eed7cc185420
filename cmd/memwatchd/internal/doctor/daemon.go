package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

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
	case errors.Is(e.statusErr, context.DeadlineExceeded):
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
			advice = fmt.Sprintf("Process %d holds the lock. End it; the next command starts another.", holder.PID)
			command = fmt.Sprintf("kill %d", holder.PID)
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
		list.add(problem, "", "", "A request to the daemon at %s failed: %v.", e.socket, e.statusErr)
	}
	return list
}

// inspectLocks reports other running daemons that hold a lock of this configuration.
func inspectLocks(e *examination) (list findings) {
	if e.answered && e.status == nil {
		return nil // a daemon without a known process
	}
	for _, path := range []string{config.RootLock(config.RealPath(e.config.Memory.Dir)),
		filepath.Join(e.config.State.Dir, "lock"), filepath.Join(e.config.Index.Dir, "lock")} {
		holder, running := vault.ReadHolder(path)
		switch {
		case !running || e.status != nil && holder.PID == e.status.PID || errors.Is(e.statusErr, context.DeadlineExceeded):
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
