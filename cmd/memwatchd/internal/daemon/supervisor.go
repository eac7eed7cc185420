package daemon

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	sd "github.com/coreos/go-systemd/v22/daemon"

	"github.com/memwatchd/memwatchd/ipc"
)

// A supervisor is the service manager that started the daemon, by the protocol
// of systemd. It receives notifications, and ends a daemon that sends no
// keep-alive. The zero supervisor stands for none.
type supervisor struct {
	notifies bool          // it receives notifications
	watchdog time.Duration // the longest time between keep-alives; zero: unlimited
}

// findSupervisor reads the service manager's environment variables.
func findSupervisor() supervisor {
	s := supervisor{notifies: os.Getenv("NOTIFY_SOCKET") != ""}
	s.watchdog, _ = sd.SdWatchdogEnabled(true) // an invalid value counts as none
	return s
}

// runNotifications reports that the daemon is ready as soon as its own socket
// answers, and sends a keep-alive each time the socket answers: a daemon that
// cannot answer its clients sends no keep-alive.
func (s *supervisor) runNotifications(ctx context.Context, listeners []*ipc.Listener, logger *slog.Logger) error {
	if !s.notifies {
		return nil
	}
	// A listener on a path, or else any: all are served alike.
	probed := listeners[max(0, slices.IndexFunc(listeners, func(l *ipc.Listener) bool { return l.Path != "" }))]
	// A quarter of the watchdog's time leaves time for a ping without an answer
	// and another one.
	interval := cmp.Or(s.watchdog/4, 30*time.Second)
	for ready := false; ; {
		wait := interval
		limited, cancel := context.WithTimeout(ctx, interval)
		err := probed.Ping(limited)
		cancel()
		switch {
		case err == nil && !ready:
			s.notify(sd.SdNotifyReady, sd.SdNotifyWatchdog)
			ready = true
		case err == nil:
			s.notify(sd.SdNotifyWatchdog)
		case ctx.Err() == nil:
			logger.Warn("own socket does not answer", "err", err)
			wait = min(wait, time.Second)
		}
		if err := sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// notifyReloading notifies that the configuration is being reloaded. The
// command that requested the reload waits until the daemon is ready.
func (s *supervisor) notifyReloading() {
	s.notify(sd.SdNotifyReloading, strings.TrimSpace(sd.SdNotifyMonotonicUsec()), sd.SdNotifyWatchdog)
}

// notify sends lines to the service manager. It ignores errors, because none
// can be handled.
func (s *supervisor) notify(lines ...string) {
	if s.notifies {
		sd.SdNotify(false, strings.Join(lines, "\n"))
	}
}
