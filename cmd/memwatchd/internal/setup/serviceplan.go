package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/adrg/xdg"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/cli"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/ipc/client"
	"github.com/memwatchd/memwatchd/service"
)

// An installation is a service as it should be on this machine, and where it
// belongs.
type installation struct {
	config  *config.Config
	starter string // the configuration to begin with, if there is none
	service *service.Service
	files   []service.File // the first is the service itself
	dir     string
	launchd bool
}

// An installed is a file, as it is and as it should be: empty where there is none.
type installed struct {
	name, path string
	is, want   string
	touched    bool // it is not ours, or not as we left it
}

// systemEnvironment puts what a system service has where the machine's things
// are.
var systemEnvironment = []string{"XDG_CACHE_HOME=/var/cache", "XDG_CONFIG_HOME=/etc", "XDG_RUNTIME_DIR=/run", "XDG_STATE_HOME=/var/lib"}

// systemMemory is where a system service has its memory if nobody says otherwise.
const systemMemory = "/var/lib/morph/memory"

// place works out what the service is called and where it belongs, which is all
// that is needed to remove it.
func (s *serviceCommand) place() (*installation, error) {
	switch {
	case s.system:
		for _, pair := range systemEnvironment {
			name, value, _ := strings.Cut(pair, "=")
			os.Setenv(name, value)
		}
		xdg.Reload()
	case os.Getenv("XDG_RUNTIME_DIR") == "":
		// Not every way to become a user sets it, and systemd always does.
		if dir := fmt.Sprintf("/run/user/%d", os.Getuid()); config.Existing(dir) != "" {
			os.Setenv("XDG_RUNTIME_DIR", dir)
		}
	}
	in := &installation{launchd: s.launchd, service: &service.Service{Name: cmp.Or(s.g.Config.Name, "memwatchd")}}
	if c, err := config.Load(s.g.Config, os.Environ()); err == nil {
		in.service.Name = c.Name
	}
	switch {
	case s.launchd:
		dir, err := LaunchAgents()
		if err != nil {
			return nil, err
		}
		in.dir = dir
	case s.system:
		in.dir = SystemUnits
	default:
		in.dir = UserUnits()
	}
	return in, nil
}

// plan works out what is to be installed.
func (s *serviceCommand) plan(ctx context.Context) (*installation, error) {
	environment := ours(os.Environ())
	in, err := s.place()
	if err != nil {
		return nil, err
	}
	if err := s.configure(in); err != nil {
		return nil, err
	}
	c := in.config
	program, err := invoked()
	if err != nil {
		return nil, err
	}
	flags, err := s.g.Config.Absolute()
	if err != nil {
		return nil, err
	}
	in.service = &service.Service{
		Name: c.Name, Memory: c.Memory.Dir, Program: program, Args: flags.Words(), Environment: environment, Drain: c.IPC.Drain,
	}
	in.service.Network = c.LLM.Endpoint != "" || c.Capture.Ntfy.Topic != ""
	reads := []string{c.File, c.LLM.KeyFile, c.Capture.Ntfy.TokenFile}
	for _, l := range c.IPC.Listeners {
		if l.Address != "" {
			in.service.Network = true
			reads = append(reads, l.TokenFile)
			continue
		}
		in.service.Sockets = append(in.service.Sockets, service.Socket{Path: l.Path, Mode: l.Mode, Group: l.Group})
	}
	if s.system {
		in.service.User = s.account
		in.service.Environment = append(slices.Clone(systemEnvironment), slices.DeleteFunc(environment, func(pair string) bool {
			return strings.HasPrefix(pair, "XDG_")
		})...)
		// What is replaced as a whole is seen only by who sees the directory
		// that it is in.
		in.service.Writable = []string{filepath.Dir(c.Memory.Dir), c.State.Dir, c.Index.Dir}
		if filepath.Dir(c.Memory.Dir) == "/" {
			in.service.Writable[0] = c.Memory.Dir
		}
		in.service.Reads = slices.DeleteFunc(reads, func(path string) bool { return path == "" })
	}
	slices.Sort(in.service.Environment)
	if s.launchd {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, err
		}
		agent, err := in.service.Agent(home)
		in.files = []service.File{agent}
		return in, err
	}
	_, in.service.Version, _ = newSystemd(ctx, s.system, nil) // where there is none, print still works
	in.files, err = in.service.Units()
	return in, err
}

// configure reads the configuration that the service will have.
func (s *serviceCommand) configure(in *installation) error {
	flags, path := s.g.Config, s.g.Config.File
	if s.system {
		path = cmp.Or(path, filepath.Join(xdg.ConfigHome, "memwatchd", in.service.Name+".yaml"))
		if config.Existing(path) == "" {
			flags.File, flags.Dir = "", cmp.Or(flags.Dir, systemMemory)
		}
	}
	c, err := config.Load(flags, os.Environ())
	if err != nil {
		return cli.UsageError{Err: err}
	}
	if s.system && config.Existing(path) == "" {
		c.File, in.starter = path, starterConfig(c)
	}
	in.config = c
	return nil
}

// ours are the variables of the environment that decide what a daemon does.
func ours(environ []string) []string {
	var list []string
	for _, pair := range environ {
		name, _, _ := strings.Cut(pair, "=")
		if strings.HasPrefix(name, config.EnvPrefix) || slices.Contains([]string{"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"}, name) {
			list = append(list, pair)
		}
	}
	return list
}

func (in *installation) path(name string) string { return filepath.Join(in.dir, name) }

// main is the name of the service itself.
func (in *installation) main() string {
	if in.launchd {
		return in.service.Label() + ".plist"
	}
	return in.service.UnitName()
}

// names are those of all files, sockets before the service.
func (in *installation) names() []string {
	var names []string
	for _, f := range in.files {
		names = append(names, f.Name)
	}
	return append(names[1:], names[0])
}

// look compares what is there with what should be, beginning with the service.
// What is ours and not wanted is there too.
func (in *installation) look() ([]installed, error) {
	var files []installed
	for _, f := range in.files {
		files = append(files, installed{name: f.Name, want: f.Text})
	}
	entries, err := os.ReadDir(in.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("service: %w", err)
	}
	for _, e := range entries {
		mine := e.Name() == in.main()
		if !in.launchd {
			mine = in.service.OwnsUnit(e.Name())
		}
		if mine && !slices.ContainsFunc(files, func(f installed) bool { return f.name == e.Name() }) {
			files = append(files, installed{name: e.Name()})
		}
	}
	for i := range files {
		f := &files[i]
		f.path = in.path(f.name)
		text, err := os.ReadFile(f.path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("service: %w", err)
		}
		f.is = string(text)
		_, untouched := service.Ours(f.is)
		f.touched = !untouched
	}
	return files, nil
}

// write makes a file what it should be.
func (in *installation) write(f installed) error {
	if f.want == "" {
		return os.Remove(f.path)
	}
	if err := os.MkdirAll(in.dir, 0o755); err != nil {
		return err
	}
	temporary := filepath.Join(in.dir, "."+f.name+".new")
	if err := os.WriteFile(temporary, []byte(f.want), 0o644); err != nil {
		return err
	}
	return os.Rename(temporary, f.path)
}

// serving is the process that answers on the daemon's socket, 0 if none does.
func (in *installation) serving(ctx context.Context) int {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	client := &client.Client{Socket: in.config.Socket(), AsOwner: true}
	status, err := client.Status(ctx, api.StatusRequest{})
	if err != nil || status.Status == nil {
		return 0
	}
	return status.PID
}

// writeStarter writes the configuration of a system service. It has no secrets,
// and the account that reads it is not the one that writes it.
func writeStarter(path, text string) (made bool, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return false, err
	}
	if made, err = writeNew(path, text); err != nil || !made {
		return made, err
	}
	return true, os.Chmod(path, 0o644)
}

// checkAccount refuses one that does not exist, and says how it is made.
func checkAccount(name string) error {
	if _, err := user.Lookup(name); err != nil {
		return fmt.Errorf("service: there is no account %s: make it (useradd --system --shell /usr/sbin/nologin %s), or name another with --user", name, name)
	}
	return nil
}
