package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/ipc/client"
)

// A daemon is memwatchd as a user runs it: a separate process with the defaults
// and its own memory.
type daemon struct {
	program string
	root    string // the memory
	base    string // directory of all other files of the daemon
	client  client.Client
	cmd     *exec.Cmd
	done    chan error
}

// buildDaemon builds the program from the parent module.
func buildDaemon(ctx context.Context, program string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/memwatchd")
	cmd.Dir = filepath.Join("..", "..") // the benchmark runs in its own directory
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build memwatchd: %w", err)
	}
	return nil
}

// newDaemon prepares a daemon that has never run. The socket has its own
// directory because its path must be short.
func newDaemon(program, root, base, socket string) (*daemon, error) {
	d := &daemon{program: program, root: root, base: base, client: client.Client{Socket: socket, AsOwner: true}}
	for _, dir := range []string{"home", "state", "cache", "config", "run"} {
		if err := os.MkdirAll(filepath.Join(base, dir), 0o700); err != nil {
			return nil, err
		}
	}
	// Daily notes and sessions are public, so that both contexts have much to find.
	config := fmt.Sprintf("memory: {dir: %q, timezone: UTC}\nvisibility: {daily: public_ok, sessions: public_ok}\n"+
		"ipc: {listeners: [{path: %q}]}\n", root, socket)
	return d, os.WriteFile(d.path("config.yaml"), []byte(config), 0o600)
}

func (d *daemon) path(name string) string { return filepath.Join(d.base, name) }

// start starts the daemon without waiting for it to become ready.
func (d *daemon) start() error {
	log, err := os.OpenFile(d.path("log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	d.cmd = d.command(context.Background(), "serve")
	d.cmd.Stdout, d.cmd.Stderr = log, log
	if err := d.cmd.Start(); err != nil {
		return fmt.Errorf("start memwatchd: %w", err)
	}
	d.done = make(chan error, 1)
	go func() { d.done <- d.cmd.Wait() }()
	return nil
}

// command returns a command of the program for the daemon's memory.
func (d *daemon) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, d.program, append([]string{"--config", d.path("config.yaml")}, args...)...)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + d.path("home"), "XDG_STATE_HOME=" + d.path("state"),
		"XDG_CACHE_HOME=" + d.path("cache"),
		"XDG_CONFIG_HOME=" + d.path("config"), "XDG_RUNTIME_DIR=" + d.path("run"),
	}
	return cmd
}

// stop terminates the daemon like a supervisor: with SIGTERM, and with SIGKILL
// after a minute.
func (d *daemon) stop() error {
	if d.done == nil {
		return nil
	}
	defer func() { d.done = nil }()
	d.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-d.done:
		return err
	case <-time.After(time.Minute):
		d.cmd.Process.Kill()
		return errors.Join(errors.New("stop memwatchd: it did not end within a minute"), <-d.done)
	}
}

// lastWords returns the end of the log, at most 4096 bytes.
func (d *daemon) lastWords() string {
	text, err := os.ReadFile(d.path("log"))
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-4096):])
}

// until repeats a request until answered returns true, and returns the time
// since start. Between the requests it waits a hundredth of this time, but at
// least 2 ms.
func (d *daemon) until(ctx context.Context, start time.Time, answered func() (bool, error)) (time.Duration, error) {
	for {
		ok, err := answered()
		took := time.Since(start)
		switch {
		case err != nil && !errors.Is(err, client.ErrNoDaemon):
			return 0, err
		case ok:
			return took, nil
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case err := <-d.done:
			d.done <- err
			return 0, fmt.Errorf("memwatchd has ended: %v", err)
		case <-time.After(max(2*time.Millisecond, took/100)):
		}
	}
}

// awaitWhole waits until the index is built. Status, which takes time, is not asked before.
func (d *daemon) awaitWhole(ctx context.Context, start time.Time) (api.Status, time.Duration, error) {
	var s api.Status
	took, err := d.until(ctx, start, func() (bool, error) {
		if err := d.sync(ctx); err != nil {
			return false, err
		}
		a, err := client.Call(ctx, &d.client, api.StatusRequest{})
		if err != nil {
			return false, err
		}
		s = *a.Status
		return !s.Index.Degraded && s.RootState != "starting", nil
	})
	return s, took, err
}

// awaitComplete waits until a question gets a complete answer.
func (d *daemon) awaitComplete(ctx context.Context, start time.Time, q question) (time.Duration, error) {
	return d.until(ctx, start, func() (bool, error) {
		a, err := client.Call(ctx, &d.client, q.request())
		return err == nil && a.Index.Synced && !a.Index.Degraded && a.Total > 0, err
	})
}

// sync waits until searches find everything that was saved.
func (d *daemon) sync(ctx context.Context) error {
	_, err := client.Call(ctx, &d.client, api.SyncRequest{Timeout: "10m"})
	return err
}
