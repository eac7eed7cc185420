package setup

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/adrg/xdg"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
)

// A systemd is the one of the machine, or that of the user.
type systemd struct {
	system bool
	out    io.Writer // where is told what is run
}

var _ serviceManager = (*systemd)(nil)

// newSystemd finds it, and its version.
func newSystemd(ctx context.Context, system bool, out io.Writer) (*systemd, int, error) {
	m := &systemd{system, out}
	if _, err := exec.LookPath("systemctl"); err != nil {
		return nil, 0, errors.New("service: there is no systemd here: have whatever starts programs on this machine start `memwatchd serve`")
	}
	text, err := m.ask(ctx, "show", "--property=Version", "--value")
	if err == nil {
		version, _, _ := strings.Cut(text, ".")
		digits := strings.TrimLeft(strings.TrimSpace(version), "v")
		n, _ := strconv.Atoi(digits[:len(digits)-len(strings.TrimLeft(digits, "0123456789"))])
		return m, n, nil
	}
	switch {
	case ctx.Err() != nil:
		return nil, 0, ctx.Err()
	case system || config.Existing("/run/systemd/system") == "" && config.Existing(os.Getenv("XDG_RUNTIME_DIR")+"/systemd/private") == "":
		return nil, 0, fmt.Errorf("service: systemd does not run here, as in most containers: have whatever starts programs start `memwatchd serve` (%w)", err)
	default:
		return nil, 0, fmt.Errorf("service: you have no session of systemd's, as behind su and sudo: log in, or `sudo loginctl enable-linger %s` and try again (%w)", cmp.Or(os.Getenv("USER"), strconv.Itoa(os.Getuid())), err)
	}
}

// SystemUnits and userUnits are where systemd looks for units that a person has
// put there.
const SystemUnits = "/etc/systemd/system"

func UserUnits() string { return filepath.Join(xdg.ConfigHome, "systemd", "user") }

// words are those of a call of systemctl.
func (m *systemd) words(args ...string) []string {
	if m.system {
		return append([]string{"systemctl"}, args...)
	}
	return append([]string{"systemctl", "--user"}, args...)
}

// ask runs systemctl and returns what it prints.
func (m *systemd) ask(ctx context.Context, args ...string) (string, error) {
	words := m.words(args...)
	var out, failure bytes.Buffer
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Stdout, cmd.Stderr = &out, &failure
	if err := cmd.Run(); err != nil {
		first, _, _ := strings.Cut(strings.TrimSpace(failure.String()), "\n")
		return "", fmt.Errorf("%s: %s", strings.Join(words[:len(words)-len(args)+1], " "), cmp.Or(first, err.Error()))
	}
	return out.String(), nil
}

// do runs systemctl for what it does, and tells.
func (m *systemd) do(ctx context.Context, args ...string) error {
	fmt.Fprintf(m.out, "%-9s %s\n", "run", strings.Join(m.words(args...), " "))
	_, err := m.ask(ctx, args...)
	return err
}

func (m *systemd) enable(ctx context.Context, names []string, now bool) error {
	if err := m.do(ctx, append([]string{"enable"}, names...)...); err != nil || !now {
		return err
	}
	return m.do(ctx, append([]string{"start"}, names...)...)
}

func (m *systemd) disable(ctx context.Context, names []string) error {
	return m.do(ctx, append([]string{"disable", "--now"}, names...)...)
}

func (m *systemd) stop(ctx context.Context, names []string) error {
	return m.do(ctx, append([]string{"stop"}, names...)...)
}

func (m *systemd) changed(ctx context.Context) error { return m.do(ctx, "daemon-reload") }

func (m *systemd) state(ctx context.Context, name string) (serviceState, error) {
	properties := []string{"ActiveState", "SubState", "MainPID", "ActiveEnterTimestamp", "UnitFileState", "StatusText", "NeedDaemonReload", "NRestarts", "Result"}
	text, err := m.ask(ctx, "show", "--property="+strings.Join(properties, ","), name)
	if err != nil {
		return serviceState{}, err
	}
	p := map[string]string{}
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		p[key] = value
	}
	state := serviceState{
		running: slices.Contains([]string{"active", "reloading", "refreshing"}, p["ActiveState"]),
		text:    fmt.Sprintf("%s (%s)", p["ActiveState"], p["SubState"]),
		said:    p["StatusText"], since: p["ActiveEnterTimestamp"], enabled: p["UnitFileState"] == "enabled",
		stale: p["NeedDaemonReload"] == "yes", failed: p["ActiveState"] == "failed",
	}
	if !state.running {
		state.since = ""
	}
	if p["Result"] != "" && p["Result"] != "success" {
		state.text += ", because of " + p["Result"]
	}
	if n, _ := strconv.Atoi(p["NRestarts"]); n > 0 {
		state.text += ", " + term.Plural(n, "restart")
	}
	state.pid, _ = strconv.Atoi(p["MainPID"])
	return state, nil
}

// advice tells those whose services end with their session.
func (m *systemd) advice(ctx context.Context) string {
	if m.system {
		return ""
	}
	out, err := exec.CommandContext(ctx, "loginctl", "show-user", strconv.Itoa(os.Getuid()), "--property=Linger", "--value").Output()
	if err == nil && strings.TrimSpace(string(out)) == "no" {
		return "It runs while you are logged in. To have it run from the start of the machine: loginctl enable-linger"
	}
	return ""
}

func (m *systemd) command(verb, name string) string {
	switch verb {
	case "log":
		if m.system {
			return "journalctl --unit " + name + " --lines 30"
		}
		return "journalctl --user --unit " + name + " --lines 30"
	case "changed":
		return strings.Join(m.words("daemon-reload"), " ")
	}
	return strings.Join(m.words(verb, name), " ")
}
