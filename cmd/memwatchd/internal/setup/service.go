package setup

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/cli"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
	"github.com/memwatchd/memwatchd/service"
)

// A serviceCommand is what the commands below service have in common: for whom
// the service is.
type serviceCommand struct {
	g       *cli.Globals
	system  bool
	account string // that a system service runs as
	launchd bool
	noStart bool
	force   bool
}

func NewService(g *cli.Globals) *cobra.Command {
	s := &serviceCommand{g: g, launchd: runtime.GOOS == "darwin"}
	c := &cobra.Command{
		Use:   "service",
		Short: "Have the system start the daemon, and keep it running",
		Long: `Have the system start the daemon, and keep it running: by systemd, or on macOS by launchd.

The service is the one of the memory that --config, --name and --dir say. It is yours, and runs while you are logged in; with --system it is the machine's, runs from its start, has its configuration in /etc/memwatchd, and its memory in /var/lib/morph/memory if that does not say otherwise.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return cli.UnknownCommand(cmd, args[0])
			}
			return cmd.Help()
		},
	}
	add := func(name, short, example string, run func(*serviceCommand, context.Context) error) *cobra.Command {
		sub := &cobra.Command{
			Use: name, Short: short, Args: cli.NoArgs, Example: "  memwatchd service " + example,
			RunE: func(cmd *cobra.Command, _ []string) error {
				if cmd.Flags().Changed("user") && !s.system {
					return cli.UsageError{Err: fmt.Errorf("service: --user is for --system: yours runs as you")}
				}
				return run(s, cmd.Context())
			},
		}
		sub.Flags().BoolVar(&s.system, "system", false, "the service is the machine's, and not yours")
		c.AddCommand(sub)
		return sub
	}
	account := func(c *cobra.Command) {
		c.Flags().StringVar(&s.account, "user", "memwatchd", "account that runs the service, with --system")
	}
	install := add("install", "Write what the system needs to start the daemon, and start it", "install", (*serviceCommand).install)
	account(install)
	install.Flags().BoolVar(&s.noStart, "no-start", false, "do not start it now")
	install.Flags().BoolVar(&s.force, "force", false, "replace files that somebody has changed")
	uninstall := add("uninstall", "Stop the service, and remove what was installed", "uninstall --name work", (*serviceCommand).uninstall)
	uninstall.Flags().BoolVar(&s.force, "force", false, "remove files that somebody has changed")
	shown := add("print", "Print what would be installed, and change nothing", "print --system --user memory", (*serviceCommand).print)
	account(shown)
	shown.Flags().BoolVar(&s.launchd, "launchd", s.launchd, "print an agent of launchd")
	status := add("status", "Tell how the service is", "status", (*serviceCommand).status)
	account(status)
	return c
}

// A serviceManager starts and stops what is installed. Names are those of files.
type serviceManager interface {
	// enable starts services now, if wanted, and whenever the machine or a
	// session starts.
	enable(ctx context.Context, names []string, now bool) error
	// disable stops them, and does not start them again.
	disable(ctx context.Context, names []string) error
	// stop stops them for now.
	stop(ctx context.Context, names []string) error
	// changed tells it that files have changed.
	changed(ctx context.Context) error
	// state is how a service is doing.
	state(ctx context.Context, name string) (serviceState, error)
	// advice is what is worth to be said when everything is installed.
	advice(ctx context.Context) string
	// command is how its user asks it for something about a service.
	command(verb, name string) string
}

// A serviceState is how a service manager says that a service is doing.
type serviceState struct {
	running bool
	text    string // such as active (running)
	said    string // by the service itself
	since   string
	pid     int
	enabled bool
	stale   bool // it does not know the newest files
	failed  bool
}

// print shows the files as they would be installed. A comment before each of
// several says where.
func (s *serviceCommand) print(ctx context.Context) error {
	in, err := s.plan(ctx)
	if err != nil {
		return err
	}
	for i, f := range in.files {
		if !s.launchd {
			fmt.Fprintf(s.g.Stdout, "%s# %s\n", strings.Repeat("\n", min(i, 1)), in.path(f.Name))
		}
		if _, err := fmt.Fprint(s.g.Stdout, f.Text); err != nil {
			return err
		}
	}
	return nil
}

func (s *serviceCommand) install(ctx context.Context) error {
	in, err := s.plan(ctx)
	if err != nil {
		return err
	}
	if err := s.mayInstall(); err != nil {
		return err
	}
	if s.system {
		if err := checkAccount(s.account); err != nil {
			return err
		}
	}
	manager, err := s.manager(ctx)
	if err != nil {
		return err
	}
	files, err := in.look()
	if err != nil {
		return err
	}
	if err := s.unlessChanged(files, "replaced"); err != nil {
		return err
	}
	if !s.noStart {
		if err := s.unlessServed(ctx, in, manager); err != nil {
			return err
		}
	}
	if err := s.replace(ctx, in, manager, files); err != nil {
		return err
	}
	if err := manager.enable(ctx, in.names(), !s.noStart); err != nil {
		return fmt.Errorf("service install: the files are in place, and it did not start: %w\n%s", err, manager.command("log", in.main()))
	}
	fmt.Fprintf(s.g.Stdout, "\nmemory:        %s\nconfiguration: %s\nsocket:        %s\n", term.EscapeLine(in.config.Memory.Dir),
		term.EscapeLine(cmp.Or(in.config.File, "none, the defaults hold")), term.EscapeLine(in.config.Socket()))
	if s.system && in.config.Socket() != "" {
		fmt.Fprintf(s.g.Stdout, "\nAsk it with `memwatchd --socket %s`, as root or as %s; `group` and `allow_uids` of a listener let in others.\n", term.EscapeLine(in.config.Socket()), s.account)
	}
	if advice := manager.advice(ctx); advice != "" {
		fmt.Fprintln(s.g.Stdout, "\n"+advice)
	}
	return nil
}

// replace puts the files in place. What runs is stopped first: a socket cannot
// be made anew under a running daemon.
func (s *serviceCommand) replace(ctx context.Context, in *installation, manager serviceManager, files []installed) error {
	var there, gone []string
	changed := false
	for _, f := range files {
		if f.is != "" {
			there = append(there, f.name)
		}
		if f.want == "" {
			gone = append(gone, f.name)
		}
		changed = changed || f.is != f.want
	}
	if changed && len(there) > 0 && !s.noStart {
		if err := manager.stop(ctx, there); err != nil {
			return err
		}
	}
	if len(gone) > 0 {
		if err := manager.disable(ctx, gone); err != nil {
			return err
		}
	}
	if in.starter != "" {
		if made, err := writeStarter(in.config.File, in.starter); err != nil {
			return err
		} else if made {
			s.say("write", in.config.File)
		}
	}
	for _, f := range files {
		switch {
		case f.is == f.want:
			s.say("is there", in.path(f.name))
			continue
		case f.want == "":
			s.say("remove", in.path(f.name))
		default:
			s.say("write", in.path(f.name))
		}
		if err := in.write(f); err != nil {
			return err
		}
	}
	if changed {
		return manager.changed(ctx)
	}
	return nil
}

func (s *serviceCommand) uninstall(ctx context.Context) error {
	in, err := s.place()
	if err != nil {
		return err
	}
	files, err := in.look()
	if err != nil {
		return err
	}
	if len(files) == 0 {
		fmt.Fprintf(s.g.Stdout, "nothing is installed: there is no %s\n", term.EscapeLine(in.path(in.main())))
		return nil
	}
	if err := s.mayInstall(); err != nil {
		return err
	}
	if err := s.unlessChanged(files, "removed"); err != nil {
		return err
	}
	manager, err := s.manager(ctx)
	if err != nil {
		return err
	}
	var names []string
	for _, f := range files {
		names = append(names, f.name)
	}
	if err := manager.disable(ctx, names); err != nil {
		return err
	}
	for _, f := range files {
		s.say("remove", in.path(f.name))
		if err := in.write(f); err != nil {
			return err
		}
	}
	if err := manager.changed(ctx); err != nil {
		return err
	}
	fmt.Fprintln(s.g.Stdout, "The memory, the configuration and the index are still there.")
	return nil
}

// say tells what is done to a file.
func (s *serviceCommand) say(what, path string) {
	fmt.Fprintf(s.g.Stdout, "%-9s %s\n", what, term.EscapeLine(path))
}

// unlessChanged refuses to touch files that are not as we left them, and shows
// what is different.
func (s *serviceCommand) unlessChanged(files []installed, verb string) error {
	if s.force {
		return nil
	}
	for _, f := range files {
		if !f.touched {
			continue
		}
		if f.want != "" {
			var b strings.Builder
			p := cli.NewPrinter(s.g.Stderr, s.g.Stderr, config.Default(), s.g.NoColor)
			p.OutsideDiff(&b, f.path, f.path, s.g.Diff(f.path, []byte(f.is), []byte(f.want)))
			fmt.Fprint(s.g.Stderr, b.String())
		}
		return fmt.Errorf("%s was changed by hand, and would be %s: put it aside, or give --force", f.path, verb)
	}
	return nil
}

// mayInstall refuses what only root can do, or what only a person has.
func (s *serviceCommand) mayInstall() error {
	switch {
	case s.system && s.launchd:
		return cli.UsageError{Err: fmt.Errorf("service: with launchd there is none of the machine's: leave --system out")}
	case s.system && os.Geteuid() != 0:
		return fmt.Errorf("service: only root can install one of the machine's: sudo memwatchd service … --system")
	}
	return nil
}

// manager is the one of this machine, if it answers.
func (s *serviceCommand) manager(ctx context.Context) (serviceManager, error) {
	if s.launchd {
		return newLaunchd(s.g.Stdout)
	}
	m, _, err := newSystemd(ctx, s.system, s.g.Stdout)
	return m, err
}

// unlessServed refuses to take the place of a daemon that somebody else has
// started: it would end up without its socket.
func (s *serviceCommand) unlessServed(ctx context.Context, in *installation, manager serviceManager) error {
	pid := in.serving(ctx)
	if pid == 0 {
		return nil
	}
	state, err := manager.state(ctx, in.main())
	if err == nil && state.pid == pid {
		return nil
	}
	return fmt.Errorf("process %d serves on %s already, and not as this service: end it first (kill %d), or give --no-start", pid, in.config.Socket(), pid)
}

func (s *serviceCommand) status(ctx context.Context) error {
	in, err := s.plan(ctx)
	if err != nil {
		return err
	}
	files, err := in.look()
	if err != nil {
		return err
	}
	row := func(name, format string, args ...any) {
		fmt.Fprintf(s.g.Stdout, "%-10s %s\n", name, term.EscapeLine(fmt.Sprintf(format, args...)))
	}
	name := in.main()
	manager, err := s.manager(ctx)
	if err != nil {
		return err
	}
	state, err := manager.state(ctx, name)
	if err != nil {
		return err
	}
	there := files[0].is != ""
	text := state.text
	if state.pid != 0 {
		text += fmt.Sprintf(", process %d", state.pid)
	}
	if state.since != "" {
		text += ", since " + state.since
	}
	row("service", "%s: %s", name, cmp.Or(text, "not known"))
	if state.said != "" && state.running {
		row("", "%s", state.said)
	}
	differs, changed := false, false
	for _, f := range files {
		word := "as installed"
		switch {
		case f.is == "":
			word = "not there"
		case f.touched:
			word, changed = "changed by hand", true
		case f.want == "":
			word, differs = "not needed any more", true
		case f.is != f.want:
			word, differs = "not as it would be installed now", true
		}
		title := ""
		if f.name == name {
			title = "file"
		}
		row(title, "%s (%s)", f.path, word)
	}
	kind := "not there"
	if info, err := os.Lstat(in.config.Socket()); err == nil && info.Mode().Type() == fs.ModeSocket {
		kind = "there"
	}
	row("socket", "%s (%s)", in.config.Socket(), kind)
	runs := service.ProgramOf(files[0].is)
	word := "this one"
	if !sameFile(runs, in.service.Program) {
		word = "another than this one, " + in.service.Program
	}
	if there {
		row("program", "%s (%s)", runs, word)
	}
	advice := ""
	switch {
	case !there:
		advice = "it is not installed: " + s.command("install")
	case state.failed:
		advice = "it failed; see why: " + manager.command("log", name)
	case state.stale:
		advice = "it does not know the newest files: " + manager.command("changed", name)
	case !state.running:
		advice = "it does not run: " + manager.command("start", name)
	case word != "this one":
		advice = "to run this program: " + s.command("install")
	case differs:
		advice = "the configuration, or memwatchd, has changed since it was installed: " + s.command("install")
	case !state.enabled:
		advice = "it will not start by itself: " + manager.command("enable", name)
	case changed:
		advice = "what was changed by hand stays, until you install with --force"
	}
	if advice != "" {
		row("advice", "%s", advice)
	}
	if !state.running {
		return cli.ErrUnhealthy
	}
	return nil
}

// command is how the same service is asked for something else.
func (s *serviceCommand) command(verb string) string {
	words := s.g.Config.Command("service " + verb)
	if !s.system {
		return words
	}
	if words = "sudo " + words + " --system"; s.account != "memwatchd" {
		words += " --user " + term.QuoteWord(s.account)
	}
	return words
}
