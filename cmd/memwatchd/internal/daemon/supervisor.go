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

// A supervisor is the service manager that started the daemon, by the protocol
// of systemd. It may pass sockets, receives the daemon's status, and ends a
// daemon that sends no keep-alive. The zero supervisor stands for none.
type supervisor struct {
	sockets  []*os.File    // named as in the service manager's configuration
	notifies bool          // it receives notifications
	watchdog time.Duration // the longest time between keep-alives; zero: unlimited
}

// findSupervisor reads the service manager's environment variables and removes
// those meant for this process alone.
func findSupervisor() supervisor {
	s := supervisor{sockets: activation.Files(true), notifies: os.Getenv("NOTIFY_SOCKET") != ""}
	s.watchdog, _ = sd.SdWatchdogEnabled(true) // an invalid value counts as none
	return s
}

// checkSockets rejects a socket without a listener: its clients would wait
// forever. A socket belongs to the listener with its path, and has the name of
// that file.
func (s *supervisor) checkSockets(listeners []config.Listener) error {
	for _, f := range s.sockets {
		path, err := ipc.SocketPath(f)
		if err != nil {
			return fmt.Errorf("socket of the service manager: %w", err)
		}
		switch {
		case f.Name() != filepath.Base(path):
			return fmt.Errorf("socket of the service manager: %s is named %q: set FileDescriptorName=%s", path,
				f.Name(), filepath.Base(path))
		case !slices.ContainsFunc(listeners, func(l config.Listener) bool { return l.Path == path }):
			return fmt.Errorf("socket of the service manager: no listener of the configuration is at %s", path)
		}
	}
	return nil
}

// openListener opens a listener, on the service manager's socket for its path if
// there is one.
func (s *supervisor) openListener(e ipc.Endpoint) (*ipc.Listener, error) {
	for _, f := range s.sockets {
		if path, err := ipc.SocketPath(f); err == nil && path == e.Path {
			return e.Adopt(f)
		}
	}
	return e.Listen()
}

// runNotifications reports that the daemon is ready as soon as its own socket
// answers, and sends a keep-alive each time the socket answers: a daemon that
// cannot answer its clients sends no keep-alive.
func (s *supervisor) runNotifications(ctx context.Context, listeners []*ipc.Listener, state func() api.IndexStatus,
	logger *slog.Logger) error {
	if !s.notifies {
		return nil
	}
	// A listener on a path, or else any: all are served alike.
	probed := listeners[max(0, slices.IndexFunc(listeners, func(l *ipc.Listener) bool { return l.Path != "" }))]
	// A quarter of the watchdog's time leaves time for a ping without an answer
	// and another one.
	interval := cmp.Or(s.watchdog/4, 30*time.Second)
	for sent, ready := "", false; ; {
		wait := interval
		if err := pingListener(ctx, probed, interval); err == nil {
			index := state()
			status := "serving"
			switch {
			case index.Problem != "":
				status = term.EscapeLine(index.Problem)
			case index.Degraded:
				status = fmt.Sprintf("indexing: %d of %d files", index.Done, index.Total)
				wait = min(wait, time.Second) // degraded lasts only a short time
			}
			switch {
			case !ready:
				s.notifyReady(status)
			case status != sent:
				s.sendLines(sd.SdNotifyWatchdog, "STATUS="+status)
			default:
				s.sendLines(sd.SdNotifyWatchdog)
			}
			sent, ready = status, true
		} else if ctx.Err() == nil {
			logger.Warn("own socket does not answer", "err", err)
			wait = min(wait, time.Second)
		}
		if err := sleep(ctx, wait); err != nil {
			return err
		}
	}
}

func pingListener(ctx context.Context, l *ipc.Listener, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return l.Ping(ctx)
}

// notifyReady notifies that the daemon serves, for the first time or after a
// reload.
func (s *supervisor) notifyReady(status string) {
	s.sendLines(sd.SdNotifyReady, sd.SdNotifyWatchdog, "STATUS="+status)
}

// notifyReloading notifies that the configuration is being reloaded. The
// command that requested the reload waits until ready is called.
func (s *supervisor) notifyReloading() {
	s.sendLines(sd.SdNotifyReloading, strings.TrimSpace(sd.SdNotifyMonotonicUsec()), sd.SdNotifyWatchdog)
}

// notifyStopping notifies that the daemon was requested to stop.
func (s *supervisor) notifyStopping() {
	s.sendLines(sd.SdNotifyStopping, "STATUS=finishing requests")
}

// sendLines sends lines to the service manager. It ignores errors, because none
// can be handled.
func (s *supervisor) sendLines(lines ...string) {
	if s.notifies {
		sd.SdNotify(false, strings.Join(lines, "\n"))
	}
}
