package service

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/template"
	"unicode"
	"unicode/utf8"

	"github.com/adrg/xdg"
	"github.com/spf13/cobra"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/cli"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
	"github.com/memwatchd/memwatchd/internal/state"
	"github.com/memwatchd/memwatchd/ipc/client"
)

// system is the operating system, which selects the service manager. Tests replace it.
var system = runtime.GOOS

// A unit is the file by which the service manager of the system starts a daemon at
// login, and the commands that make it known and forget it.
type unit struct {
	name, path  string
	template    string
	probe       []string // fails if the service manager does not answer
	halt        []string // stops the daemon until the next login
	restart     []string
	start, stop [][]string // after the file was written, and before its removal
	forget      [][]string // after its removal
}

// unitOf returns the unit of a memory: a service of systemd or an agent of launchd.
func unitOf(name string) unit {
	if system == "darwin" {
		label := strings.TrimSuffix("io.github.memwatchd."+name, ".memwatchd")
		path := filepath.Join(xdg.Home, "Library", "LaunchAgents", label+".plist")
		domain := fmt.Sprintf("gui/%d", os.Getuid())
		return unit{
			name: label, path: path, template: "agent.tmpl",
			probe:   []string{"launchctl", "print", domain},
			start:   [][]string{{"launchctl", "bootstrap", domain, path}},
			halt:    []string{"launchctl", "bootout", domain + "/" + label},
			restart: []string{"launchctl", "kickstart", "-k", domain + "/" + label},
			stop:    [][]string{{"launchctl", "bootout", domain + "/" + label}},
		}
	}
	prefix := strings.TrimSuffix("memwatchd-"+name, "-memwatchd")
	dir := filepath.Join(xdg.ConfigHome, "systemd", "user")
	systemctl := func(args ...string) []string { return append([]string{"systemctl", "--user"}, args...) }
	u := unit{
		name: prefix + ".service", path: filepath.Join(dir, prefix+".service"), template: "service.tmpl",
		probe:   systemctl("daemon-reload"),
		halt:    systemctl("stop", prefix+".service"),
		restart: systemctl("restart", prefix+".service"),
		forget:  [][]string{systemctl("daemon-reload")},
	}
	u.start = [][]string{systemctl("daemon-reload"), systemctl("enable", u.name), u.restart}
	u.stop = [][]string{systemctl("disable", "--now", u.name)}
	return u
}

// isInstalled reports whether the service manager starts the daemon: by the file of the unit,
// or by the link that enables the one of a package.
func (u unit) isInstalled() bool {
	wanted := filepath.Join(filepath.Dir(u.path), "default.target.wants", u.name)
	return config.ExistingPath(u.path) != "" || config.ExistingPath(wanted) != ""
}

// Path returns the path of the unit of a memory.
func Path(name string) string { return unitOf(name).path }

// Installed returns the path of the unit that starts the daemon of a memory at login, or
// "" if none is installed.
func Installed(name string) string {
	if u := unitOf(name); u.isInstalled() {
		return u.path
	}
	return ""
}

// NewCommand returns the command service.
func NewCommand(g *cli.Globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "service",
		Short: "Start the daemon at login",
		Long: "Start the daemon at login, by a service of systemd or an agent of launchd that runs while you are logged " +
			"in. --config, --name and --dir select the memory. The packages for Linux contain a service of the machine.",
		Args: cli.OnlyCommands,
		RunE: cli.ShowHelp,
	}
	add := func(name, short, example string, run func(context.Context, *cli.Globals) error) {
		c.AddCommand(cli.AcceptGlobals(&cobra.Command{
			Use: name, Short: short, Args: cli.NoArgs, Example: "  memwatchd service " + example,
			RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), g) },
		}, cli.MemoryFlags))
	}
	add("install", "Start the daemon now and at each login", "install", Install)
	add("uninstall", "Stop the daemon, and start it at login no more", "uninstall --name work", Uninstall)
	return cli.AcceptGlobals(c)
}

// Install writes the unit of the memory of g and starts the service. It stops a daemon
// that runs in the background.
func Install(ctx context.Context, g *cli.Globals) error {
	setRuntimeDir()
	c, err := config.Load(g.Config, os.Environ())
	if err != nil {
		return cli.UsageError{Err: err}
	}
	if err := CheckMemory(g, c); err != nil {
		return err
	}
	u := unitOf(c.Name)
	text, err := u.render(g.Config)
	if err != nil {
		return err
	}
	if err := runCommand(ctx, u.probe); err != nil {
		return fmt.Errorf("service install: %w (in a container, start `memwatchd serve` with another supervisor; "+
			"after su or sudo, log in as that user)", err)
	}
	if u.isInstalled() {
		err = u.run(ctx, g, u.stop)
	} else {
		dc := &client.Client{Socket: g.SocketOf(c), AsOwner: true, ServerUIDs: c.IPC.ServerUIDs}
		err = stop(ctx, g, c, dc)
	}
	if err != nil && !errors.Is(err, client.ErrNoDaemon) {
		return fmt.Errorf("service install: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(u.path), 0o755); err != nil {
		return err
	}
	// The environment may contain secrets.
	if err := state.Replace(u.path, 0o600, []byte(text), nil); err != nil {
		return err
	}
	fmt.Fprintf(g.Stdout, "wrote %s\n", term.EscapeLine(u.path))
	if err := u.run(ctx, g, u.start); err != nil {
		return fmt.Errorf("service install: %w (see the log: %s)", err, g.Config.Command("logs"))
	}
	fmt.Fprintf(g.Stdout, "The daemon of %s starts at login.\n", term.EscapeLine(c.Memory.Dir))
	return nil
}

// CheckMemory returns an error if the flags select a memory that does not exist, or
// another one than their configuration.
func CheckMemory(g *cli.Globals, c *config.Config) error {
	switch _, err := os.Stat(c.Memory.Dir); {
	case c.OtherDir != "":
		return cli.UsageError{Err: c.ErrOtherDir()}
	case g.Config.Name != "" && !c.NamesDir:
		return cli.Usagef("there is no configuration of %s: create the memory with `%s --dir DIRECTORY`",
			c.Name, g.Config.Command("init"))
	case err != nil:
		return cli.Usagef("%w: create the memory with `%s`", err, g.Config.Command("init"))
	}
	return nil
}

// Uninstall stops the service of the memory of g and removes its unit. It needs no valid
// configuration.
func Uninstall(ctx context.Context, g *cli.Globals) error {
	setRuntimeDir()
	name, err := config.FindName(g.Config, os.Environ())
	if err != nil {
		return cli.UsageError{Err: fmt.Errorf("service uninstall: %w", err)}
	}
	u := unitOf(name)
	if !u.isInstalled() {
		fmt.Fprintf(g.Stdout, "Nothing is installed: %s does not exist.\n", term.EscapeLine(u.path))
		return nil
	}
	if err := u.run(ctx, g, u.stop); err != nil {
		return fmt.Errorf("service uninstall: %w", err)
	}
	if err := os.Remove(u.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	fmt.Fprintf(g.Stdout, "removed %s\n", term.EscapeLine(u.path))
	return u.run(ctx, g, u.forget)
}

// run prints and runs commands of the service manager until one fails.
func (u unit) run(ctx context.Context, g *cli.Globals, commands [][]string) error {
	for _, words := range commands {
		fmt.Fprintf(g.Stdout, "ran   %s\n", term.EscapeLine(term.ShellLine(words...)))
		if err := runCommand(ctx, words); err != nil {
			return err
		}
	}
	return nil
}

func runCommand(ctx context.Context, words []string) error {
	out, err := exec.CommandContext(ctx, words[0], words[1:]...).CombinedOutput()
	if err != nil {
		reason, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
		return fmt.Errorf("%s: %w: %s", strings.Join(words[:min(len(words), 3)], " "), err, reason)
	}
	return nil
}

// setRuntimeDir sets the variable that locates the socket as the service manager does,
// and su and cron, for example, do not.
func setRuntimeDir() {
	dir := fmt.Sprintf("/run/user/%d", os.Getuid())
	if os.Getenv("XDG_RUNTIME_DIR") == "" && config.ExistingPath(dir) != "" {
		os.Setenv("XDG_RUNTIME_DIR", dir)
	}
}

//go:embed *.tmpl
var templateFiles embed.FS

// render returns the text of the unit of a daemon that starts with the flags.
func (u unit) render(flags config.Flags) (string, error) {
	program, err := cli.InvokedPath()
	if err != nil {
		return "", err
	}
	flags, err = flags.Absolute()
	if err != nil {
		return "", err
	}
	environment := slices.DeleteFunc(os.Environ(), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return !strings.HasPrefix(name, config.EnvPrefix) &&
			!slices.Contains([]string{"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"}, name)
	})
	slices.Sort(environment)
	return u.renderTemplate(program, flags.Words(), environment)
}

func (u unit) renderTemplate(program string, args, environment []string) (string, error) {
	special := ""
	if u.template == "service.tmpl" {
		special = "%$\"\\"
	}
	for _, text := range slices.Concat([]string{program, u.name}, args, environment) {
		if strings.ContainsFunc(text, unicode.IsControl) || !utf8.ValidString(text) ||
			strings.ContainsAny(text, special) {
			return "", fmt.Errorf("service install: %q contains a character that the service manager interprets: "+
				"use another path or name, or set the value in the configuration file", text)
		}
	}
	t := template.Must(template.New("").Funcs(template.FuncMap{
		"split": func(pair string) []string { return strings.SplitN(pair, "=", 2) },
		"quote": func(word string) string {
			if strings.ContainsAny(word, " ';") {
				return `"` + word + `"`
			}
			return word
		},
	}).ParseFS(templateFiles, "*.tmpl"))
	var b strings.Builder
	err := t.ExecuteTemplate(&b, u.template, struct {
		Unit, Program, Log string
		Args, Environment  []string
	}{u.name, program, filepath.Join(xdg.Home, "Library", "Logs", u.name+".log"), args, environment})
	return b.String(), err
}
