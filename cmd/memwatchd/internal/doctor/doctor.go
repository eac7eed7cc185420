package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/memwatchd/memwatchd/api"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/cli"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/clock"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/config"
	"github.com/memwatchd/memwatchd/cmd/memwatchd/internal/term"
	"github.com/memwatchd/memwatchd/ipc/client"
)

// A mark says how bad it is.
type mark int

// From what is as it should be to what keeps memory from working.
const (
	fine mark = iota
	note
	warning
	problem
)

var markNames = [...]string{"ok", "note", "warning", "problem"}

func (m mark) String() string { return markNames[m] }

// MarshalText implements [encoding.TextMarshaler].
func (m mark) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// A finding is one thing that a doctor has seen: what, and what to do about it.
// It has no text of memory.
type finding struct {
	Group   string `json:"group"`             // of the inspection that found it
	Name    string `json:"name"`              // of the inspection
	Mark    mark   `json:"mark"`              // ok, note, warning or problem
	Text    string `json:"text"`              // what was found
	Advice  string `json:"advice,omitempty"`  // what to do, in words
	Command string `json:"command,omitempty"` // what to type for it
}

// An inspection looks at one thing, changes nothing, and may be given up when it takes
// too long. What it finds needs no group and no name.
type inspection struct {
	group, name string
	configured  bool // it cannot be told without a configuration
	look        func(context.Context, *examination) []finding
}

// The groups, in the order in which they are shown.
const (
	ofDaemon  = "Daemon"
	ofConfig  = "Configuration"
	ofMemory  = "Memory directory"
	ofMachine = "Machine"
	ofAgents  = "Agents"
)

// inspections are all that a doctor looks at, in the order in which it tells.
var inspections = []inspection{
	{ofDaemon, "process", false, lookAtProcess},
	{ofDaemon, "status", false, inspectStatus},
	{ofDaemon, "check", false, inspectCheck},
	{ofDaemon, "version", false, lookAtVersion},
	{ofDaemon, "socket", true, lookAtSockets},
	{ofDaemon, "locks", true, lookAtLocks},
	{ofDaemon, "others", true, lookAtOthers},
	{ofDaemon, "state", true, lookAtStateDirs},
	{ofConfig, "configuration", false, lookAtConfig},
	{ofConfig, "environment", false, lookAtEnvironment},
	{ofConfig, "in effect", true, lookAtEffect},
	{ofConfig, "keys", true, lookAtKeyFiles},
	{ofConfig, "model", true, lookAtModel},
	{ofMemory, "directory", true, lookAtDirectory},
	{ofMemory, "permissions", true, lookAtPermissions},
	{ofMemory, "file system", true, lookAtFileSystem},
	{ofMemory, "copies", true, lookAtCopies},
	{ofMemory, "git", true, lookAtGit},
	{ofMemory, "owners", true, lookAtOwners},
	{ofMemory, "copies to compare", true, inspectCopies},
	{ofMachine, "watches", true, lookAtWatches},
	{ofMachine, "open files", false, lookAtOpenFiles},
	{ofMachine, "disk", true, lookAtDisk},
	{ofMachine, "journal", true, lookAtJournal},
	{ofMachine, "time zone", true, lookAtZone},
	{ofMachine, "clock", false, lookAtClock},
	{ofMachine, "service", true, lookAtService},
	{ofAgents, "agents", false, lookAtAgents},
}

// How long anything may take that is asked or looked at.
const (
	statusTime     = 3 * time.Second
	checkTime      = 30 * time.Second
	surveyTime     = 20 * time.Second
	inspectionTime = 5 * time.Second
)

// An examination is what is known before the inspections look further. They only
// read it: one that was given up may still be running.
type examination struct {
	flags     config.Flags
	environ   []string
	config    *config.Config // nil if there is none that makes sense
	configErr error
	socket    string
	now       time.Time
	tryWrite  bool // two files may be made in the memory directory, and removed

	answered bool        // the daemon did
	status   *api.Status // nil if it did not, or does not tell it there
	asked    error       // why it did not answer
	check    *api.CheckAnswer
	checkErr error
	tree     *survey
	treeErr  error
}

func NewCommand(g *cli.Globals) *cobra.Command {
	var verbose, tryWrite bool
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Look for what is wrong, and say what to do about it",
		Long: "Look for what is wrong with the memory, its daemon and this machine, and say what to do about it. Nothing is changed, " +
			"and no text of memory is shown. It works without a daemon, too: what cannot be told then is left out.\n\n" +
			"A problem keeps memory from working, a warning may cost something, and a note is good to know. The exit code is 3 if there is a problem.",
		Example: "  memwatchd doctor\n  memwatchd doctor --json | jq '.findings[] | select(.mark == \"problem\")'",
		Args:    cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			e := examine(cmd.Context(), g, tryWrite)
			findings := e.findings(cmd.Context(), inspections)
			sick := slices.ContainsFunc(findings, func(f finding) bool { return f.Mark == problem })
			if g.JSON {
				if _, err := g.Stdout.Write(cli.AsJSON(struct {
					Findings []finding `json:"findings"`
					Healthy  bool      `json:"healthy"`
				}{findings, !sick})); err != nil {
					return err
				}
			} else if err := printDiagnosis(g.Stdout, term.Width(g.Stdout), cli.NewPrinter(g.Stdout, g.Stderr, e.configOrDefault(), g.NoColor), findings, verbose); err != nil {
				return err
			}
			if sick {
				return cli.ErrUnhealthy
			}
			return nil
		},
	}
	c.Flags().BoolVarP(&verbose, "verbose", "v", false, "say what is well, too, in full")
	c.Flags().BoolVar(&tryWrite, "try-write", false, "make two empty files in the memory directory, to see whether they can be exchanged, and remove them")
	return c
}

// examine finds out what most inspections want to know.
func examine(ctx context.Context, g *cli.Globals, tryWrite bool) *examination {
	e := &examination{flags: g.Config, environ: os.Environ(), now: clock.Now(), tryWrite: tryWrite}
	e.config, e.configErr = config.Load(g.Config, e.environ)
	switch {
	case g.Socket != "":
		e.socket = g.Socket
	case e.config != nil:
		e.socket = e.config.Socket()
	default:
		e.socket = client.DefaultSocket(g.Config.Name)
	}
	tree := make(chan func(), 1)
	if e.config != nil {
		go func() {
			s, err := timely(ctx, surveyTime, func(ctx context.Context) (*survey, error) { return surveyOf(ctx, e.config.Memory.Dir, e.now) })
			tree <- func() { e.tree, e.treeErr = s, err }
		}()
	} else {
		tree <- func() { e.treeErr = e.configErr }
	}
	e.ask(ctx)
	(<-tree)()
	return e
}

// ask asks the daemon how it is, and what it thinks of the files.
func (e *examination) ask(ctx context.Context) {
	client := &client.Client{Socket: e.socket, AsOwner: true}
	answer, err := timely(ctx, statusTime, func(ctx context.Context) (*api.StatusAnswer, error) {
		return client.Status(ctx, api.StatusRequest{})
	})
	if err != nil {
		e.asked, e.checkErr = err, err
		return
	}
	e.answered = true
	if e.status = answer.Status; e.status == nil {
		return // on a socket with a fixed scope, where check is not to be had, either
	}
	e.status.Healthy = answer.Healthy
	e.check, e.checkErr = timely(ctx, checkTime, func(ctx context.Context) (*api.CheckAnswer, error) {
		return client.Check(ctx, api.CheckRequest{})
	})
}

// findings are those of all inspections, in their order. They look at the same
// time, and each within its own: one that hangs holds nothing up but itself.
func (e *examination) findings(ctx context.Context, inspections []inspection) []finding {
	found := make([][]finding, len(inspections))
	var looking sync.WaitGroup
	for i, p := range inspections {
		if p.configured && e.config == nil {
			continue // said once, by the inspection of the configuration
		}
		looking.Go(func() {
			list, err := timely(ctx, inspectionTime, func(ctx context.Context) ([]finding, error) { return p.look(ctx, e), nil })
			if err != nil {
				list = []finding{{Mark: warning, Text: fmt.Sprintf("%s: given up: %v", p.name, err), Advice: "a disk or a service does not answer; look at it, and ask again"}}
			}
			for j := range list {
				list[j].Group, list[j].Name = p.group, p.name
			}
			found[i] = list
		})
	}
	looking.Wait()
	return slices.Concat(found...)
}

// errSlow: something has taken longer than it may.
var errSlow = errors.New("it does not answer in time")

// timely does something that may hang, and does not wait for it any longer than
// it may take: what is asked of a dead disk cannot be called back, but left alone.
func timely[T any](ctx context.Context, limit time.Duration, do func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := do(ctx)
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		if errors.Is(r.err, context.DeadlineExceeded) {
			r.err = errSlow
		}
		return r.value, r.err
	case <-ctx.Done():
		var none T
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return none, errSlow
		}
		return none, ctx.Err()
	}
}

func (e *examination) configOrDefault() *config.Config {
	if e.config != nil {
		return e.config
	}
	return config.Default()
}

// well is a finding of something that is as it should be.
func well(format string, args ...any) []finding {
	return []finding{{Mark: fine, Text: fmt.Sprintf(format, args...)}}
}
