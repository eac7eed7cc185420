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
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/cli"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/service"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
)

// A serviceCommand holds the flags of the subcommands of service.
type serviceCommand struct {
	g       *cli.Globals
	system  bool
	account string // account that a system service runs as
	launchd bool
	noStart bool
	force   bool
}

// NewService returns the command service.
func NewService(g *cli.Globals) *cobra.Command {
	s := &serviceCommand{g: g, launchd: runtime.GOOS == "darwin"}
	c := &cobra.Command{
		Use:   "service",
		Short: "Run the daemon as a service of the operating system",
		Long: "Run the daemon as a service of systemd. On macOS, print an agent for launchd.\n\n" +
			"--config, --name and --dir select the memory. By default, the service is yours and runs while you are " +
			"logged in. With --system, it runs from the start of the machine. Its configuration is then in " +
			"/etc/memwatchd and its memory in /var/lib/morph/memory, unless the configuration sets memory.dir.",
		Args: cli.OnlyCommands,
		RunE: cli.ShowHelp,
	}
	add := func(name, short, example string, run func(context.Context) error) *cobra.Command {
		sub := &cobra.Command{
			Use: name, Short: short, Args: cli.NoArgs, Example: "  memwatchd service " + example,
			RunE: func(cmd *cobra.Command, _ []string) error {
				if cmd.Flags().Changed("user") && !s.system {
					return cli.Usagef("service: --user requires --system: your own service runs as you")
				}
				if err := s.checkManager(name); err != nil {
					return err
				}
				s.setEnvironment()
				c, err := config.Load(s.g.Config, os.Environ())
				if err != nil && s.g.Config.File != "" && !s.system { // which names the service
					return cli.UsageError{Err: err}
				}
				if err == nil && c.OtherDir != "" && s.g.Config.Name == "" && s.g.Config.File == "" {
					return cli.UsageError{Err: c.ErrOtherDir()} // the service of the name is that of the other directory
				}
				return run(cmd.Context())
			},
		}
		sub.Flags().BoolVar(&s.system, "system", false, "use a service of the machine instead of your own")
		c.AddCommand(cli.AcceptGlobals(sub, cli.MemoryFlags))
		return sub
	}
	install := add("install", "Write the units and start the service", "install", s.install)
	install.Flags().BoolVar(&s.noStart, "no-start", false, "do not start the service now")
	install.Flags().BoolVar(&s.force, "force", false, "replace units that were changed by hand")
	uninstall := add("uninstall", "Stop the service and remove its units", "uninstall --name work", s.uninstall)
	uninstall.Flags().BoolVar(&s.force, "force", false, "remove units that were changed by hand")
	printed := add("print", "Print the units without installing them", "print --system --user memory", s.printUnits)
	printed.Flags().BoolVar(&s.launchd, "launchd", s.launchd, "print an agent for launchd instead")
	status := add("status", "Show the state of the service and its units", "status", s.status)
	for _, c := range []*cobra.Command{install, printed, status} {
		c.Flags().StringVar(&s.account, "user", "memwatchd", "account that runs the service, with --system")
	}
	return cli.AcceptGlobals(c)
}

// checkManager rejects subcommands that launchd does not support.
func (s *serviceCommand) checkManager(name string) error {
	switch {
	case s.launchd && name != "print":
		return fmt.Errorf("service %s: memwatchd does not manage launchd: run `memwatchd service print`, "+
			"which prints an agent and the commands that install it", name)
	case s.launchd && s.system:
		return cli.Usagef("service print: the agent for launchd is for one user: omit --system")
	}
	return nil
}

// printUnits prints the units, each after a comment with its path, or the agent.
func (s *serviceCommand) printUnits(ctx context.Context) error {
	_, daemon, err := s.planService()
	if err != nil {
		return err
	}
	if s.launchd {
		return s.printAgent(daemon)
	}
	daemon.Version, _ = s.systemdVersion(ctx) // the units are useful without systemd, too
	files, err := daemon.Units()
	if err != nil {
		return err
	}
	for i, f := range files {
		path := filepath.Join(s.unitDir(), f.Name)
		if _, err := fmt.Fprintf(s.g.Stdout, "%s# %s\n%s", strings.Repeat("\n", min(i, 1)), path, f.Text); err != nil {
			return err
		}
	}
	return nil
}

func (s *serviceCommand) printAgent(daemon *service.Service) error {
	home, err := os.UserHomeDir()
	if err != nil {
		return fmt.Errorf("service print: %w", err)
	}
	agent, err := daemon.LaunchdAgent(home)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprint(s.g.Stdout, agent.Text); err != nil {
		return err
	}
	name := term.QuoteWord(agent.Name)
	fmt.Fprintf(s.g.Stderr, "To install the agent, save this output as %s and run:\n"+
		"  cp %[1]s ~/Library/LaunchAgents/\n"+
		"  launchctl bootstrap gui/$(id -u) ~/Library/LaunchAgents/%[1]s\n", name)
	return nil
}

// install writes the units and starts the service. If units change, install stops
// the service first: systemd cannot replace the socket of a running service.
func (s *serviceCommand) install(ctx context.Context) error {
	if err := cmp.Or(s.checkRoot("install"), s.checkEnvironment()); err != nil {
		return err
	}
	if s.system {
		if _, err := user.Lookup(s.account); err != nil {
			return fmt.Errorf("service install: there is no account %s: create it with "+
				"`useradd --system --shell /usr/sbin/nologin %[1]s`, or name another with --user", s.account)
		}
	}
	c, daemon, err := s.planService()
	if err != nil {
		return err
	}
	if err := s.checkMemory(c); err != nil {
		return err
	}
	units, err := s.wantedUnits(ctx, daemon)
	if err != nil {
		return err
	}
	if err := s.checkEdited(units, "replaced"); err != nil {
		return err
	}
	var wanted, present, stale []string
	changed := false
	for _, u := range units {
		if u.current != "" {
			present = append(present, u.name)
		}
		if u.wanted == "" {
			stale = append(stale, u.name)
		} else {
			wanted = append(wanted, u.name)
		}
		changed = changed || u.current != u.wanted
	}
	wanted = append(wanted[1:], wanted[0]) // sockets before the service
	var before, after [][]string           // commands of systemctl
	if !s.noStart {
		if err := s.checkServing(ctx, c, daemon); err != nil {
			return err
		}
		if changed && len(present) > 0 {
			before = append(before, slices.Insert(present, 0, "stop"))
		}
	}
	if len(stale) > 0 {
		before = append(before, slices.Insert(stale, 0, "disable", "--now"))
	}
	after = append(after, []string{"daemon-reload"}, append([]string{"enable"}, wanted...))
	if !s.noStart {
		after = append(after, append([]string{"start"}, wanted...))
	}
	if err := s.runSystemctl(ctx, before...); err != nil {
		return err
	}
	if s.system {
		if err := s.writeConfig(c); err != nil {
			return err
		}
	}
	if err := s.writeUnits(units); err != nil {
		return err
	}
	if err := s.runSystemctl(ctx, after...); err != nil {
		return fmt.Errorf("service install: the units are written but not active: %w (see the log: %s)",
			err, s.logCommand(daemon.UnitName()))
	}
	socket := term.EscapeLine(c.Socket())
	fmt.Fprintf(s.g.Stdout, "\nmemory:        %s\nconfiguration: %s\nsocket:        %s\n",
		term.EscapeLine(c.Memory.Dir),
		term.EscapeLine(cmp.Or(c.File, "none (default settings)")), socket)
	if s.system {
		fmt.Fprintf(s.g.Stdout, "\nAs root or as %s, connect with `memwatchd --socket %s`.\n"+
			"To admit other users, set `group` and `allow_uids` of a listener.\n", s.account, socket)
	} else {
		fmt.Fprintln(s.g.Stdout, "\nThe service stops when you log out, unless you run `loginctl enable-linger`.")
	}
	return nil
}

// checkMemory returns an error if the flags select a memory that does not exist. The
// service of a configured directory waits for it.
func (s *serviceCommand) checkMemory(c *config.Config) error {
	flags := s.g.Config
	switch _, err := os.Stat(c.Memory.Dir); {
	case flags.Name != "" && !c.NamesDir && !s.system:
		return cli.Usagef("there is no configuration of %s: create the memory with `%s --dir DIRECTORY`",
			c.Name, flags.Command("init"))
	case flags.Dir != "" && errors.Is(err, fs.ErrNotExist) && !s.system:
		return cli.Usagef("%w: create the memory with `%s`", err, flags.Command("init"))
	}
	return nil
}

// uninstall does not need a valid configuration.
func (s *serviceCommand) uninstall(ctx context.Context) error {
	name, err := config.FindName(s.g.Config, os.Environ())
	if err != nil {
		return cli.UsageError{Err: fmt.Errorf("service uninstall: %w", err)}
	}
	daemon := &service.Service{Name: name}
	units, err := s.readUnits(daemon, nil)
	if err != nil {
		return err
	}
	if len(units) == 0 {
		path := filepath.Join(s.unitDir(), daemon.UnitName())
		fmt.Fprintf(s.g.Stdout, "Nothing is installed: %s does not exist.\n", term.EscapeLine(path))
		return nil
	}
	if err := s.checkRoot("uninstall"); err != nil {
		return err
	}
	if err := s.checkEdited(units, "removed"); err != nil {
		return err
	}
	if _, err := s.systemdVersion(ctx); err != nil {
		return err
	}
	disable := []string{"disable", "--now"}
	for _, u := range units {
		disable = append(disable, u.name)
	}
	if err := s.runSystemctl(ctx, disable); err != nil {
		return err
	}
	if err := s.writeUnits(units); err != nil {
		return err
	}
	if err := s.runSystemctl(ctx, []string{"daemon-reload"}); err != nil {
		return err
	}
	fmt.Fprintln(s.g.Stdout, "The memory, the configuration and the index were kept.")
	return nil
}

// status prints the output of systemctl status and compares the units with
// those that install would write.
func (s *serviceCommand) status(ctx context.Context) error {
	_, daemon, err := s.planService()
	if err != nil {
		return err
	}
	units, err := s.wantedUnits(ctx, daemon)
	if err != nil {
		return err
	}
	text, inactive := s.querySystemctl(ctx, "status", "--no-pager", "--full", "--lines=0", daemon.UnitName())
	if inactive != nil {
		text = cmp.Or(text, inactive.Error()+"\n")
	}
	fmt.Fprintln(s.g.Stdout, term.EscapeText(text))
	outdated := false
	for _, u := range units {
		state := "as installed"
		switch {
		case u.current == "":
			state, outdated = "missing", true
		case !service.Unmodified(u.current):
			state = "changed by hand"
		case u.current != u.wanted:
			state, outdated = "out of date", true
		}
		fmt.Fprintf(s.g.Stdout, "%s (%s)\n", term.EscapeLine(u.path), state)
	}
	if outdated {
		fmt.Fprintln(s.g.Stdout, "To update the units:", s.installCommand())
	}
	if inactive != nil {
		fmt.Fprintln(s.g.Stdout, "To see the log:", s.logCommand(daemon.UnitName()))
		return cli.ErrUnhealthy
	}
	return nil
}

func (s *serviceCommand) checkRoot(verb string) error {
	if s.system && os.Geteuid() != 0 {
		return fmt.Errorf("service %s: --system requires root: run it with sudo", verb)
	}
	return nil
}

// installCommand returns the command that installs the same service again.
func (s *serviceCommand) installCommand() string {
	words := s.g.Config.Command("service install")
	if s.system {
		words = "sudo " + words + " --system --user " + term.QuoteWord(s.account)
	}
	return words
}
