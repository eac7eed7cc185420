package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"reflect"
	"slices"
	"syscall"

	sd "github.com/coreos/go-systemd/v22/daemon"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/build"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
	"github.com/memwatchd/memwatchd/internal/secrets"
	"github.com/memwatchd/memwatchd/ipc"
)

// A reloader runs a daemon, and a new one whenever the configuration changes.
// Sockets stay open from one to the next, so that no client finds them gone.
type reloader struct {
	flags      config.Flags
	stderr     io.Writer
	supervisor supervisor
	listeners  []*ipc.Listener
}

// A reload ends a daemon whose configuration has changed.
type reload struct{ next *config.Config }

func (*reload) Error() string { return "the configuration changed" }

// Run runs a daemon until the context ends, then returns nil, and logs to
// stderr. It returns an error if the daemon cannot start or fails. SIGHUP
// reloads the configuration. If the new configuration is invalid or the daemon
// cannot start with it, the old one stays.
func Run(ctx context.Context, flags config.Flags, c *config.Config, stderr io.Writer) error {
	s := &reloader{flags: flags, stderr: stderr, supervisor: findSupervisor()}
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	defer s.closeListeners(func(*ipc.Listener) bool { return true })
	defer context.AfterFunc(ctx, func() { s.supervisor.notify(sd.SdNotifyStopping) })()
	var good *config.Config // the last configuration that ran
	for {
		ran, err := s.runOnce(ctx, c, hup)
		r, reloads := errors.AsType[*reload](err)
		switch {
		case reloads:
			good, c = c, r.next
		case err == nil || ran || good == nil:
			return err
		default:
			s.newLogger(good).Error("new configuration failed, keeping the old one", "err", err)
			c, good = good, nil
		}
	}
}

// runOnce runs one daemon until it ends. The error is a reload if another one must run with
// the next configuration. ran reports whether the daemon started.
func (s *reloader) runOnce(ctx context.Context, c *config.Config, hup <-chan os.Signal) (ran bool, err error) {
	logger := s.newLogger(c)
	slog.SetDefault(logger) // libraries log there too
	d, err := openDaemon(c, logger)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	listeners, err := s.openListeners(c)
	if err != nil {
		return false, err
	}
	d.supervisor = s.supervisor
	if c.Warning != "" {
		logger.Warn("some settings have no effect or another name", "warning", c.Warning)
	}
	logger.Info("serving", "root", c.Memory.Dir, "socket", d.sockets[0], "pid", os.Getpid(), "version", build.Version())
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go s.awaitReload(ctx, hup, logger, cancel)
	go s.showProgress(ctx, d)
	err = d.run(ctx, listeners)
	if err != nil {
		return true, err
	}
	if r, ok := errors.AsType[*reload](context.Cause(ctx)); ok {
		return true, r
	}
	logger.Info("stopped")
	return true, nil
}

// awaitReload ends the context with the next valid configuration.
func (s *reloader) awaitReload(ctx context.Context, hup <-chan os.Signal, logger *slog.Logger,
	cancel context.CancelCauseFunc) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-hup:
			s.supervisor.notifyReloading()
			c, err := config.Load(s.flags, os.Environ())
			if err == nil {
				logger.Info("configuration reloaded")
				cancel(&reload{c})
				return
			}
			logger.Error("new configuration is invalid, keeping the old one", "err", err)
			s.supervisor.notify(sd.SdNotifyReady)
		}
	}
}

// openListeners opens the missing sockets and closes those no longer configured.
func (s *reloader) openListeners(c *config.Config) ([]*ipc.Listener, error) {
	var wanted, opened []*ipc.Listener
	for i := range c.IPC.Listeners {
		e, err := c.IPC.Listeners[i].Endpoint()
		var l *ipc.Listener
		if err == nil {
			if j := slices.IndexFunc(s.listeners,
				func(l *ipc.Listener) bool { return reflect.DeepEqual(l.Endpoint, e) }); j >= 0 {
				wanted = append(wanted, s.listeners[j])
				continue
			}
			s.closeListeners(func(l *ipc.Listener) bool { return l.Name() == e.Name() })
			l, err = e.Listen()
		}
		if err != nil {
			for _, l := range opened {
				err = errors.Join(err, l.Close())
			}
			return nil, err
		}
		wanted, opened = append(wanted, l), append(opened, l)
	}
	s.closeListeners(func(l *ipc.Listener) bool { return !slices.Contains(wanted, l) })
	s.listeners = wanted
	return wanted, nil
}

// closeListeners closes some of the open sockets.
func (s *reloader) closeListeners(which func(*ipc.Listener) bool) {
	s.listeners = slices.DeleteFunc(s.listeners, func(l *ipc.Listener) bool {
		if !which(l) {
			return false
		}
		if err := l.Close(); err != nil {
			fmt.Fprintln(s.stderr, "memwatchd: "+term.EscapeLine(err.Error()))
		}
		return true
	})
}

// newLogger returns the daemon's logger: throttled, masked and written to stderr.
func (s *reloader) newLogger(c *config.Config) *slog.Logger {
	var w io.Writer = s.stderr
	if s.stderrTerminal() != nil {
		w = term.BarWriter{Writer: w}
	}
	w = maskingWriter{w}
	options := &slog.HandlerOptions{Level: c.LogLevel()}
	return slog.New(newThrottle(slog.NewTextHandler(w, options)))
}

// stderrTerminal returns stderr if it is a terminal, and nil otherwise.
func (s *reloader) stderrTerminal() *os.File {
	if f, ok := s.stderr.(*os.File); ok && term.IsTerminal(f) {
		return f
	}
	return nil
}

// maskingWriter masks the credentials in the lines written to it.
type maskingWriter struct{ io.Writer }

func (w maskingWriter) Write(p []byte) (int, error) { return w.Writer.Write(secrets.Mask(p)) }

func (s *reloader) showProgress(ctx context.Context, d *daemon) {
	if f := s.stderrTerminal(); f != nil {
		term.ShowProgress(ctx, f, func() (done, total int, more bool) {
			index := d.State()
			return index.Done, index.Total, index.Degraded
		})
	}
}
