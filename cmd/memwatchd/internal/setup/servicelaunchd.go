package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// A launchd is the one of the user who is logged in. Agents are known to it by
// their labels, which are the names of their files without what is behind the
// last dot.
type launchd struct {
	out  io.Writer
	dir  string
	user string // its domain
}

var _ serviceManager = (*launchd)(nil)

func newLaunchd(out io.Writer) (*launchd, error) {
	if _, err := exec.LookPath("launchctl"); err != nil {
		return nil, errors.New("service: there is no launchd here: what `memwatchd service print --launchd` prints is for macOS")
	}
	dir, err := LaunchAgents()
	if err != nil {
		return nil, err
	}
	return &launchd{out, dir, "gui/" + strconv.Itoa(os.Getuid())}, nil
}

// LaunchAgents is where launchd looks for the agents of who asks.
func LaunchAgents() (string, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("service: %w", err)
	}
	return filepath.Join(home, "Library", "LaunchAgents"), nil
}

func (m *launchd) label(name string) string { return m.user + "/" + strings.TrimSuffix(name, ".plist") }

func (m *launchd) do(ctx context.Context, args ...string) error {
	fmt.Fprintf(m.out, "%-9s launchctl %s\n", "run", strings.Join(args, " "))
	if out, err := exec.CommandContext(ctx, "launchctl", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("launchctl %s: %s", args[0], cmp.Or(strings.TrimSpace(string(out)), err.Error()))
	}
	return nil
}

// enable loads agents, which starts them. Those that are not to start now will
// when the user logs in: launchd looks into the directory then.
func (m *launchd) enable(ctx context.Context, names []string, now bool) error {
	for _, name := range names {
		state, err := m.state(ctx, name)
		if !now || err != nil || state.enabled {
			continue
		}
		if err := m.do(ctx, "bootstrap", m.user, filepath.Join(m.dir, name)); err != nil {
			return err
		}
	}
	return nil
}

func (m *launchd) disable(ctx context.Context, names []string) error { return m.stop(ctx, names) }

func (m *launchd) stop(ctx context.Context, names []string) error {
	for _, name := range names {
		if state, err := m.state(ctx, name); err != nil || !state.enabled {
			continue
		}
		if err := m.do(ctx, "bootout", m.label(name)); err != nil {
			return err
		}
	}
	return nil
}

// changed does nothing: files are read when they are loaded.
func (m *launchd) changed(context.Context) error { return nil }

func (m *launchd) state(ctx context.Context, name string) (serviceState, error) {
	out, err := exec.CommandContext(ctx, "launchctl", "print", m.label(name)).Output()
	if err != nil {
		return serviceState{text: "not loaded"}, ctx.Err() // it does not know it
	}
	state := serviceState{enabled: true}
	for line := range strings.Lines(string(out)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " = ")
		switch key {
		case "state":
			state.text, state.running = cmp.Or(state.text, value), state.running || value == "running"
		case "pid":
			state.pid, _ = strconv.Atoi(value)
		case "last exit code":
			state.failed = value != "0" && value != "(never exited)"
		}
	}
	state.failed = state.failed && !state.running
	return state, nil
}

func (m *launchd) advice(context.Context) string { return "" }

func (m *launchd) command(verb, name string) string {
	if verb == "log" {
		return "see ~/Library/Logs"
	}
	return "launchctl bootstrap " + m.user + " " + filepath.Join(m.dir, name)
}
