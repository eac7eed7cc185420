package cli

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
	"github.com/memwatchd/memwatchd/ipc/client"
	"github.com/memwatchd/memwatchd/memory"
)

// Groups of global flags, for [AcceptGlobals].
var (
	MemoryFlags = []string{"config", "name", "dir"}
	DaemonFlags = []string{"config", "name", "dir", "socket"}
	CallerFlags = []string{"config", "name", "dir", "socket", "subject", "context"}
	OutputFlags = []string{"json", "no-color"}
)

const globalsAnnotation = "global flags"

// AcceptGlobals limits a command to the named global flags, which have an effect
// on it. A command without limit accepts all.
func AcceptGlobals(cmd *cobra.Command, flags ...[]string) *cobra.Command {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[globalsAnnotation] = strings.Join(slices.Concat(flags...), " ")
	return cmd
}

// RejectGlobals makes the commands below parent reject the global flags that
// [AcceptGlobals] does not name, and hides these flags in their help.
func RejectGlobals(parent *cobra.Command) {
	for _, c := range parent.Commands() {
		RejectGlobals(c)
		accepted, limited := c.Annotations[globalsAnnotation]
		if !limited {
			continue
		}
		instead := "no global flags"
		if accepted != "" {
			instead = "only --" + strings.ReplaceAll(accepted, " ", ", --")
			if last := strings.LastIndex(instead, ", "); last >= 0 {
				instead = instead[:last] + " and" + instead[last+1:]
			}
		}
		c.Root().PersistentFlags().VisitAll(func(f *pflag.Flag) {
			if slices.Contains(strings.Fields(accepted), f.Name) {
				return
			}
			define := c.Flags().Func
			if f.NoOptDefVal != "" {
				define = c.Flags().BoolFunc
			}
			define(f.Name, f.Usage, func(string) error {
				return Usagef("unknown flag: --%s: %s accepts %s", f.Name, c.CommandPath(), instead)
			})
			c.Flags().Lookup(f.Name).Hidden = true
		})
	}
}

// rejectTogether makes a command reject two of several flags, of which one has no effect
// beside another. Boolean flags that are false are not set.
func rejectTogether(cmd *cobra.Command, flags ...string) {
	before := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		set := slices.DeleteFunc(slices.Clone(flags), func(name string) bool {
			f := cmd.Flags().Lookup(name)
			return f == nil || !f.Changed || f.Value.String() == "false"
		})
		switch {
		case len(set) > 1:
			return Usagef("%s: --%s has no effect with --%s: omit one of them", cmd.CommandPath(), set[0], set[1])
		case before != nil:
			return before(cmd, args)
		}
		return nil
	}
}

// Connect returns the configuration and a client of the daemon with the scope
// of the flags. An empty subject is an anonymous caller; without a subject the
// caller is the owner. Connect sends no request. If neither the configuration nor a
// flag names the memory directory, the configuration has that of the daemon on the
// socket, if known. An invalid configuration is a [UsageError], unless --socket is
// given.
func (g *Globals) Connect(cmd *cobra.Command) (*config.Config, *client.Client, error) {
	c, err := config.Load(g.Config, os.Environ())
	if err != nil {
		if g.Socket == "" {
			return nil, nil, UsageError{Err: err}
		}
		c = config.Default() // the socket is known despite the invalid configuration
	}
	client := &client.Client{Socket: g.SocketOf(c), AsOwner: true, ServerUIDs: c.IPC.ServerUIDs,
		Starter: g.starter(c), Program: api.NewProgram("cli", terminalSession())}
	var once sync.Once
	client.Older = func(err error) {
		once.Do(func() { fmt.Fprintln(g.Stderr, "memwatchd: "+explainError(cmd, err, false).Error()) })
	}
	if g.Config.Dir != "" || c.NamesDir && (g.Socket == "" || g.Config.Name != "") {
		client.Root = config.RealPath(c.Memory.Dir)
	}
	root := client.Root
	if root == "" {
		root = config.ServedRoot(client.Socket)
		c.Memory.Dir = cmp.Or(root, c.Memory.Dir)
	}
	g.knowsRoot, g.namesDir = root != "", c.NamesDir
	if cmd.Flags().Changed("subject") {
		client.Scope.Subject = &g.Subject
	}
	if cmd.Flags().Changed("context") {
		client.Scope.Context = &g.Context
	}
	return c, client, nil
}

// ConnectRunning is [Globals.Connect] for the commands that manage a running daemon. If
// the configuration is invalid, it finds the daemon by the name of the memory, and
// prints the error. With --dir, or with --config but no --name, it returns the error,
// since another daemon may have the default name.
func (g *Globals) ConnectRunning(cmd *cobra.Command) (*config.Config, *client.Client, error) {
	c, dc, err := g.Connect(cmd)
	switch {
	case err == nil || g.Config.Dir != "":
		return c, dc, err
	case g.Config.File != "" && g.Config.Name == "":
		return nil, nil, UsageError{Err: fmt.Errorf("%w (to find the daemon without this file, add --name or --socket)", err)}
	}
	named := config.Default()
	name, nameErr := config.FindName(g.Config, os.Environ())
	if nameErr != nil {
		return nil, nil, UsageError{Err: nameErr}
	}
	named.Name = name
	g.Socket = g.SocketOf(named)
	c, dc, nameErr = g.Connect(cmd)
	if nameErr != nil {
		return nil, nil, nameErr
	}
	c.Name = name
	_, err = fmt.Fprintf(g.Stderr, "memwatchd: the configuration is invalid: %s\n", term.EscapeLine(err.Error()))
	return c, dc, err
}

// starter returns the command that starts the daemon of a memory, or the command that
// creates the memory if there is none.
func (g *Globals) starter(c *config.Config) string {
	_, err := os.Stat(c.Memory.Dir)
	switch {
	case c.NamesDir, g.Socket != "", g.Config.Name == "" && err == nil:
		return g.Config.Command("serve")
	case g.Config.Name != "":
		return g.Config.Command("init --dir DIRECTORY")
	}
	return g.Config.Command("init")
}

// terminalSession returns the session of the terminal, or of the program that runs
// the command without one: the commands of a shell are in one session. Where there
// is no /proc, it returns the number of the parent process.
func terminalSession() string {
	self := statFields("self")
	if len(self) <= statStart {
		return strconv.Itoa(os.Getppid())
	}
	session := self[statSession]
	// Later sessions may have the same number, but not the same time of start.
	if leader := statFields(session); len(leader) > statStart {
		session += "-" + leader[statStart]
	}
	return session
}

// Indexes of the fields that statFields returns.
const (
	statSession = 3
	statStart   = 19 // time at which the process started
)

// ProcessState returns the letter of the state of a process, such as T for stopped, or
// "" if the system does not report it.
func ProcessState(pid int) string { return append(statFields(strconv.Itoa(pid)), "")[0] }

// statFields returns the fields of /proc/PID/stat that follow the name of the program.
func statFields(pid string) []string {
	stat, _ := os.ReadFile("/proc/" + pid + "/stat")
	return strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
}

// StartsDaemon reports whether commands start a daemon with a configuration.
func (g *Globals) StartsDaemon(c *config.Config) bool {
	return g.Start != nil && g.Socket == "" && c.NamesDir
}

// ConnectOrStart is [Globals.Connect] with a client that starts a daemon if none
// answers, provided that the configuration or a flag names the memory.
func (g *Globals) ConnectOrStart(cmd *cobra.Command) (*config.Config, *client.Client, error) {
	c, client, err := g.Connect(cmd)
	if err == nil && g.StartsDaemon(c) {
		var mu sync.Mutex
		client.Start = func(ctx context.Context) error {
			mu.Lock()
			defer mu.Unlock()
			return g.Start(ctx, g, c)
		}
	}
	return c, client, err
}

// CheckExternalKey returns a [UsageError] if the key of --external-key is invalid
// or the command line has a subject as well.
func CheckExternalKey(cmd *cobra.Command, key string) error {
	if cmd.Flags().Changed("subject") {
		return Usagef("--subject and --external-key exclude each other")
	}
	if err := memory.ValidExternalKey(key); err != nil {
		return Usagef("--external-key: %w, such as telegram:123456", err)
	}
	return nil
}

// SocketOf returns the socket to connect to: that of --socket, or that of the
// daemon that serves the directory of --dir if neither --name nor --config is
// given, or that of the configuration. The daemon may have been started with another
// runtime directory; the lock of the memory then names its socket.
func (g *Globals) SocketOf(c *config.Config) string {
	if g.Socket != "" {
		return g.Socket
	}
	socket, locked := c.Socket(), config.DaemonSocket(c.Memory.Dir)
	onlyDir := g.Config == (config.Flags{Dir: g.Config.Dir}) && g.Config.Dir != ""
	elsewhere := filepath.Base(locked) == filepath.Base(socket) && config.ExistingPath(socket) == ""
	if locked != "" && (onlyDir || elsewhere) {
		return locked
	}
	return socket
}
