package doctor

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/build"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
	"github.com/memwatchd/memwatchd/ipc/client"
	"github.com/memwatchd/memwatchd/vault"
)

// lookAtProcess tells whether a daemon answers.
func lookAtProcess(_ context.Context, e *examination) []finding {
	switch {
	case e.status != nil:
		return well("process %d answers at %s, up %s", e.status.PID, e.socket, e.status.Uptime)
	case e.answered:
		return []finding{{Mark: note, Text: e.socket + " is an agent's socket, where a daemon tells little of itself", Advice: "ask at the owner's socket: leave --socket out"}}
	case errors.Is(e.asked, errSlow):
		return []finding{e.silent()}
	case errors.Is(e.asked, fs.ErrPermission):
		return []finding{{Mark: problem, Text: e.asked.Error(), Advice: "ask as that user, or name the socket of your own daemon with --socket"}}
	case errors.Is(e.asked, client.ErrNoDaemon):
		return []finding{{Mark: problem, Text: fmt.Sprintf("no daemon answers at %s", e.socket), Advice: "start one", Command: e.flags.Command("serve")}}
	}
	return []finding{{Mark: problem, Text: fmt.Sprintf("the daemon does not answer as it should: %v", e.asked)}}
}

// silent is a daemon that takes questions and gives no answers: it is stopped,
// or waits for something.
func (e *examination) silent() finding {
	f := finding{Mark: problem, Text: fmt.Sprintf("something listens at %s and does not answer within %s", e.socket, statusTime)}
	if e.config == nil {
		return f
	}
	who, ok := vault.ReadHolder(filepath.Join(e.config.State.Dir, "lock"))
	if !ok {
		return f
	}
	f.Text += fmt.Sprintf("; it is process %d, if that has not changed", who.PID)
	if f.Advice, f.Command = "end it, and start it again", fmt.Sprintf("kill %d", who.PID); processState(who.PID) == 'T' {
		f.Advice, f.Command = "it is stopped; let it go on", fmt.Sprintf("kill -CONT %d", who.PID)
	}
	return f
}

// processState is the letter that the system has for what a process does, 0 if
// it does not tell.
func processState(pid int) byte {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The name stands before it in parentheses, and may have some in it.
	if i := bytes.LastIndex(text, []byte(") ")); i >= 0 && i+2 < len(text) {
		return text[i+2]
	}
	return 0
}

// lookAtVersion tells whether the daemon is the program that asks.
func lookAtVersion(_ context.Context, e *examination) []finding {
	if e.status == nil {
		return nil
	}
	// What an update has replaced still runs, and is then a file without a name.
	exe, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", e.status.PID))
	return versionOf(e.status.Version, build.Version(), strings.HasSuffix(exe, " (deleted)"), e.status.PID, e.flags.Command("serve"))
}

func versionOf(daemons, ours string, replaced bool, pid int, serve string) []finding {
	restart := fmt.Sprintf("kill %d; %s", pid, serve)
	switch {
	case daemons != ours:
		return []finding{{Mark: warning, Text: fmt.Sprintf("the daemon is memwatchd %s, and this is %s", daemons, ours), Advice: "restart it", Command: restart}}
	case replaced:
		return []finding{{Mark: warning, Text: "the daemon's program was replaced after it had started", Advice: "restart it", Command: restart}}
	}
	return well("%s, as this program", daemons)
}

// lookAtSockets tells whether there can be sockets where there are to be some.
func lookAtSockets(_ context.Context, e *examination) (list []finding) {
	for i := range e.config.IPC.Listeners {
		l := &e.config.IPC.Listeners[i]
		endpoint, err := l.Endpoint(0)
		if err == nil {
			err = endpoint.Check()
		}
		if err != nil {
			list = append(list, finding{Mark: problem, Text: err.Error(), Advice: "correct ipc.listeners, or what is in the way"})
			continue
		}
		if l.Path != "" {
			list = append(list, e.socketAt(l))
		}
	}
	if e.status != nil {
		for _, path := range e.status.Sockets {
			if !slices.ContainsFunc(e.config.IPC.Listeners, func(l config.Listener) bool { return cmp.Or(l.Path, l.Address) == path }) {
				list = append(list, finding{Mark: warning, Text: fmt.Sprintf("the daemon listens on %s, and the configuration does not say so", path),
					Advice: "it was started with another configuration; have it read this one", Command: fmt.Sprintf("kill -HUP %d", e.status.PID)})
			}
		}
	}
	if os.Getenv("XDG_RUNTIME_DIR") == "" && e.status == nil && config.Existing(fmt.Sprintf("/run/user/%d", os.Getuid())) != "" {
		list = append(list, finding{Mark: note, Text: "XDG_RUNTIME_DIR is not set here, so that sockets are looked for in the state directory; a daemon of a login session has its own elsewhere",
			Command: "export XDG_RUNTIME_DIR=/run/user/$(id -u)"})
	}
	return list
}

// socketAt tells how a socket is that is configured.
func (e *examination) socketAt(l *config.Listener) finding {
	info, err := os.Lstat(l.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && e.status != nil && slices.Contains(e.status.Sockets, l.Path):
		return finding{Mark: problem, Text: l.Path + " was removed while the daemon listened there", Advice: "restart the daemon", Command: fmt.Sprintf("kill %d; %s", e.status.PID, e.flags.Command("serve"))}
	case errors.Is(err, fs.ErrNotExist):
		return finding{Mark: fine, Text: fmt.Sprintf("%s (%d of 107 bytes) is free", l.Path, len(l.Path))}
	case err != nil:
		return finding{Mark: problem, Text: err.Error()}
	case info.Mode().Type() != fs.ModeSocket:
		return finding{Mark: problem, Text: l.Path + " is in the way: it is not a socket", Advice: "look at what it is, and move it away"}
	case errors.Is(e.asked, client.ErrNoDaemon) && !errors.Is(e.asked, fs.ErrPermission) && l.Path == e.socket:
		return finding{Mark: note, Text: l.Path + " was left behind by a daemon that was killed; the next one replaces it"}
	}
	want, _ := strconv.ParseUint(l.Mode, 8, 9)
	if mode := info.Mode().Perm(); mode != fs.FileMode(want) {
		return finding{Mark: warning, Text: fmt.Sprintf("%s has mode %04o, and %s is configured", l.Path, mode, l.Mode), Command: "chmod " + l.Mode + " " + term.QuoteWord(l.Path)}
	}
	return finding{Mark: fine, Text: fmt.Sprintf("%s, mode %s, %d of 107 bytes", l.Path, l.Mode, len(l.Path))}
}

// lookAtLocks tells whether another daemon has what ours needs.
func lookAtLocks(_ context.Context, e *examination) (list []finding) {
	if e.answered && e.status == nil {
		return nil // it does not tell whether it is the one
	}
	told := map[int]bool{}
	for _, l := range []struct{ path, has string }{
		{config.RootLock(config.RealPath(e.config.Memory.Dir)), e.config.Memory.Dir},
		{filepath.Join(e.config.State.Dir, "lock"), e.config.State.Dir},
		{filepath.Join(e.config.Index.Dir, "lock"), e.config.Index.Dir},
	} {
		who, held := vault.ReadHolder(l.path)
		if !held || told[who.PID] || e.status != nil && who.PID == e.status.PID || errors.Is(e.asked, errSlow) {
			continue
		}
		told[who.PID] = true
		list = append(list, e.heldBy(who, l.has))
	}
	if list == nil && e.status != nil {
		return well("nobody else has the directories")
	}
	return list
}

func (e *examination) heldBy(who vault.Holder, dir string) finding {
	if who.Socket == e.socket {
		return finding{Mark: problem, Text: fmt.Sprintf("process %d, if that has not changed, has %s and was to answer at %s, where nobody does: its socket was removed", who.PID, dir, who.Socket),
			Advice: "restart it", Command: fmt.Sprintf("kill %d; %s", who.PID, e.flags.Command("serve"))}
	}
	f := finding{Mark: problem, Text: fmt.Sprintf("process %d, which is another daemon if that has not changed, has %s: no second one starts there", who.PID, dir),
		Advice: "ask that one, or end it", Command: fmt.Sprintf("kill %d", who.PID)}
	if filepath.IsAbs(who.Socket) {
		f.Text += "; it answers at " + who.Socket
		f.Command = "memwatchd --socket " + term.QuoteWord(who.Socket) + " status"
	}
	return f
}

// lookAtOthers tells which other memories have daemons.
func lookAtOthers(ctx context.Context, e *examination) (list []finding) {
	locks, _ := filepath.Glob(filepath.Join(config.RootLocks(), "*.lock")) // sorted
	ours := config.RootLock(config.RealPath(e.config.Memory.Dir))
	for _, path := range locks {
		who, held := vault.ReadHolder(path)
		if !held || path == ours || e.status != nil && who.PID == e.status.PID {
			continue
		}
		text := fmt.Sprintf("another memory is served by process %d", who.PID)
		if filepath.IsAbs(who.Socket) {
			text += " at " + who.Socket
			client := &client.Client{Socket: who.Socket, AsOwner: true}
			if a, err := timely(ctx, time.Second, func(ctx context.Context) (*api.StatusAnswer, error) { return client.Status(ctx, api.StatusRequest{}) }); err == nil && a.Status != nil {
				text += ": " + a.Root
			}
		}
		list = append(list, finding{Mark: note, Text: text})
	}
	return list
}

// lookAtStateDirs tells whether the daemon can trust its own directories.
func lookAtStateDirs(_ context.Context, e *examination) (list []finding) {
	c := e.config
	for _, dir := range []string{c.State.Dir, filepath.Join(c.State.Dir, "cookies"), filepath.Join(c.State.Dir, "journal"), c.Index.Dir, config.RootLocks()} {
		if err := vault.CheckPrivateDir(dir); err != nil {
			list = append(list, finding{Mark: problem, Text: err.Error(), Advice: "no daemon starts with it"})
		}
	}
	if list == nil {
		return well("%s and %s", c.State.Dir, c.Index.Dir)
	}
	return list
}
