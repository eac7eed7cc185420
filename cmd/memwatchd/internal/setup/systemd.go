package setup

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/adrg/xdg"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/cli"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/service"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
	"github.com/memwatchd/memwatchd/internal/state"
	"github.com/memwatchd/memwatchd/ipc/client"
)

// SystemUnits is the directory for units of the machine.
const SystemUnits = "/etc/systemd/system"

// UserUnits returns the directory for units of the user.
func UserUnits() string { return filepath.Join(xdg.ConfigHome, "systemd", "user") }

func (s *serviceCommand) unitDir() string {
	if s.system {
		return SystemUnits
	}
	return UserUnits()
}

var systemEnvironment = map[string]string{
	"XDG_CACHE_HOME": "/var/cache", "XDG_CONFIG_HOME": "/etc", "XDG_RUNTIME_DIR": "/run", "XDG_STATE_HOME": "/var/lib",
}

// systemMemory is the default directory of the memory of a system service.
const systemMemory = "/var/lib/morph/memory"

// setEnvironment sets the variables that locate configuration and sockets to those
// of the service.
func (s *serviceCommand) setEnvironment() {
	if s.system {
		for name, value := range systemEnvironment {
			os.Setenv(name, value)
		}
		xdg.Reload()
		return
	}
	// systemd always sets XDG_RUNTIME_DIR; su and cron, for example, do not.
	dir := fmt.Sprintf("/run/user/%d", os.Getuid())
	if os.Getenv("XDG_RUNTIME_DIR") == "" && config.ExistingPath(dir) != "" {
		os.Setenv("XDG_RUNTIME_DIR", dir)
	}
}

// planService returns the configuration of the service and its description. If a system
// service has no configuration file, File is the path of the one to write.
func (s *serviceCommand) planService() (*config.Config, *service.Service, error) {
	program, err := InvokedPath()
	if err != nil {
		return nil, nil, err
	}
	args, err := s.g.Config.Absolute()
	if err != nil {
		return nil, nil, err
	}
	flags := s.g.Config
	path := flags.File
	if path == "" {
		name, err := config.FindName(flags, os.Environ())
		if err != nil {
			return nil, nil, cli.UsageError{Err: err}
		}
		path = filepath.Join(xdg.ConfigHome, "memwatchd", name+".yaml")
	}
	create := s.system && config.ExistingPath(path) == ""
	if create {
		flags.File, flags.Dir = "", cmp.Or(flags.Dir, systemMemory)
	}
	c, err := config.Load(flags, os.Environ())
	if err != nil {
		return nil, nil, cli.UsageError{Err: err}
	}
	if create {
		c.File = path
		if err := checkEncoding(c); err != nil {
			return nil, nil, err
		}
	}
	daemon := &service.Service{
		Name: c.Name, Memory: c.Memory.Dir,
		Program: program, Args: args.Words(), Environment: s.serviceEnvironment(),
		Network: c.LLM.Endpoint != "" || c.Embed.Endpoint != "" || c.Capture.Ntfy.Topic != "" ||
			c.Share.Weaviate.URL != "",
		Reads: []string{c.File, c.LLM.KeyFile, c.Embed.KeyFile, c.Capture.Ntfy.TokenFile, c.Share.Weaviate.KeyFile,
			c.Share.Weaviate.CAFile},
	}
	for _, l := range c.IPC.Listeners {
		if l.Address != "" {
			daemon.Network = true
			daemon.Reads = append(daemon.Reads, l.TokenFile)
			continue
		}
		daemon.Sockets = append(daemon.Sockets, service.Socket{Path: l.Path, Mode: l.Mode, Group: l.Group})
	}
	if s.system {
		daemon.User = s.account
		// The daemon replaces the memory as a whole, which changes its parent directory.
		daemon.Writable = []string{filepath.Dir(c.Memory.Dir), c.State.Dir, c.Index.Dir}
		if filepath.Dir(c.Memory.Dir) == "/" {
			daemon.Writable[0] = c.Memory.Dir
		}
	}
	return c, daemon, nil
}

// serviceEnvironment returns the variables that change the behaviour of the daemon.
// systemd sets XDG_RUNTIME_DIR for a user's service.
func (s *serviceCommand) serviceEnvironment() []string {
	names := []string{"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"}
	if s.system {
		names = append(names, "XDG_RUNTIME_DIR")
	}
	list := slices.DeleteFunc(os.Environ(), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return !strings.HasPrefix(name, config.EnvPrefix) && !slices.Contains(names, name)
	})
	slices.Sort(list)
	return list
}

// checkEnvironment rejects a variable with a secret for a system service: all users
// can read the environment in its unit.
func (s *serviceCommand) checkEnvironment() error {
	const topic = config.EnvPrefix + "CAPTURE_NTFY_TOPIC"
	if s.system && os.Getenv(topic) != "" {
		return cli.Usagef("service install: all users could read %s in the unit: unset it, and set capture.ntfy.topic in "+
			"the configuration file", topic)
	}
	return nil
}

// writeConfig writes a configuration file, unless there is one. The file contains
// no secrets, and the account of the service must be able to read it.
func (s *serviceCommand) writeConfig(c *config.Config) error {
	dir := filepath.Dir(c.File)
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	err := os.Mkdir(dir, 0o755)
	if err == nil {
		err = os.Chmod(dir, 0o755) // the umask may forbid it to the account
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	made, err := writeIfMissing(c.File, starterConfig(c, &recognized{}, nil))
	if err != nil || !made {
		return err
	}
	s.printAction("write", term.EscapeLine(c.File))
	return os.Chmod(c.File, 0o644)
}

// An unit is a systemd file with its current and its wanted text.
type unit struct {
	name, path      string
	current, wanted string // empty: no file
}

// wantedUnits returns the units that install would write or remove.
func (s *serviceCommand) wantedUnits(ctx context.Context, daemon *service.Service) ([]unit, error) {
	version, err := s.systemdVersion(ctx)
	if err != nil {
		return nil, err
	}
	daemon.Version = version
	files, err := daemon.Units()
	if err != nil {
		return nil, err
	}
	return s.readUnits(daemon, files)
}

// readUnits returns the wanted files, followed by the other units of the service.
func (s *serviceCommand) readUnits(daemon *service.Service, wanted []service.File) ([]unit, error) {
	dir := s.unitDir()
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("service: %w", err)
	}
	files := slices.Clone(wanted)
	for _, e := range entries {
		known := slices.ContainsFunc(wanted, func(f service.File) bool { return f.Name == e.Name() })
		if !known && daemon.OwnsUnit(e.Name()) {
			files = append(files, service.File{Name: e.Name()})
		}
	}
	var units []unit
	for _, f := range files {
		path := filepath.Join(dir, f.Name)
		text, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("service: %w", err)
		}
		units = append(units, unit{f.Name, path, string(text), f.Text})
	}
	return units, nil
}

// checkEdited rejects changes to a unit that a person has edited, and prints the
// difference.
func (s *serviceCommand) checkEdited(units []unit, verb string) error {
	for _, u := range units {
		if s.force || u.current == "" || service.Unmodified(u.current) {
			continue
		}
		if u.wanted != "" {
			p := cli.NewPrinter(s.g.Stderr, s.g.Stderr, config.Default(), s.g.NoColor)
			fmt.Fprint(s.g.Stderr, p.OutsideDiff(u.path, u.path, s.g.Diff(u.path, []byte(u.current), []byte(u.wanted))))
		}
		return fmt.Errorf("service: %s was changed by hand and would be %s: move it away, or use --force", u.path, verb)
	}
	return nil
}

// writeUnits writes and removes units, and prints each action.
func (s *serviceCommand) writeUnits(units []unit) error {
	for _, u := range units {
		action, err := "unchanged", error(nil)
		switch {
		case u.wanted == "":
			action, err = "remove", os.Remove(u.path)
		case u.current != u.wanted:
			action, err = "write", s.writeUnit(u)
		}
		if err != nil {
			return fmt.Errorf("service: %w", err)
		}
		s.printAction(action, term.EscapeLine(u.path))
	}
	return nil
}

// writeUnit writes a unit. The environment in a user's unit may contain secrets,
// and only the user reads it.
func (s *serviceCommand) writeUnit(u unit) error {
	if err := os.MkdirAll(filepath.Dir(u.path), 0o755); err != nil {
		return err
	}
	mode := fs.FileMode(0o600)
	if s.system {
		mode = 0o644
	}
	return state.Replace(u.path, mode, []byte(u.wanted), nil)
}

// printAction prints one action of install or uninstall.
func (s *serviceCommand) printAction(action, object string) {
	fmt.Fprintf(s.g.Stdout, "%-9s %s\n", action, object)
}

// systemctlArgs returns the words of a command line.
func (s *serviceCommand) systemctlArgs(args ...string) []string {
	if s.system {
		return append([]string{"systemctl"}, args...)
	}
	return append([]string{"systemctl", "--user"}, args...)
}

// querySystemctl runs systemctl and returns its standard output, also after an error.
func (s *serviceCommand) querySystemctl(ctx context.Context, args ...string) (string, error) {
	words := s.systemctlArgs(args...)
	var out, failure bytes.Buffer
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Stdout, cmd.Stderr = &out, &failure
	err := cmd.Run()
	if err != nil {
		reason, _, _ := strings.Cut(strings.TrimSpace(failure.String()), "\n")
		err = fmt.Errorf("%s: %s", strings.Join(s.systemctlArgs(args[0]), " "), cmp.Or(reason, err.Error()))
	}
	return out.String(), err
}

func (s *serviceCommand) runSystemctl(ctx context.Context, commands ...[]string) error {
	for _, args := range commands {
		s.printAction("run", strings.Join(s.systemctlArgs(args...), " "))
		if _, err := s.querySystemctl(ctx, args...); err != nil {
			return err
		}
	}
	return nil
}

// logCommand returns the command that prints the log of a unit.
func (s *serviceCommand) logCommand(name string) string {
	if s.system {
		return "journalctl --unit " + name + " --lines 30"
	}
	return "journalctl --user --unit " + name + " --lines 30"
}

// systemdVersion returns the version of systemd, and an error if there is no
// systemd to manage the service.
func (s *serviceCommand) systemdVersion(ctx context.Context) (int, error) {
	if _, err := exec.LookPath("systemctl"); err != nil {
		return 0, errors.New("service: systemd is not installed: start `memwatchd serve` with another supervisor")
	}
	text, err := s.querySystemctl(ctx, "show", "--property=Version", "--value")
	if err != nil {
		return 0, fmt.Errorf("service: systemd does not answer: %w "+
			"(in a container, start `memwatchd serve` with another supervisor; "+
			"after su or sudo, log in as that user or run `sudo loginctl enable-linger %s`)",
			err, cmp.Or(os.Getenv("USER"), strconv.Itoa(os.Getuid())))
	}
	var version int
	fmt.Sscanf(strings.TrimPrefix(text, "v"), "%d", &version) // 257.5-2, for example
	return version, nil
}

// checkServing rejects a start while another daemon serves on the socket: systemd
// would replace the socket of that daemon.
func (s *serviceCommand) checkServing(ctx context.Context, c *config.Config, daemon *service.Service) error {
	short, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	serving := &client.Client{Socket: c.Socket(), AsOwner: true, ServerUIDs: c.IPC.ServerUIDs}
	status, err := client.Call(short, serving, api.StatusRequest{})
	if err != nil || status.Status == nil {
		return nil
	}
	pid := strconv.Itoa(status.PID)
	main, err := s.querySystemctl(ctx, "show", "--property=MainPID", "--value", daemon.UnitName())
	if err == nil && strings.TrimSpace(main) == pid {
		return nil
	}
	return fmt.Errorf("service install: process %s, which is not this service, serves on %s: stop it (kill %[1]s), "+
		"or use --no-start", pid, c.Socket())
}
