package daemon

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/activation"
	sd "github.com/coreos/go-systemd/v22/daemon"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
	"github.com/memwatchd/memwatchd/ipc"
)

// A supervisor is the service manager that has started us, by the protocol of
// systemd: it may hand over sockets, wants to know how we are, and ends a daemon
// of which it hears nothing. The zero supervisor is none.
type supervisor struct {
	sockets  []*os.File    // named as the service manager names them
	listens  bool          // it is told how we are
	watchdog time.Duration // how long it waits for a sign of life; zero: for ever
}

// findSupervisor reads what the service manager says in the environment, and
// takes what is meant for this process alone out of it.
func findSupervisor() supervisor {
	s := supervisor{sockets: activation.Files(true), listens: os.Getenv("NOTIFY_SOCKET") != ""}
	s.watchdog, _ = sd.SdWatchdogEnabled(true) // one that makes no sense is none
	return s
}

// check refuses a socket that is for none of the listeners: its clients would
// wait for ever. A socket belongs to the listener with its path, and has the
// name of that file.
func (s *supervisor) check(listeners []config.Listener) error {
	for _, f := range s.sockets {
		path, err := ipc.SocketPath(f)
		if err != nil {
			return fmt.Errorf("socket of the service manager: %w", err)
		}
		switch {
		case f.Name() != filepath.Base(path):
			return fmt.Errorf("socket of the service manager: %s is named %q: set FileDescriptorName=%s", path, f.Name(), filepath.Base(path))
		case !slices.ContainsFunc(listeners, func(l config.Listener) bool { return l.Path == path }):
			return fmt.Errorf("socket of the service manager: no listener of the configuration is at %s", path)
		}
	}
	return nil
}

// listen opens a listener: on the socket that the service manager keeps for it,
// if there is one.
func (s *supervisor) listen(e ipc.Endpoint) (*ipc.Listener, error) {
	for _, f := range s.sockets {
		if path, err := ipc.SocketPath(f); err == nil && path == e.Path {
			return e.Adopt(f)
		}
	}
	return e.Listen()
}

// attend says that we are ready as soon as our own socket answers, and from then
// on that we are alive each time that it does: whatever keeps us from answering
// clients keeps us from saying so.
func (s *supervisor) attend(ctx context.Context, listeners []*ipc.Listener, state func() api.IndexStatus, logger *slog.Logger) error {
	if !s.listens {
		return nil
	}
	// A listener on a path, or else any: what they do is the same.
	own := listeners[max(0, slices.IndexFunc(listeners, func(l *ipc.Listener) bool { return l.Path != "" }))]
	// There is time for a question that is not answered, and for another one.
	interval := cmp.Or(s.watchdog/4, 30*time.Second)
	for said, ready := "", false; ; {
		wait := interval
		if err := ping(ctx, own, interval); err == nil {
			index := state()
			status := "serving"
			switch {
			case index.Problem != "":
				status = term.EscapeLine(index.Problem)
			case index.Degraded:
				status = fmt.Sprintf("indexing: %d of %d files", index.Done, index.Total)
				wait = min(wait, time.Second) // this will be over soon
			}
			switch {
			case !ready:
				s.ready(status)
			case status != said:
				s.say(sd.SdNotifyWatchdog, "STATUS="+status)
			default:
				s.say(sd.SdNotifyWatchdog)
			}
			said, ready = status, true
		} else if ctx.Err() == nil {
			logger.Warn("own socket does not answer", "err", err)
			wait = min(wait, time.Second)
		}
		if err := sleep(ctx, wait); err != nil {
			return err
		}
	}
}

func ping(ctx context.Context, l *ipc.Listener, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return l.Ping(ctx)
}

// ready says that we answer, for the first time or after reloading.
func (s *supervisor) ready(status string) {
	s.say(sd.SdNotifyReady, sd.SdNotifyWatchdog, "STATUS="+status)
}

// reloading says that the configuration is read again. Until we are ready again,
// whoever asked for it waits.
func (s *supervisor) reloading() {
	s.say(sd.SdNotifyReloading, strings.TrimSpace(sd.SdNotifyMonotonicUsec()), sd.SdNotifyWatchdog)
}

// stopping says that we end, because we were asked to.
func (s *supervisor) stopping() {
	s.say(sd.SdNotifyStopping, "STATUS=finishing what is under way")
}

// say tells the service manager. It cannot be helped if it does not listen.
func (s *supervisor) say(lines ...string) {
	if s.listens {
		sd.SdNotify(false, strings.Join(lines, "\n"))
	}
}
